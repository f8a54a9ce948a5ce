"""Two processes that train together, as torchrun starts them but without its agent, which takes seconds more.

    RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 python -m tests.training.pair '[[PORT, ["train", …]], …]'

runs one command line after the other and exits with the first code that is not 0.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from incrt_cli.cli.main import run

SIZE = 2
# torch's rendezvous meets one way or the other; a proxy or a second network card must not matter.
_TOGETHER = {"WORLD_SIZE": str(SIZE), "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"}


class Pair:
    """Runs `commands` in two processes, which do not outlive the `with` block. What each one says goes to a
    file of its own in `folder`.
    """

    def __init__(self, folder: Path, *commands: list[str]) -> None:
        folder.mkdir()
        lines = json.dumps([[_free_port(), command] for command in commands])
        self._logs = [folder / f"rank-{rank}.txt" for rank in range(SIZE)]
        self.processes = [self._start(rank, lines) for rank in range(SIZE)]

    def _start(self, rank: int, lines: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **_TOGETHER, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        command = [sys.executable, "-m", "tests.training.pair", lines]
        with self._logs[rank].open("wb") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def wait(self) -> list[int]:
        """The exit codes."""
        return [process.wait(timeout=300) for process in self.processes]

    @property
    def said(self) -> list[str]:
        return [log.read_text() for log in self._logs]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main() -> int:
    for port, command in json.loads(sys.argv[1]):
        os.environ["MASTER_PORT"] = str(port)
        if code := run(command):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Stand-ins for training that other processes can import; the config's name and seed say what happens."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from incrt_cli.config.load import dump_config
from incrt_cli.config.schema import Config
from incrt_cli.errors import DivergedError
from incrt_cli.rundir import RunWriter

FAILS, KILLED = 1, 2  # seeds


def train(config: Config, folder: Path, going_on: bool) -> None:
    """Seed 1 diverges and 2 is killed, unless the file `healed` lies beside the run folder."""
    healed = (folder.parent / "healed").exists()
    begin(config, folder)
    if config.seed == FAILS and not healed:
        raise DivergedError("loss is nan at step 3")
    if config.seed == KILLED and not healed:
        os.kill(os.getpid(), signal.SIGKILL)
    RunWriter(folder).write_result({"status": "complete", "heads": config.seed, "seed": config.seed})


def killed_once(config: Config, folder: Path, going_on: bool) -> None:
    """The first attempt at seed 2 kills its process; tells whether it was repeated, and its threads."""
    mark = folder.parent / f"begun-{folder.name}"
    repeated = mark.exists()
    mark.touch()
    begin(config, folder)
    if config.seed == KILLED and not repeated:
        os.kill(os.getpid(), signal.SIGKILL)
    threads = os.environ.get("OMP_NUM_THREADS")
    RunWriter(folder).write_result({"status": "complete", "repeated": repeated, "threads": threads})


def records_threads(config: Config, folder: Path, going_on: bool) -> None:
    begin(config, folder)
    RunWriter(folder).write_result({"status": "complete", "threads": os.environ["OMP_NUM_THREADS"]})


def sleeps(config: Config, folder: Path, going_on: bool) -> None:
    """Writes its process id, then does nothing for a minute."""
    begin(config, folder)
    (folder / "pid").write_text(str(os.getpid()))
    time.sleep(60)


def bug(config: Config, folder: Path, going_on: bool) -> None:
    raise ZeroDivisionError("by nought")


def begin(config: Config, folder: Path) -> None:
    RunWriter.create(folder, config.name).write_config(dump_config(config))

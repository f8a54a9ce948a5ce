"""Kills a run at random moments, resumes it each time, and compares it with one that was left alone.

    python -m tests.kill_and_resume --kills 50

`make torture` does the same. A run that ends before its next kill is compared and another one begins. Exit
code 0: every run came out bit for bit as the undisturbed one, the seconds apart.
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import yaml

from incrt_cli.rundir import read_run
from tests.training.undisturbed import differences

# Grows, prunes and deepens all the way through, in seconds.
CONFIG = {
    "name": "tortured",
    "baseline": False,
    "data": {"kind": "dial", "lookups": 3, "examples": 400},
    "model": {"width": 16, "head_width": 4, "value_width": 4, "dropout": 0.1},
    "gate": {
        "variant": "paper", "calibration_batches": 2, "check_every": 2, "growth_fraction": 0.3,
        "max_heads": 3, "threshold": "current", "prune_ratio": 0.99, "prune_patience": 1, "prune_guard": None,
    },
    "depth": {"enabled": True, "patience": 2, "energy": 0.01, "productive": 0.0},
    "train": {
        "epochs": 9.0, "batch_size": 32, "learning_rate": 0.006, "device": "cpu", "threads": 1,
        "checkpoint_every": 0.25,
    },
}  # fmt: skip
LEAST = {"birth": 5, "prune": 1}


class Torture:
    """Kills in `folder`, at moments drawn from `seed`, of runs with `settings` over `CONFIG`."""

    def __init__(self, folder: Path, seed: int, *settings: str) -> None:
        self._folder, self._chance = folder, random.Random(seed)
        config = folder / "config.yaml"
        config.write_text(yaml.safe_dump(CONFIG))
        self._begin = ["train", str(config), *settings, "--run-dir"]
        self._seconds = math.inf  # that an undisturbed run takes
        self.kills = self.resumes = self.runs = 0

    def leave_alone(self) -> Path:
        """The undisturbed run, which says too how long it takes at most from one kill to the next."""
        whole, started = self._folder / "whole", time.perf_counter()
        code = self._process(*self._begin, str(whole)).wait()
        assert code == 0, f"exit code {code}, see {self._folder / 'log.txt'}"
        self._seconds = time.perf_counter() - started
        events = Counter(event["kind"] for event in read_run(whole).events or ())
        assert all(events[kind] >= least for kind, least in LEAST.items()), events
        return whole

    def finish_one(self, most: int) -> Path:
        """A run to its end, with as many kills on the way as it meets, up to `most` in all."""
        self.runs += 1
        run = self._folder / f"run-{self.runs}"
        while read_run(run).status != "complete":
            begun = (run / "config.yaml").exists()
            self.resumes += begun
            if not begun:
                shutil.rmtree(run, ignore_errors=True)  # killed before there was anything to resume
            start = ["train", "--resume"] if begun else self._begin
            process = self._process(*start, str(run))
            try:
                limit = self._chance.uniform(0.0, self._seconds) if self.kills < most else None
                code = process.wait(limit)
                assert code == 0, f"{run}: exit code {code}, see {self._folder / 'log.txt'}"
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self.kills += 1
        return run

    def _process(self, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self._folder / "log.txt", "ab") as log:
            return subprocess.Popen([sys.executable, "-m", "incrt_cli", *arguments], stdout=log, stderr=log)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="incrt-torture-") as folder:
        torture = Torture(Path(folder), asked.seed)
        whole, wrong = torture.leave_alone(), []
        while torture.kills < asked.kills:
            wrong += differences(whole, torture.finish_one(asked.kills))
            print(f"run {torture.runs}: {torture.kills} kills so far, {len(wrong)} differences", flush=True)
    print(f"{torture.kills} kills, {torture.resumes} resumes, {torture.runs} runs: {wrong or 'all the same'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

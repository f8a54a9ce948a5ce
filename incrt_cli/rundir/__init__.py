"""Run folders: every file of one is written and read here, and nowhere else."""

from incrt_cli.rundir.alone import alone_in
from incrt_cli.rundir.checkpoints import Checkpoint, find_checkpoint, go_back
from incrt_cli.rundir.environment import describe_environment, library_versions
from incrt_cli.rundir.model_files import read_model
from incrt_cli.rundir.plain import utc_now
from incrt_cli.rundir.reader import Run, expand_runs, find_runs, read_run
from incrt_cli.rundir.sweeps import SweepAccount, read_sweep, write_sweep
from incrt_cli.rundir.writer import RunWriter

__all__ = [
    "Checkpoint", "Run", "RunWriter", "SweepAccount", "alone_in", "describe_environment", "expand_runs",
    "find_checkpoint", "find_runs", "go_back", "library_versions", "read_model", "read_run", "read_sweep",
    "utc_now", "write_sweep",
]  # fmt: skip

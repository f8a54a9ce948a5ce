"""Which kind of model a folder holds."""

from __future__ import annotations

from pathlib import Path

from incrt_cli.complexity.checkpoint import CONFIG, checkpoint_weights
from incrt_cli.complexity.classifier import run_weights
from incrt_cli.complexity.weights import ModelWeights
from incrt_cli.errors import UserError
from incrt_cli.rundir import read_run


def read_weights(folder: Path) -> ModelWeights:
    """The matrices of a run folder or a Hugging Face checkpoint folder; else UserError."""
    where = folder.absolute()
    if not where.is_dir():
        reason = "is a file; give the folder it lies in" if where.exists() else "no such folder"
        raise UserError(f"{where}: {reason}")
    run = read_run(where)
    if run.status != "foreign":
        return run_weights(where)
    if (where / CONFIG).is_file():
        return checkpoint_weights(where)
    raise UserError(
        f"{where}: neither a run folder ({'; '.join(run.problems)}) nor a checkpoint folder "
        f"(holds no {CONFIG})"
    )

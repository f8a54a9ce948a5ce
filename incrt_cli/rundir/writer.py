"""`RunWriter`: the one way by which a run leaves anything on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrt_cli.rundir import layout
from incrt_cli.rundir.atomic import append_line, write_atomic
from incrt_cli.rundir.checkpoints import newest_step, write_checkpoint
from incrt_cli.rundir.create import create_run_folder
from incrt_cli.rundir.model_files import write_model_files
from incrt_cli.rundir.plain import to_json, utc_now
from incrt_cli.rundir.reader import read_run

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class RunWriter:
    """Writes one run folder. Every method raises UserError when the system refuses to write.

    Whole files are replaced atomically; the two `.jsonl` files grow by whole lines. JSON never holds
    NaN or Infinity: a non-finite number is written as null.
    """

    path: Path  # absolute

    @classmethod
    def create(cls, run_dir: Path | None, name: str, root: Path = Path("runs")) -> RunWriter:
        """A writer on a fresh folder: `run_dir`, or the first free of `root/name`, `root/name-2`, …

        Raises UserError when `run_dir` is a file or not empty, or when a folder cannot be made.
        """
        return cls(create_run_folder(run_dir, name, root))

    def discard(self) -> None:
        """Remove the folder of a run that failed before it wrote anything; one that holds more stays."""
        with contextlib.suppress(OSError):
            if (self.path / layout.EVENTS).stat().st_size == 0:
                (self.path / layout.EVENTS).unlink()
            self.path.rmdir()

    @property
    def name(self) -> str:
        return self.path.name

    def write_config(self, yaml_text: str) -> None:
        write_atomic(self.path / layout.CONFIG, yaml_text)

    def write_environment(self, environment: Mapping[str, Any]) -> None:
        self._write_json(layout.ENVIRONMENT, environment)

    def write_data(self, summary: Mapping[str, Any]) -> None:
        self._write_json(layout.DATA, summary)

    def write_prediction(self, prediction: Mapping[str, Any]) -> None:
        """Write METHOD §5's counts, stamped with the time of writing (UTC)."""
        self._write_json(layout.PREDICTION, {**prediction, "written_at": utc_now()})

    def append_event(self, event: Mapping[str, Any]) -> None:
        append_line(self.path / layout.EVENTS, to_json(event, indent=None))

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        append_line(self.path / layout.METRICS, to_json(row, indent=None))

    def write_model(
        self,
        state: dict[str, torch.Tensor],
        architecture: Mapping[str, Any],
        labels: Sequence[str],
        vocabulary: Mapping[str, Any],
    ) -> None:
        """Write weights, architecture, class names (index = class id) and vocabulary to `model/`."""
        write_model_files(self.path, state, architecture, labels, vocabulary)

    def save_checkpoint(self, step: int, state: Mapping[str, Any], keep: int, good: int) -> None:
        """Save `state` as `checkpoints/step-N`; which others stay, see rundir/checkpoints.py."""
        write_checkpoint(self.path, step, state, keep, good)

    def checkpoint_up_to(self, step: int) -> str | None:
        """The newest checkpoint of `step` or before, as a path inside the run folder."""
        found = newest_step(self.path, step)
        return None if found is None else f"{layout.CHECKPOINTS}/step-{found}"

    def add_resume(self, entry: Mapping[str, Any]) -> None:
        """Add `entry` to the resumes that `environment.json` lists."""
        environment = read_run(self.path).environment or {}
        resumes = [*environment.get("resumes", []), entry]
        self.write_environment({**environment, "resumes": resumes})

    def write_divergence(self, account: Mapping[str, Any]) -> None:
        """Write where the run met a number that is not finite, and on which records."""
        self._write_json(layout.DIVERGENCE, account)

    def write_text(self, name: str, text: str) -> None:
        """Write a table, such as `report.md`, under its plain file name."""
        if Path(name).name != name:
            raise ValueError(f"{name!r} is not a plain file name")
        write_atomic(self.path / name, text)

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write the result; call it last, because its presence marks the run as finished."""
        self._write_json(layout.RESULT, result)

    def _write_json(self, name: str, value: Mapping[str, Any]) -> None:
        write_atomic(self.path / name, to_json(value) + "\n")

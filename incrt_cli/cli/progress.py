"""How a run shows itself: a live bar on a terminal, one plain line an evaluation elsewhere."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from incrt_cli.training.progress import Status


class PlainReporter:
    """One line an evaluation, for logs and pipes."""

    def say(self, text: str) -> None:
        print(text, flush=True)

    def step(self, status: Status) -> None:
        pass

    def evaluated(self, status: Status) -> None:
        print(
            f"epoch {status.epoch:.2f}  step {status.step}/{status.total_steps}  {describe(status)}",
            flush=True,
        )


class LiveReporter:
    """A progress bar with loss, heads, λ_max/θ and accuracy. A context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            BarColumn(bar_width=8),  # the figures have the room: all of them fit into 80 columns
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[state]}"),
            console=console,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> LiveReporter:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    def step(self, status: Status) -> None:
        if self._task is None:
            self._task = self._bar.add_task("", total=status.total_steps, state="")
        self._bar.update(self._task, completed=status.step, state=describe(status))

    def evaluated(self, status: Status) -> None:
        self.step(status)


def describe(status: Status) -> str:
    """Loss, heads, λ_max/θ and accuracy, as far as they are known."""
    parts = [f"loss {status.loss:.4f}"] if status.loss == status.loss else []
    parts.append(f"heads {status.heads}")
    if status.ratio is not None:
        parts.append(f"λmax/θ {status.ratio:.2f}")
    if status.accuracy is not None:
        split = "val" if status.split == "validation" else status.split
        parts.append(f"{split} acc {100 * status.accuracy:.1f}%")
    return "  ".join(parts)

"""The second distribution of a run that changes under way (METHOD §8).

Only what training reads changes: the model keeps its classes and its vocabulary, so both must be the same.
"""

from __future__ import annotations

from collections.abc import Callable

from pydantic import ValidationError

from incrt_cli.config.schema import Data, Shift
from incrt_cli.data.build import build_task
from incrt_cli.data.task import Task
from incrt_cli.errors import UserError

_SHOWN = 3


def build_later(data: Data, earlier: Task, say: Callable[[str], None]) -> Task | None:
    """The task from `data.shift.at` on; None for stationary data.

    Raises UserError where it has other classes or another vocabulary than `earlier`.
    """
    changed = later_data(data)
    if changed is None:
        return None
    say(f"after the shift, with {_listed(data)}:")
    later = build_task(changed, earlier.name, say)
    _require_equal_classes(earlier, later)
    if later.vocabulary_size != earlier.vocabulary_size or later.max_tokens != earlier.max_tokens:
        raise UserError(
            f"data.shift: a vocabulary of {later.vocabulary_size:,} tokens, and {earlier.vocabulary_size:,} "
            "before the shift; the model has one for both"
        )
    return later


def shift_of(data: Data) -> Shift | None:
    """`data.shift`; None too for data of a kind that has none."""
    shift: Shift | None = getattr(data, "shift", None)
    return shift


def later_data(data: Data) -> Data | None:
    """The data section as it is from the shift on. Raises UserError where its keys do not go together."""
    shift = shift_of(data)
    if shift is None:
        return None
    try:
        return type(data).model_validate({**data.model_dump(), **shift.changes(), "shift": None})
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise UserError(f"data.shift, with {_listed(data)}: {reason}") from error


def _listed(data: Data) -> str:
    shift = shift_of(data)
    changes = {} if shift is None else shift.changes()
    return ", ".join(f"data.{key} = {value}" for key, value in changes.items())


def _require_equal_classes(earlier: Task, later: Task) -> None:
    if list(earlier.labels) == list(later.labels):
        return
    only = [sorted(set(a.labels) - set(b.labels)) for a, b in ((earlier, later), (later, earlier))]
    sides = [
        f"only {when} it: {', '.join(names[:_SHOWN])}" + (" …" if len(names) > _SHOWN else "")
        for when, names in zip(("before", "after"), only, strict=True)
        if names
    ]
    raise UserError(
        f"data.shift: the classes must be the same on both sides of the shift; {'; '.join(sides)}. Lower "
        "data.min_class_size, or leave these out with data.drop_labels"
    )

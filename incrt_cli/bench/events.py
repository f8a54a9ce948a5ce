"""Part `events`: births, prunes and looks in units of a training step of the same model.

A birth is what growth does for a decision to grow: the newborn's weights, its place in bank and optimiser,
and the gate's account of its plane. The two losses that a prune is judged by are not counted.
"""

from __future__ import annotations

from incrt_cli.bench.measurement import Context, Found, seconds_of
from incrt_cli.bench.stage import Stage
from incrt_cli.bench.timing import side_by_side

_STEP = "training step"
_KEYS = {
    "birth": "birth_steps",
    "birth into spare room": "birth_spare_steps",
    "exact look": "exact_look_steps",
    "look by trackers": "tracker_look_steps",
    "one tracker step": "tracker_step_steps",
    "prune": "prune_steps",
}


def events(context: Context) -> Found:
    """Each over the step's median.

    The model of every round is new: a first birth finds no spare room in the bank, the second what that left.
    """
    stage = Stage(context)
    works = {
        _STEP: stage.step,
        "birth": stage.birth,
        "birth into spare room": stage.birth,
        "exact look": stage.exact_look,
        "look by trackers": stage.tracker_look,
        "one tracker step": stage.tracker_step,
        "prune": stage.prune,
    }
    timings = side_by_side(works, context.effort, context.clock, stage.reset)
    measured = seconds_of("events", timings, stage.shape, _STEP)
    ratios = {one.what: one.ratio for one in measured}
    return Found({key: ratios[what] for what, key in _KEYS.items()}, measured)

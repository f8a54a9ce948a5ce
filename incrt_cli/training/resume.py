"""Going on with a run where it stopped, as if it had not.

Weights, metrics and events come out bit for bit as those of a run that nothing stopped, the seconds apart, on
the same machine with the same libraries, device, threads and number of processes.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from incrt_cli.config.compare import differing_keys
from incrt_cli.config.load import load_config
from incrt_cli.config.schema import Config
from incrt_cli.errors import UserError
from incrt_cli.rundir import Checkpoint, Run, RunWriter, alone_in, find_checkpoint, go_back, read_run, utc_now
from incrt_cli.training.checkpoint import origin_of, restore
from incrt_cli.training.follow import Plan
from incrt_cli.training.loop import Loop
from incrt_cli.training.prepare import Prepared, prepare
from incrt_cli.training.progress import Reporter
from incrt_cli.training.ranks import ALONE, Ranks
from incrt_cli.training.run import Summarise, begin, finish

# They say where, how often and in what pieces, not what, is computed; train.accumulate changes which units
# dropout drops, as the number of processes does. train.epochs is not among them: the learning rate of every
# step follows from it.
FREE_KEYS = {
    "data.cache_dir", "data.workers", "train.accumulate", "train.checkpoint_every", "train.checkpoints_kept",
    "train.compile", "train.device", "train.recompute", "train.threads",
}  # fmt: skip
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.ckpt")


def resume(
    folder: Path,
    overrides: Sequence[str],
    reporter: Reporter,
    summarise: Summarise,
    signals: bool = False,
    ranks: Ranks = ALONE,
) -> Path:
    """Train the run of `folder` to its end from its newest intact checkpoint, or from the start where it was
    stopped before the first; returns the folder. A finished run is left as it is. `ranks`: as for `train`,
    and as many as you like.

    Raises UserError for a folder that is no run, settings or data that would change the result, or damaged
    checkpoints alone, and what `train` raises.
    """
    stored = read_run(folder)
    if stored.config is None:
        raise UserError(_no_run(stored.path))
    if stored.status == "complete":
        reporter.say(f"{stored.path} is finished: there is nothing to resume")
        ranks.share(None)
        return stored.path
    with alone_in(stored.path):
        checkpoint = _checkpoint(stored.path, reporter.say)
        config = _config(stored, overrides, checkpoint)
        ranks.share(Plan(stored.path, config, None if checkpoint is None else checkpoint.state))
        prepared = prepare(config, reporter.say, calibrate=checkpoint is None, ranks=ranks)
        now = origin_of(prepared)
        if checkpoint is not None:
            _same_data(checkpoint.state["origin"], now)
        go_back(stored.path, checkpoint)
        run = RunWriter(stored.path)
        if checkpoint is None:
            reporter.say("there is no checkpoint yet: training starts from the beginning")
            loop, origin = begin(run, prepared, reporter), now
        else:
            loop, origin = _continued(run, prepared, checkpoint, reporter), checkpoint.state["origin"]
            _warn_of_rounding(origin, now, _pieces(checkpoint, config), reporter.say)
        run.add_resume(
            {
                "at": utc_now(),
                "step": loop.steps,
                "command": shlex.join(sys.argv),
                "settings": list(overrides),
                **{key: now[key] for key in ("device", "threads", "processes", "compiled", "libraries")},
            }
        )
        reporter.say(f"goes on from step {loop.steps} of {loop.total_steps}")
        origin = {**now, "parameters_start": origin["parameters_start"]}
        return finish(run, prepared, loop, origin, reporter, summarise, signals)


def _continued(run: RunWriter, prepared: Prepared, checkpoint: Checkpoint, reporter: Reporter) -> Loop:
    loop = Loop(prepared, run, reporter)
    restore(prepared, loop, checkpoint.state)
    return loop


def _checkpoint(run: Path, say: Callable[[str], None]) -> Checkpoint | None:
    found = find_checkpoint(run)
    for problem in found.problems:
        say(f"warning: {problem}")
    # Without any that was ever complete the start is all that there is, and nothing is lost by it.
    if found.checkpoint is None and found.damaged:
        raise UserError(
            f"no checkpoint of {run} is intact ({'; '.join(found.problems)}); remove {run / 'checkpoints'} "
            "and resume to train it from the start"
        )
    return found.checkpoint


def _config(stored: Run, overrides: Sequence[str], checkpoint: Checkpoint | None) -> Config:
    """The run's config with `overrides`, where these leave the result as it is."""
    before = load_config(None, base=stored.config)
    config = load_config(None, overrides, stored.config)
    if changed := set(differing_keys(before, config)) - FREE_KEYS:
        raise UserError(
            f"{', '.join(sorted(changed))}: would change the result of {stored.path}; a resume takes "
            f"{', '.join(sorted(FREE_KEYS))} alone. For another result train another run"
        )
    begun = before if checkpoint is None else load_config(None, base=checkpoint.state["config"])
    if changed := set(differing_keys(begun, config)) - FREE_KEYS:
        raise UserError(
            f"{stored.path / 'config.yaml'} is not what the run began with: {', '.join(sorted(changed))} "
            "changed"
        )
    return config


def _same_data(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    # By content: a file may lie elsewhere by now, and the cache with it.
    known = set(before["data_sha256"].values())
    if changed := sorted(name for name, digest in now["data_sha256"].items() if digest not in known):
        raise UserError(f"not the data that the run began with: {', '.join(changed)} changed")


def _pieces(checkpoint: Checkpoint, config: Config) -> tuple[int, int]:
    """`train.accumulate` up to the checkpoint and from it on."""
    return load_config(None, base=checkpoint.state["config"]).train.accumulate, config.train.accumulate


def _warn_of_rounding(
    before: Mapping[str, Any], now: Mapping[str, Any], pieces: tuple[int, int], say: Callable[[str], None]
) -> None:
    pairs = {name: (before[name], now[name]) for name in ("device", "threads", "processes", "compiled")}
    pairs["train.accumulate"] = pieces
    for name, version in now["libraries"].items():
        pairs[name] = (before["libraries"].get(name), version)
    if changed := [f"{name} was {old}, is {new}" for name, (old, new) in pairs.items() if old != new]:
        say(f"warning: {'; '.join(changed)}: from here on the run may round differently")


def _no_run(path: Path) -> str:
    """What is at `path`, which is no run folder, and what to give instead."""
    holder = next((parent for parent in path.parents[:2] if read_run(parent).config is not None), None)
    where = "" if holder is None else f"; the run folder is {holder}"
    if path.is_dir() and path.parent.name == "checkpoints":
        return f"{path} is a checkpoint; give the run folder, whose newest intact one is used{where}"
    inside = any(any(path.glob(name)) for name in _WEIGHTS) if path.is_dir() else False
    if inside or any(path.match(name) for name in _WEIGHTS):
        return (
            f"{path} holds weights alone: the optimiser's moments, random states and the gates' accounts, "
            f"which a run needs to go on, are in the run folder's checkpoints{where}"
        )
    return (
        f"{path} is no run folder of incrt, which has a config.yaml and, once it trains, checkpoints{where}"
    )

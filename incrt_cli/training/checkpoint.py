"""The whole state of a run between two steps, gathered and put back, and when it is saved.

Which rows a step reads, its learning rate and the draws of a gate's looks are functions of the step, so the
step stands for them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from signal import Signals
from typing import Any, Protocol

import torch

from incrt_cli.errors import ShortOfMemoryError
from incrt_cli.growth.surgery import add_layer, set_heads
from incrt_cli.model.classifier import Classifier, count_parameters
from incrt_cli.rundir import library_versions
from incrt_cli.training.interruption import Requests, StoppedError
from incrt_cli.training.loop import Loop
from incrt_cli.training.prepare import Prepared
from incrt_cli.training.ranks import PeerError


def origin_of(prepared: Prepared) -> dict[str, Any]:
    """What a run is made with, and the size that it begins with."""
    return {
        "libraries": library_versions(),
        "device": str(prepared.device),
        "threads": torch.get_num_threads(),
        "processes": prepared.ranks.size,
        "compiled": prepared.compiled is not None,
        "data_sha256": prepared.data_sha256,
        "parameters_start": count_parameters(prepared.model),
    }


def gather(prepared: Prepared, loop: Loop) -> dict[str, Any]:
    """All that the rest of the run depends on, as tensors and plain data."""
    controller, device = prepared.controller, prepared.device
    return {
        "config": prepared.config.model_dump(mode="json"),
        "architecture": prepared.model.architecture.to_json(),
        "model": prepared.model.state_dict(),
        "optimizer": _optimizer_state(prepared.model, prepared.optimizer),
        "controller": None if controller is None else controller.state(),
        "course": loop.course.state(),
        "random": {
            "cpu": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
        },
    }


def restore(prepared: Prepared, loop: Loop, state: Mapping[str, Any]) -> None:
    """Put `prepared`, as it is before calibration, and `loop` where `gather` found them."""
    model, device = prepared.model, prepared.device
    _grow(model, prepared.optimizer, state["architecture"]["heads"])
    model.load_state_dict(state["model"])
    _load_optimizer(model, prepared.optimizer, state["optimizer"])
    if prepared.controller is not None:
        prepared.controller.load_state(state["controller"])
    loop.course.load_state(state["course"], model, device)
    # Last, so that nothing above can draw from what was put back.
    torch.set_rng_state(state["random"]["cpu"])
    if device.type == "cuda" and state["random"]["cuda"] is not None:
        torch.cuda.set_rng_state(state["random"]["cuda"], device)


def _grow(model: Classifier, optimizer: torch.optim.Optimizer, heads: list[int]) -> None:
    """Give `model` its layers and head counts, with whatever weights."""
    while len(model.attention_layers) < len(heads):
        below = model.attention_layers[-1]
        add_layer(optimizer, model.append_layer(seed=0), below)
    for layer, count in zip(model.attention_layers, heads, strict=True):
        set_heads(layer.bank, optimizer, count)


def _optimizer_state(model: Classifier, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Moments and step counts by the parameters' names: their order says nothing once heads are born."""
    return {
        name: dict(optimizer.state[parameter])
        for name, parameter in model.named_parameters()
        if parameter in optimizer.state
    }


def _load_optimizer(model: Classifier, optimizer: torch.optim.Optimizer, state: Mapping[str, Any]) -> None:
    parameters = dict(model.named_parameters())
    for name, values in state.items():
        # The step count too: a fused AdamW keeps it beside the weights.
        device = parameters[name].device
        optimizer.state[parameters[name]] = {key: value.to(device) for key, value in values.items()}


class Store(Protocol):
    """Holds checkpoints, as a run folder does."""

    @property
    def path(self) -> Path: ...

    def save_checkpoint(self, step: int, state: Mapping[str, Any], keep: int, good: int) -> None: ...


class Keeper:
    """Saves `loop` every `train.checkpoint_every` epochs, at its last step and when `requests` ask for it.

    Of several processes the first one saves, whichever was asked, and all of them stop together.
    """

    def __init__(
        self,
        run: Store,
        prepared: Prepared,
        loop: Loop,
        origin: Mapping[str, Any],
        requests: Requests,
        say: Callable[[str], None],
    ) -> None:
        self._run, self._prepared, self._loop = run, prepared, loop
        self._origin, self._requests, self._say = origin, requests, say
        epochs = prepared.config.train.checkpoint_every
        self._every = None if epochs is None else max(1, round(epochs * loop.stream.batches_per_epoch))

    def after_step(self) -> None:
        """Call between two steps. Raises StoppedError where a stop was asked for; UserError if nothing can
        be written.
        """
        step, last = self._loop.steps, self._loop.total_steps
        stop, save = self._asked()
        due = self._every is not None and (step % self._every == 0 or step == last)
        if due or save or stop:
            self._save(step)
        if stop:
            self._prepared.ranks.wait()  # torchrun ends all when one has ended
            raise StoppedError(
                f"stopped by {stop} after step {step} of {last}; {how_to_resume(self._run.path)}"
            )
        if save:
            self._requests.save = False
            self._say(f"checkpoint of step {step} saved")

    def _asked(self) -> tuple[str | None, bool]:
        """The requests to any of the processes: the signal to stop by, and whether to save."""
        own = self._requests.stop
        stop, save = self._prepared.ranks.largest(0 if own is None else Signals[own], self._requests.save)
        return (Signals(stop).name if stop else None), bool(save)

    def _save(self, step: int) -> None:
        ranks = self._prepared.ranks
        ranks.agree_on(self._prepared.model, step)
        if ranks.first:
            state = {**gather(self._prepared, self._loop), "origin": self._origin}
            kept = self._prepared.config.train.checkpoints_kept
            self._run.save_checkpoint(step, state, kept, good=self._loop.last_good.step)


def how_to_resume(run: Path) -> str:
    return f"to go on: incrt train --resume {shlex.quote(str(run))}"


@contextmanager
def resumable(run: Path) -> Iterator[None]:
    """Where another process is lost in here, or memory runs out, the message also says how to go on."""
    try:
        yield
    except (PeerError, ShortOfMemoryError) as error:
        raise type(error)(f"{error}; {how_to_resume(run)}") from error

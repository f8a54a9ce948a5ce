"""What growth reports: events (births, prunes, layers), checks, certificates. All are plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from incrt_cli.geometry.prediction import HeadPrediction

EventKind = Literal["birth", "capture", "prune", "prune_undone", "layer"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One look of a layer's gate. `w` is Γ² + cK; `drift_w` its change since the last look, events apart.

    Of a gate that asks the task, `lambda_max` is the rate at which the best head not yet born would lower the
    loss of reserved records, `theta` what it must exceed to be significant, and energies do not apply.
    """

    step: int
    layer: int
    heads: int
    lambda_max: float
    lambda_min: float | None = None
    theta: float
    phi_g: float | None = None
    gamma: float | None = None
    captured_share: float | None = None
    min_release: float | None = None  # min √E_h over heads that own a plane
    w: float | None = None
    drift_w: float | None = None
    tracker_error: float | None = None  # |λ̂ − λ|/Γ, at exact looks with a tracker
    exact: bool
    reserved_loss: float | None = None  # nats, over the reserved records
    learning: bool | None = None  # is the newest head still learning?
    planes: int | None = None  # captured planes, of all heads
    projected: int | None = None  # at exact looks: k_greedy of the operator as it is now
    releases: dict[int, float] | None = None  # √E_h of every head that owns a plane


@dataclass(frozen=True)
class Event:
    """A birth, a prune, the capture of a further plane by a head that is there, or a layer.

    `delta_w` is at fixed C and M_a (Theorem 6). Losses: one training batch, nats. A birth and a capture leave
    the function as it was: both losses are then that of the step just taken, with dropout. Of a prune and a
    layer they are measured before and after it, without. Of a layer, `theta` is what its rule compared with
    (growth/depth.py) and `lambda_max` what exceeded it; `head` is its first, and `prediction` says how
    many it should grow.
    """

    kind: EventKind
    step: int
    layer: int
    head: int
    heads: int  # after the event
    lambda_max: float | None
    lambda_min: float | None
    theta: float
    phi_g: float | None
    release: float | None  # √E_h of a pruned head
    gamma_before: float | None
    gamma_after: float | None
    delta_w: float | None
    loss_before: float
    loss_after: float
    parameters: int  # of the whole model, after the event
    prediction: HeadPrediction | None = None  # of a layer, from its own calibration


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Why a layer's growth stands still, from an exact look at the end.

    `sufficient`: the gate would not grow (λ_max ≤ θ_w, or no free plane with λ_min < φ_w);
    `minimal`: every head that owns a plane has √E_h ≥ φ_g (None: this gate never prunes);
    `quiet_checks`: checks since the last event. What is None does not apply to the layer's gate.
    """

    layer: int
    heads: int
    sufficient: bool
    minimal: bool | None
    lambda_max: float
    lambda_min: float | None = None
    theta: float
    phi_g: float | None = None
    min_release: float | None = None
    gamma: float | None = None
    captured_share: float | None = None
    events: int
    last_event_step: int | None
    quiet_checks: int
    stopped_by_itself: bool
    tracker_error: float | None = None  # the largest seen at an exact look
    w_start: float | None = None
    w_end: float | None = None
    w_events: float | None = None  # sum of the events' ΔW
    w_drift: float | None = None  # sum of all other changes of W
    event_limit: float | None = (
        None  # W⁽⁰⁾/δ, the theorem's bound on the number of events of a stationary run
    )
    planes: int | None = None

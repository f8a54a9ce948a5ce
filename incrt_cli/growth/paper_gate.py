"""The bidirectional gate of INCRT (METHOD §3, §4): trackers propose, an exact decomposition confirms.

Grow when λ_max > θ_w and λ_min < φ_w, at most one head a check, `dwell` checks apart.
Prune when √E_h < φ_g for `prune_patience` checks. The first head owns no plane and is never pruned [ours].
"""

from __future__ import annotations

import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.capture import Capture, capture_plane, empty_capture, release_head
from incrt_cli.geometry.functional import Thresholds, functional, release_energy, thresholds
from incrt_cli.geometry.operator import DirectionalOperator, energy, residual_energy
from incrt_cli.geometry.prediction import HeadPrediction, predict_heads
from incrt_cli.geometry.spectrum import Extremes, residual_spectrum
from incrt_cli.geometry.trackers import start_tracking, track
from incrt_cli.growth.gate import Decision, EnergyChange, Grow, Prune
from incrt_cli.growth.ledger import Ledger
from incrt_cli.growth.records import Certificate, Check


class PaperGate:
    """Gate of layer number `layer`; `generator` starts the trackers.

    `captured` directions of a newborn's plane [u⁺, u⁻] join Q: both, or u⁺ alone as in the author's notebook.
    """

    def __init__(
        self, settings: GateSection, layer: int, width: int, generator: torch.Generator, captured: int = 2
    ) -> None:
        self._settings = settings
        self._captured = captured
        self._layer = layer
        self._width = width
        self._generator = generator
        self._capture: Capture = empty_capture(width)
        self._limits = Thresholds(0.0, 0.0, 0.0)
        self._pair: torch.Tensor | None = None  # the trackers' [u⁺, u⁻]
        self._next_pair: torch.Tensor | None = None  # where they go on after a birth; None: from noise
        self._weak_checks: dict[int, int] = {}  # head -> consecutive checks with √E_h < φ_g
        self._unlooked = 0  # checks since the last exact look
        self._since_birth = settings.dwell
        self._worst_error: float | None = None
        self._ledger = Ledger()

    def calibrate(self, op: DirectionalOperator, gamma: float, heads: int) -> HeadPrediction:
        """Set θ_w, φ_w, φ_g from Γ⁽⁰⁾ = `gamma` and predict the head count from A⁽⁰⁾."""
        self._capture = empty_capture(self._width, op.left.device)
        self._limits = thresholds(gamma, self._settings.growth_fraction, self._settings.prune_ratio)
        self._ledger.open(functional(energy(op), heads, self._limits))
        spectrum = residual_spectrum(op, self._capture.basis)
        return predict_heads(spectrum.values, gamma, self._limits, heads)

    def check(self, op: DirectionalOperator, step: int, heads: int) -> tuple[Check, Decision]:
        """Look once: prune a head that has been weak for long enough, else grow, else nothing."""
        total = energy(op)
        self._follow(total)
        gamma = residual_energy(op, self._capture.basis)
        drift = self._ledger.drift(functional(gamma, heads, self._limits))
        releases = self._releases(op)
        look, error, exact = self._look(op, gamma)
        self._ledger.quiet_checks += 1
        self._since_birth += 1
        decision = self._weakest(releases) or self._growth(look, heads)
        check = Check(
            step=step,
            layer=self._layer,
            heads=heads,
            lambda_max=look.lambda_max,
            lambda_min=look.lambda_min,
            theta=self._limits.theta,
            phi_g=self._limits.phi_g,
            gamma=gamma,
            captured_share=_captured_share(gamma, total),
            min_release=min(releases.values(), default=None),
            w=self._ledger.now,
            drift_w=drift,
            tracker_error=error,
            exact=exact,
            releases=releases,
        )
        return check, decision

    def born(self, op: DirectionalOperator, step: int, heads: int, head: int, decision: Grow) -> EnergyChange:
        """The plane joins Q; `op` is from before the birth."""
        before = self._capture
        self._capture = capture_plane(before, head, decision.plane[:, : self._captured])
        self._since_birth = 0
        self._pair = self._next_pair
        return self._ledger.event(op, step, self._limits, (before, heads - 1), (self._capture, heads))

    def pruned(self, op: DirectionalOperator, step: int, heads: int, decision: Prune) -> EnergyChange:
        """The head's plane leaves Q."""
        before = self._capture
        self._capture = release_head(before, decision.head)
        self._weak_checks.pop(decision.head, None)
        return self._ledger.event(op, step, self._limits, (before, heads + 1), (self._capture, heads))

    def kept(self, decision: Prune) -> None:
        """An undone prune is tried again only after another full patience."""
        self._weak_checks[decision.head] = 0

    def certify(self, op: DirectionalOperator, heads: int) -> Certificate:
        """Exact look: would the gate grow, would it prune?"""
        total, gamma = energy(op), residual_energy(op, self._capture.basis)
        self._follow(total)
        self._ledger.drift(functional(gamma, heads, self._limits))
        look = self._exact(op)
        releases = self._releases(op)
        sufficient = not self._exceeds(look)
        minimal = all(release >= self._limits.phi_g for release in releases.values())
        settled = self._ledger.quiet_checks >= max(
            self._settings.prune_patience, self._settings.certify_every
        )
        return Certificate(
            layer=self._layer,
            heads=heads,
            sufficient=sufficient,
            minimal=minimal,
            lambda_max=look.lambda_max,
            lambda_min=look.lambda_min,
            theta=self._limits.theta,
            phi_g=self._limits.phi_g,
            min_release=min(releases.values(), default=None),
            gamma=gamma,
            captured_share=_captured_share(gamma, total),
            events=self._ledger.events,
            last_event_step=self._ledger.last_event_step,
            quiet_checks=self._ledger.quiet_checks,
            stopped_by_itself=sufficient and minimal and settled,
            tracker_error=self._worst_error,
            w_start=self._ledger.start,
            w_end=self._ledger.now,
            w_events=self._ledger.by_events,
            w_drift=self._ledger.by_drift,
            event_limit=self._ledger.start / self._limits.least_drop if self._limits.theta > 0 else 0.0,
        )

    def _follow(self, total: float) -> None:
        """Let the thresholds follow `total` = ‖A‖_F now, where the config asks for it."""
        if self._settings.threshold == "current":
            self._limits = thresholds(total, self._settings.growth_fraction, self._settings.prune_ratio)

    def _look(self, op: DirectionalOperator, gamma: float) -> tuple[Extremes, float | None, bool]:
        """Tracker's estimate, or the exact pair where the tracker proposes growth or a certificate is due."""
        if self._settings.tracker == "exact" or self._free_dimensions < 2:
            return self._exact(op), None, True
        estimate = self._track(op, gamma)
        self._unlooked += 1
        proposes = self._exceeds(estimate) and self._settings.confirm
        if not proposes and self._unlooked < self._settings.certify_every:
            self._next_pair = None
            return estimate, None, False
        self._unlooked = 0
        exact = self._exact(op)
        error = max(
            abs(estimate.lambda_max - exact.lambda_max), abs(estimate.lambda_min - exact.lambda_min)
        ) / max(gamma, torch.finfo(torch.float64).tiny)
        self._worst_error = max(error, self._worst_error or 0.0)
        return exact, error, True

    def _track(self, op: DirectionalOperator, gamma: float) -> Extremes:
        basis = self._capture.basis
        start = start_tracking(basis, self._generator) if self._pair is None else self._pair
        settings = self._settings
        self._pair, estimate = track(op, basis, start, gamma, settings.step, settings.tracker_iterations)
        return estimate

    def _exact(self, op: DirectionalOperator) -> Extremes:
        if self._free_dimensions < 2:
            nothing = torch.zeros(self._width, dtype=torch.float64, device=op.left.device)
            return Extremes(0.0, nothing, 0.0, nothing)
        spectrum = residual_spectrum(op, self._capture.basis)
        if len(spectrum.values) >= 4:
            # The runner-up pair comes for free: after a birth the trackers start from it, not from noise.
            runner_up = spectrum.extremes(1)
            self._next_pair = torch.stack([runner_up.u_plus, runner_up.u_minus], dim=1)
        else:
            self._next_pair = None
        return spectrum.extremes()

    @property
    def _free_dimensions(self) -> int:
        return self._width - len(self._capture.owners)

    def _exceeds(self, look: Extremes) -> bool:
        return look.lambda_max > self._limits.theta and look.lambda_min < self._limits.phi_w

    def _growth(self, look: Extremes, heads: int) -> Grow | None:
        full = self._settings.max_heads is not None and heads >= self._settings.max_heads
        if full or self._free_dimensions < 2 or self._since_birth < self._settings.dwell:
            return None
        if not self._exceeds(look):
            return None
        return Grow(torch.stack([look.u_plus, look.u_minus], dim=1), look.lambda_max, look.lambda_min)

    def _releases(self, op: DirectionalOperator) -> dict[int, float]:
        """√E_h of every head that owns a plane."""
        owners = dict.fromkeys(self._capture.owners)
        return {head: release_energy(op, self._capture, head) ** 0.5 for head in owners}

    def _weakest(self, releases: dict[int, float]) -> Prune | None:
        """Count weak checks; the weakest head that has been weak for `prune_patience` of them."""
        for head, release in releases.items():
            weak = release < self._limits.phi_g
            self._weak_checks[head] = self._weak_checks.get(head, 0) + 1 if weak else 0
        patience = self._settings.prune_patience
        ripe = [head for head in releases if self._weak_checks[head] >= patience]
        if not ripe:
            return None
        head = min(ripe, key=lambda candidate: releases[candidate])
        return Prune(head, releases[head])


def _captured_share(gamma: float, total: float) -> float:
    """`1 − Γ²/‖A‖_F²`."""
    return 1.0 - (gamma / total) ** 2 if total > 0.0 else 0.0

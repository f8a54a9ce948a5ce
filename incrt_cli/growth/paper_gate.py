"""The bidirectional gate of INCRT (METHOD §3, §4): trackers propose, an exact decomposition confirms.

Grow when λ_max > θ_w and λ_min < φ_w, at most one head a check, `dwell` checks apart.
With `attribution`, a head that holds much of that direction already captures its plane instead (§7).
Prune when √E_h < φ_g for `prune_patience` checks. Heads that own no plane, as those at the start, are never
pruned [ours], and neither is the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.capture import Capture, capture_plane, columns_of, empty_capture, release_head
from incrt_cli.geometry.functional import Thresholds, attribution, functional, release_energies, thresholds
from incrt_cli.geometry.operator import DirectionalOperator, energy, residual_energy
from incrt_cli.geometry.prediction import HeadPrediction, absorbed_planes, planes_needed, predict_heads
from incrt_cli.geometry.spectrum import Extremes, residual_spectrum
from incrt_cli.growth.gate import Absorb, Decision, EnergyChange, Grow, Prune
from incrt_cli.growth.ledger import Ledger
from incrt_cli.growth.lookout import Look, Lookout
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
        self._lookout = Lookout(settings, width, generator)
        self._heads: list[int] = []  # in the order of the bank, which is that of the operator's factors
        self._capture: Capture = empty_capture(width)
        self._limits = Thresholds(0.0, 0.0, 0.0)
        self._weak_checks: dict[int, int] = {}  # head -> consecutive checks with √E_h < φ_g
        self._since_growth = settings.dwell
        self._ledger = Ledger()

    def calibrate(self, op: DirectionalOperator, gamma: float, heads: int) -> HeadPrediction:
        """Set θ_w, φ_w, φ_g from Γ⁽⁰⁾ = `gamma` and predict the head count from A⁽⁰⁾."""
        self._capture = empty_capture(self._width, op.left.device)
        self._heads = list(range(heads))
        self._limits = thresholds(gamma, self._settings.growth_fraction, self._settings.prune_ratio)
        self._ledger.open(functional(energy(op), heads, self._limits))
        spectrum = residual_spectrum(op, self._capture.basis)
        absorbed, share = 0, self._settings.attribution
        if share is not None:
            planes = planes_needed(spectrum.values, self._limits)
            absorbed = absorbed_planes(op, spectrum, planes, heads, share)
        return predict_heads(spectrum.values, gamma, self._limits, heads, absorbed)

    def next_look(self, step: int) -> int:
        return (step // self._settings.check_every + 1) * self._settings.check_every

    def check(self, op: DirectionalOperator, step: int, heads: int) -> tuple[Check, Decision]:
        """Look once: prune a head that has been weak for long enough, else grow, else nothing."""
        total = energy(op)
        self._follow(total)
        gamma = residual_energy(op, self._capture.basis)
        drift = self._ledger.drift(functional(gamma, heads, self._limits))
        releases = self._releases(op)
        look = self._lookout.look(op, self._capture.basis, gamma, self._exceeds)
        self._ledger.quiet_checks += 1
        self._since_growth += 1
        decision = self._weakest(releases, heads) or self._growth(op, look, heads)
        check = Check(
            step=step,
            layer=self._layer,
            heads=heads,
            lambda_max=look.extremes.lambda_max,
            lambda_min=look.extremes.lambda_min,
            theta=self._limits.theta,
            phi_g=self._limits.phi_g,
            gamma=gamma,
            captured_share=_captured_share(gamma, total),
            min_release=min(releases.values(), default=None),
            w=self._ledger.now,
            drift_w=drift,
            tracker_error=look.error,
            exact=look.values is not None,
            planes=self._planes,
            projected=self._projected(look, heads),
            releases=releases,
        )
        return check, decision

    def born(self, op: DirectionalOperator, step: int, heads: int, head: int, decision: Grow) -> EnergyChange:
        """The plane joins Q; `op` is from before the birth."""
        self._heads.append(head)
        before = self._take(head, decision.plane)
        return self._ledger.event(op, step, self._limits, (before, heads - 1), (self._capture, heads))

    def absorbed(self, op: DirectionalOperator, step: int, heads: int, decision: Absorb) -> EnergyChange:
        """The plane joins Q for a head that is there already: W falls by all that leaves Γ²."""
        before = self._take(decision.head, decision.plane)
        return self._ledger.event(op, step, self._limits, (before, heads), (self._capture, heads))

    def pruned(self, op: DirectionalOperator, step: int, heads: int, decision: Prune) -> EnergyChange:
        """The head's plane leaves Q."""
        before = self._capture
        self._capture = release_head(before, decision.head)
        self._weak_checks.pop(decision.head, None)
        self._heads.remove(decision.head)
        return self._ledger.event(op, step, self._limits, (before, heads + 1), (self._capture, heads))

    def kept(self, decision: Prune) -> None:
        """An undone prune is tried again only after another full patience."""
        self._weak_checks[decision.head] = 0

    def certify(self, op: DirectionalOperator, heads: int) -> Certificate:
        """Exact look: would the gate grow, would it prune?"""
        total, gamma = energy(op), residual_energy(op, self._capture.basis)
        self._follow(total)
        self._ledger.drift(functional(gamma, heads, self._limits))
        look = self._lookout.exact(op, self._capture.basis).extremes
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
            tracker_error=self._lookout.worst_error,
            planes=self._planes,
            w_start=self._ledger.start,
            w_end=self._ledger.now,
            w_events=self._ledger.by_events,
            w_drift=self._ledger.by_drift,
            event_limit=self._ledger.start / self._limits.least_drop if self._limits.theta > 0 else 0.0,
        )

    def state(self) -> dict[str, Any]:
        return {
            "heads": self._heads,
            "capture": self._capture.state(),
            "limits": vars(self._limits),
            "weak_checks": list(self._weak_checks.items()),
            "since_growth": self._since_growth,
            "ledger": self._ledger.state(),
            "lookout": self._lookout.state(),
        }

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None:
        self._heads = list(state["heads"])
        self._capture = Capture.from_state(state["capture"], device)
        self._limits = Thresholds(**state["limits"])
        self._weak_checks = dict(state["weak_checks"])
        self._since_growth = state["since_growth"]
        self._ledger.load_state(state["ledger"])
        self._lookout.load_state(state["lookout"], device)

    def _follow(self, total: float) -> None:
        """Let the thresholds follow `total` = ‖A‖_F now, where the config asks for it."""
        if self._settings.threshold == "current":
            self._limits = thresholds(total, self._settings.growth_fraction, self._settings.prune_ratio)

    @property
    def _free_dimensions(self) -> int:
        return self._width - len(self._capture.owners)

    def _exceeds(self, look: Extremes) -> bool:
        return look.lambda_max > self._limits.theta and look.lambda_min < self._limits.phi_w

    def _projected(self, look: Look, heads: int) -> int | None:
        """Heads at the end if C and M_a stood still; None with level 2, where a plane is no head."""
        if look.values is None or self._settings.attribution is not None:
            return None
        return heads + planes_needed(look.values, self._limits)

    @property
    def _planes(self) -> int:
        return len(self._capture.owners) // self._captured

    def _take(self, head: int, plane: torch.Tensor) -> Capture:
        """Add `plane` to Q for `head`; returns what was captured before."""
        before = self._capture
        self._capture = capture_plane(before, head, plane[:, : self._captured])
        self._since_growth = 0
        self._lookout.captured()
        return before

    def _growth(self, op: DirectionalOperator, look: Look, heads: int) -> Grow | Absorb | None:
        found = look.extremes
        if self._free_dimensions < 2 or self._since_growth < self._settings.dwell or not self._exceeds(found):
            return None
        plane = torch.stack([found.u_plus, found.u_minus], dim=1)
        holder = self._holder(op, found)
        if holder is not None:
            return Absorb(holder, plane, found.lambda_max, found.lambda_min)
        if self._settings.max_heads is not None and heads >= self._settings.max_heads:
            return None
        return Grow(plane, found.lambda_max, found.lambda_min, look.balance)

    def _holder(self, op: DirectionalOperator, found: Extremes) -> int | None:
        """The head that the direction belongs to, by METHOD §7, level 2; None where one is to be born."""
        if self._settings.attribution is None:
            return None
        shares = attribution(op, found.u_plus, len(self._heads)) / found.lambda_max
        best = int(shares.argmax())
        head, head_width = self._heads[best], op.left.shape[1] // len(self._heads)
        # A form of rank d_k has a motor of at most d_k/2 planes that the head can turn on its own.
        full = columns_of(self._capture, head).shape[1] // self._captured >= head_width // 2
        return None if full or float(shares[best]) < self._settings.attribution else head

    def _releases(self, op: DirectionalOperator) -> dict[int, float]:
        """√E_h of every head that owns a plane."""
        return {head: released**0.5 for head, released in release_energies(op, self._capture).items()}

    def _weakest(self, releases: dict[int, float], heads: int) -> Prune | None:
        """Count weak checks; the weakest head that has been weak for `prune_patience` of them."""
        for head, release in releases.items():
            weak = release < self._limits.phi_g
            self._weak_checks[head] = self._weak_checks.get(head, 0) + 1 if weak else 0
        patience = self._settings.prune_patience
        ripe = [head for head in releases if self._weak_checks[head] >= patience]
        if not ripe or heads < 2:
            return None
        head = min(ripe, key=lambda candidate: releases[candidate])
        return Prune(head, releases[head])


def _captured_share(gamma: float, total: float) -> float:
    """`1 − Γ²/‖A‖_F²`."""
    return 1.0 - (gamma / total) ** 2 if total > 0.0 else 0.0

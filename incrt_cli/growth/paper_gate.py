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
from incrt_cli.geometry.attribution import absorbed_planes
from incrt_cli.geometry.capture import Capture
from incrt_cli.geometry.functional import Thresholds, functional, thresholds
from incrt_cli.geometry.operator import DirectionalOperator, energy, residual_energy
from incrt_cli.geometry.prediction import HeadPrediction, planes_needed, predict_heads
from incrt_cli.geometry.spectrum import Extremes, residual_spectrum
from incrt_cli.growth.gate import Absorb, Decision, EnergyChange, Grow, Prune
from incrt_cli.growth.holdings import Holdings
from incrt_cli.growth.ledger import Ledger
from incrt_cli.growth.lookout import Look, Lookout
from incrt_cli.growth.reading import Reading
from incrt_cli.growth.records import Certificate, Check
from incrt_cli.growth.tally import Tally
from incrt_cli.growth.weakness import Weakness


class PaperGate:
    """Gate of layer number `layer`; `generator` starts the trackers.

    `captured` directions of a newborn's plane [u⁺, u⁻] join Q: both, or u⁺ alone as in the author's notebook.
    """

    def __init__(
        self, settings: GateSection, layer: int, width: int, generator: torch.Generator, captured: int = 2
    ) -> None:
        self._settings = settings
        self._layer = layer
        self._lookout = Lookout(settings, width, generator)
        self._holdings = Holdings(width, captured)
        self._limits = Thresholds(0.0, 0.0, 0.0)
        self._weakness = Weakness(settings.prune_patience)
        self._since_growth = settings.dwell
        self._ledger, self._tally = Ledger(), Tally()

    def calibrate(self, op: DirectionalOperator, gamma: float, heads: int) -> HeadPrediction:
        """Set θ_w, φ_w, φ_g from Γ⁽⁰⁾ = `gamma` and predict the head count from A⁽⁰⁾."""
        self._holdings.open(heads, op.left.device)
        self._limits = thresholds(gamma, self._settings.growth_fraction, self._settings.prune_ratio)
        self._ledger.open(functional(energy(op), heads, self._limits))
        spectrum = residual_spectrum(op, self._holdings.basis)
        absorbed, share = 0, self._settings.attribution
        if share is not None:
            planes = planes_needed(spectrum.values, self._limits)
            absorbed = absorbed_planes(op, spectrum, planes, heads, share)
        return predict_heads(spectrum.values, gamma, self._limits, heads, absorbed)

    def next_look(self, step: int) -> int:
        return (step // self._settings.check_every + 1) * self._settings.check_every

    def check(self, op: DirectionalOperator, step: int, heads: int) -> tuple[Check, Decision]:
        """Look once: prune a head that has been weak for long enough, else grow, else nothing."""
        reading = self._read(op, heads)
        self._tally.check()
        self._since_growth += 1
        decision = self._weakest(reading) or self._growth(op, reading.look, heads)
        return reading.check(step, self._ledger.now, self._projected(reading.look, heads)), decision

    def born(self, op: DirectionalOperator, step: int, heads: int, head: int, decision: Grow) -> EnergyChange:
        """The plane joins Q; `op` is from before the birth."""
        before = self._holdings.capture
        self._holdings.append(head)
        self._take(head, decision.plane)
        return self._booked(op, step, (before, heads - 1), heads)

    def absorbed(self, op: DirectionalOperator, step: int, heads: int, decision: Absorb) -> EnergyChange:
        """The plane joins Q for a head that is there already: W falls by all that leaves Γ²."""
        before = self._holdings.capture
        self._take(decision.head, decision.plane)
        return self._booked(op, step, (before, heads), heads)

    def pruned(self, op: DirectionalOperator, step: int, heads: int, decision: Prune) -> EnergyChange:
        """The head's plane leaves Q."""
        before = self._holdings.capture
        self._holdings.remove(decision.head)
        self._weakness.forget(decision.head)
        return self._booked(op, step, (before, heads + 1), heads)

    def kept(self, decision: Prune) -> None:
        """An undone prune is tried again only after another full patience."""
        self._weakness.spare(decision.head)

    def certify(self, op: DirectionalOperator, heads: int) -> Certificate:
        """Exact look: would the gate grow, would it prune?"""
        reading = self._read(op, heads, exact=True)
        patience = max(self._settings.prune_patience, self._settings.certify_every)
        return reading.certificate(self._ledger, self._tally, patience, self._lookout.worst_error)

    def state(self) -> dict[str, Any]:
        return {
            "holdings": self._holdings.state(),
            "limits": vars(self._limits),
            "weakness": self._weakness.state(),
            "since_growth": self._since_growth,
            "ledger": self._ledger.state(),
            "tally": self._tally.state(),
            "lookout": self._lookout.state(),
        }

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None:
        self._holdings.load_state(state["holdings"], device)
        self._limits = Thresholds(**state["limits"])
        self._weakness.load_state(state["weakness"])
        self._since_growth = state["since_growth"]
        self._ledger.load_state(state["ledger"])
        self._tally.load_state(state["tally"])
        self._lookout.load_state(state["lookout"], device)

    def _read(self, op: DirectionalOperator, heads: int, exact: bool = False) -> Reading:
        """Look at `op` outside of what is captured; what W has changed by is booked as drift."""
        total, basis = energy(op), self._holdings.basis
        if self._settings.threshold == "current":
            self._limits = thresholds(total, self._settings.growth_fraction, self._settings.prune_ratio)
        gamma, lookout = residual_energy(op, basis), self._lookout
        look = lookout.exact(op, basis) if exact else lookout.look(op, basis, gamma, self._exceeds)
        return Reading(
            layer=self._layer,
            heads=heads,
            planes=self._holdings.planes,
            limits=self._limits,
            total=total,
            gamma=gamma,
            drift=self._ledger.drift(functional(gamma, heads, self._limits)),
            look=look,
            releases=self._holdings.releases(op),
        )

    def _exceeds(self, found: Extremes) -> bool:
        return self._limits.exceeded(found.lambda_max, found.lambda_min)

    def _projected(self, look: Look, heads: int) -> int | None:
        """Heads at the end if C and M_a stood still; None with level 2, where a plane is no head."""
        if look.values is None or self._settings.attribution is not None:
            return None
        return heads + planes_needed(look.values, self._limits)

    def _take(self, head: int, plane: torch.Tensor) -> None:
        self._holdings.take(head, plane)
        self._since_growth = 0
        self._lookout.captured()

    def _booked(
        self, op: DirectionalOperator, step: int, before: tuple[Capture, int], heads: int
    ) -> EnergyChange:
        """An event has led from (planes, heads) `before` to what is there now."""
        self._tally.event(step)
        return self._ledger.event(op, self._limits, before, (self._holdings.capture, heads))

    def _growth(self, op: DirectionalOperator, look: Look, heads: int) -> Grow | Absorb | None:
        found, dwells = look.extremes, self._since_growth < self._settings.dwell
        if self._holdings.free_dimensions < 2 or dwells or not self._exceeds(found):
            return None
        plane = torch.stack([found.u_plus, found.u_minus], dim=1)
        share = self._settings.attribution
        holder = None if share is None else self._holdings.holder(op, found, share)
        if holder is not None:
            return Absorb(holder, plane, found.lambda_max, found.lambda_min)
        if self._settings.max_heads is not None and heads >= self._settings.max_heads:
            return None
        return Grow(plane, found.lambda_max, found.lambda_min, look.balance)

    def _weakest(self, reading: Reading) -> Prune | None:
        """Weak checks are counted even where the weak head is the last one, which is kept."""
        weakest = self._weakness.weakest(reading.releases, self._limits.phi_g)
        return weakest if reading.heads > 1 else None

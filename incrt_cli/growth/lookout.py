"""Where A_res is strongest: the trackers' estimate, or an exact decomposition (METHOD §3).

Trackers propose and an exact look confirms; one more exact look is due after `certify_every` without one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.operator import DirectionalOperator
from incrt_cli.geometry.spectrum import Extremes, residual_spectrum
from incrt_cli.geometry.trackers import start_tracking, track


class Look(NamedTuple):
    """`extremes` of A_res; `error` |λ̂ − λ|/Γ of a tracker that an exact look has corrected.

    `values`: the ascending spectrum, None without an exact look.
    """

    extremes: Extremes
    values: torch.Tensor | None = None
    error: float | None = None

    @property
    def balance(self) -> float | None:
        """γ = Δ⁺/(Δ⁺ + Δ⁻) from the gaps at both ends; ½ where there are none, None without an exact look."""
        if self.values is None or len(self.values) < 4:
            return None if self.values is None else 0.5
        upper, lower = float(self.values[-1] - self.values[-2]), float(self.values[1] - self.values[0])
        return upper / (upper + lower) if upper + lower > 0.0 else 0.5


class Lookout:
    """The trackers of one layer; `generator` starts them."""

    def __init__(self, settings: GateSection, width: int, generator: torch.Generator) -> None:
        self._settings, self._width, self._generator = settings, width, generator
        self._pair: torch.Tensor | None = None  # the trackers' [u⁺, u⁻]
        self._next_pair: torch.Tensor | None = None  # where they go on after a capture; None: from noise
        self._unlooked = 0  # checks since the last exact look
        self.worst_error: float | None = None

    def state(self) -> dict[str, Any]:
        """All but the generator, which belongs to whoever gave it."""
        return {
            "pair": self._pair,
            "next_pair": self._next_pair,
            "unlooked": self._unlooked,
            "worst_error": self.worst_error,
        }

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None:
        self._pair, self._next_pair = (
            None if state[name] is None else state[name].to(device) for name in ("pair", "next_pair")
        )
        self._unlooked, self.worst_error = state["unlooked"], state["worst_error"]

    def look(
        self, op: DirectionalOperator, basis: torch.Tensor, gamma: float, proposes: Callable[[Extremes], bool]
    ) -> Look:
        """Look at A_res outside `basis` Q (d × r); `proposes`: does an estimate call for an exact look?"""
        if self._settings.tracker == "exact" or self._width - basis.shape[1] < 2:
            return self.exact(op, basis)
        estimate = self._track(op, basis, gamma)
        self._unlooked += 1
        confirm = self._settings.confirm or self._settings.operator  # the operator needs exact gaps
        if not (confirm and proposes(estimate)) and self._unlooked < self._settings.certify_every:
            self._next_pair = None
            return Look(estimate)
        self._unlooked = 0
        found = self.exact(op, basis)
        errors = (
            abs(estimate.lambda_max - found.extremes.lambda_max),
            abs(estimate.lambda_min - found.extremes.lambda_min),
        )
        error = max(errors) / max(gamma, torch.finfo(torch.float64).tiny)
        self.worst_error = max(error, self.worst_error or 0.0)
        return found._replace(error=error)

    def exact(self, op: DirectionalOperator, basis: torch.Tensor) -> Look:
        """The exact extremes; zero where fewer than two dimensions are free."""
        if self._width - basis.shape[1] < 2:
            nothing = torch.zeros(self._width, dtype=torch.float64, device=op.left.device)
            return Look(Extremes(0.0, nothing, 0.0, nothing), nothing[:0])
        spectrum = residual_spectrum(op, basis)
        self._next_pair = None
        if len(spectrum.values) >= 4:
            # The runner-up pair comes for free: after a birth the trackers start from it, not from noise.
            runner_up = spectrum.extremes(1)
            self._next_pair = torch.stack([runner_up.u_plus, runner_up.u_minus], dim=1)
        return Look(spectrum.extremes(), spectrum.values)

    def captured(self) -> None:
        """The plane just seen has joined Q: go on from the runners-up."""
        self._pair = self._next_pair

    def _track(self, op: DirectionalOperator, basis: torch.Tensor, gamma: float) -> Extremes:
        start = start_tracking(basis, self._generator) if self._pair is None else self._pair
        settings = self._settings
        self._pair, estimate = track(op, basis, start, gamma, settings.step, settings.tracker_iterations)
        return estimate

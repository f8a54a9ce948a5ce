"""The online trackers against an exact decomposition, on indefinite operators (METHOD §3)."""

from __future__ import annotations

import pytest
import torch

from incrt_cli.geometry.capture import capture_plane, empty_capture
from incrt_cli.geometry.operator import DirectionalOperator, energy, residual_energy
from incrt_cli.geometry.spectrum import residual_spectrum
from incrt_cli.geometry.trackers import start_tracking, track
from tests.geometry.operators import operator_with_spectrum, random_operator

GAP = [4.0, 1.0, 0.5, 0.25]
NO_GAP = [4.0, 4.0, 3.999, 1.0]


def _tracked(
    op: DirectionalOperator, basis: torch.Tensor, iterations: int = 2000
) -> tuple[float, float, float]:
    """Errors of λ_max and λ_min in units of Γ, and |u⁺ · u⁻|."""
    gamma = residual_energy(op, basis)
    start = start_tracking(basis, torch.Generator().manual_seed(1))
    pair, estimate = track(op, basis, start, gamma, step=0.9, iterations=iterations)
    exact = residual_spectrum(op, basis).extremes()
    return (
        abs(estimate.lambda_max - exact.lambda_max) / gamma,
        abs(estimate.lambda_min - exact.lambda_min) / gamma,
        abs(float(pair[:, 0] @ pair[:, 1])),
    )


@pytest.mark.parametrize("values", [GAP, NO_GAP], ids=["gap", "no gap"])
def test_both_ends_are_found(values: list[float]) -> None:
    op = operator_with_spectrum(values)
    plus, minus, overlap = _tracked(op, empty_capture(8).basis)
    assert plus <= 1e-3 and minus <= 1e-3 and overlap <= 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_both_ends_are_found_in_the_complement_of_captured_planes(seed: int) -> None:
    op = random_operator(seed=seed)
    capture = capture_plane(empty_capture(24), 1, torch.randn(24, 6, dtype=torch.float64))
    plus, minus, _ = _tracked(op, capture.basis)
    assert plus <= 1e-3 and minus <= 1e-3


def test_the_minor_tracker_goes_below_zero_instead_of_to_it() -> None:
    # The known trap: an MCA step multiplied by uᵀAu descends its square and ends at 0.
    op = operator_with_spectrum(GAP)
    basis = empty_capture(8).basis
    start = start_tracking(basis, torch.Generator().manual_seed(0))
    _, estimate = track(op, basis, start, energy(op), step=0.9, iterations=2000)
    assert estimate.lambda_min == pytest.approx(-4.0, abs=1e-3)


def test_tracking_stays_out_of_the_captured_planes() -> None:
    op = random_operator()
    capture = capture_plane(empty_capture(24), 1, torch.randn(24, 4, dtype=torch.float64))
    start = start_tracking(capture.basis, torch.Generator().manual_seed(0))
    pair, _ = track(op, capture.basis, start, energy(op), step=0.9, iterations=50)
    assert float((capture.basis.T @ pair).abs().max()) <= 1e-12


def test_a_zero_operator_leaves_the_pair_as_it_is() -> None:
    op = DirectionalOperator(torch.eye(4).double(), torch.zeros(4, 2).double(), torch.zeros(4, 2).double())
    start = start_tracking(empty_capture(4).basis, torch.Generator().manual_seed(0))
    pair, estimate = track(op, empty_capture(4).basis, start, 0.0, step=0.9, iterations=10)
    torch.testing.assert_close(pair, start)
    assert estimate.lambda_max == estimate.lambda_min == 0.0

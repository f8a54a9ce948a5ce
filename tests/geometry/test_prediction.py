"""Head counts predicted from a spectrum (METHOD §5)."""

from __future__ import annotations

import math

import pytest
import torch

from incrt_cli.geometry.capture import capture_plane, empty_capture
from incrt_cli.geometry.functional import thresholds
from incrt_cli.geometry.operator import energy
from incrt_cli.geometry.prediction import predict_heads
from incrt_cli.geometry.spectrum import residual_spectrum
from tests.geometry.operators import operator_with_spectrum, random_operator


def _spectrum(*planes: float) -> torch.Tensor:
    return torch.tensor(sorted([*planes, *(-p for p in planes)]), dtype=torch.float64)


def test_counts_of_a_spectrum_worked_by_hand() -> None:
    # Γ² = 2 (16 + 4 + 1) = 42; θ = 0.25 Γ = 1.62: the planes of 4 and 2 exceed it, the one of 1 does not.
    gamma = 42**0.5
    prediction = predict_heads(_spectrum(4.0, 2.0, 1.0), gamma, thresholds(gamma, 0.25, 0.5))
    assert prediction.kappa == pytest.approx(gamma / 4.0)
    assert prediction.k_law == pytest.approx(42 / 16 * math.log(4.0))
    assert prediction.k_greedy == 3
    # κ̄² = max(42/32, 10/8) = 42/32
    assert prediction.k_bound == 1 + math.ceil(2 * 42 / 32 * math.log(4.0))
    # Heads that are there from the start own no plane: they come on top.
    from_five = predict_heads(_spectrum(4.0, 2.0, 1.0), gamma, thresholds(gamma, 0.25, 0.5), heads=5)
    assert from_five.k_greedy == prediction.k_greedy + 4 and from_five.k_bound == prediction.k_bound + 4


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.3])
def test_greedy_count_is_that_of_deflating_step_by_step_and_within_the_bound(
    seed: int, fraction: float
) -> None:
    op = random_operator(seed=seed)
    limits = thresholds(energy(op), fraction, 0.5)
    prediction = predict_heads(residual_spectrum(op, empty_capture(24).basis).values, energy(op), limits)
    capture, heads = empty_capture(24), 1
    while True:
        look = residual_spectrum(op, capture.basis).extremes()
        if not (look.lambda_max > limits.theta and look.lambda_min < limits.phi_w):
            break
        capture = capture_plane(capture, heads, torch.stack([look.u_plus, look.u_minus], dim=1))
        heads += 1
    assert prediction.k_greedy == heads
    assert prediction.k_greedy <= prediction.k_bound


def test_an_operator_without_signal_needs_no_second_head() -> None:
    prediction = predict_heads(torch.zeros(6, dtype=torch.float64), 0.0, thresholds(0.0, 0.1, 0.5))
    assert (prediction.k_greedy, prediction.k_bound) == (1, 1)


def test_prediction_keeps_the_spectrum_it_rests_on() -> None:
    values = residual_spectrum(operator_with_spectrum([3.0, 1.0]), empty_capture(4).basis).values
    assert predict_heads(values, 4.0, thresholds(4.0, 0.1, 0.5)).eigenvalues == pytest.approx((-3, -1, 1, 3))

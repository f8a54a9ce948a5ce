"""Captured planes, and what pruning a head would release (METHOD §2, §4)."""

from __future__ import annotations

import pytest
import torch

from incrt_cli.geometry.capture import Capture, capture_plane, complement, empty_capture, release_head
from incrt_cli.geometry.functional import functional, gate_operator, release_energies, thresholds
from incrt_cli.geometry.operator import dense, residual_energy
from incrt_cli.geometry.spectrum import residual_spectrum
from tests.geometry.operators import random_operator

EYE = torch.eye(24, dtype=torch.float64)


def _three_heads() -> Capture:
    capture = empty_capture(24)
    for head in (1, 2, 5):
        capture = capture_plane(capture, head, torch.randn(24, 2, dtype=torch.float64))
    return capture


def test_basis_stays_orthonormal_even_for_a_nearly_captured_plane() -> None:
    capture = capture_plane(empty_capture(24), 1, EYE[:, :2])
    capture = capture_plane(capture, 2, EYE[:, :2] + 1e-9 * torch.randn(24, 2, dtype=torch.float64))
    torch.testing.assert_close(
        capture.basis.T @ capture.basis, torch.eye(4, dtype=torch.float64), atol=1e-12, rtol=0
    )


def test_complement_is_what_the_basis_leaves_out() -> None:
    basis = _three_heads().basis
    both = torch.cat([basis, complement(basis)], dim=1)
    torch.testing.assert_close(both.T @ both, EYE)


def test_releasing_a_head_drops_its_columns_only() -> None:
    capture = _three_heads()
    released = release_head(capture, 2)
    assert released.owners == (1, 1, 5, 5)
    torch.testing.assert_close(released.basis, capture.basis[:, [0, 1, 4, 5]])


def test_release_energies_are_the_differences_of_the_residual_energies() -> None:
    op, capture = random_operator(), _three_heads()
    a = dense(op)
    energies = release_energies(op, capture)
    for head in (1, 2, 5):
        without = release_head(capture, head).basis
        p_minus, p = EYE - without @ without.T, EYE - capture.basis @ capture.basis.T
        expected = float((p_minus @ a @ p_minus).norm() ** 2 - (p @ a @ p).norm() ** 2)
        assert energies[head] == pytest.approx(expected, rel=1e-8)


def test_a_birth_removes_the_squares_of_both_eigenvalues() -> None:
    op, capture = random_operator(), empty_capture(24)
    for head in range(1, 6):
        before = residual_energy(op, capture.basis)
        look = residual_spectrum(op, capture.basis).extremes()
        capture = capture_plane(capture, head, torch.stack([look.u_plus, look.u_minus], dim=1))
        removed = before**2 - residual_energy(op, capture.basis) ** 2
        assert removed == pytest.approx(look.lambda_max**2 + look.lambda_min**2, rel=1e-8)


def test_thresholds_price_and_least_drop() -> None:
    limits = thresholds(2.0, growth_fraction=0.1, prune_ratio=0.5)
    assert (limits.theta, limits.phi_w, limits.phi_g) == (0.2, 0.1, 0.1)
    assert limits.price == pytest.approx(0.025)
    # A birth removes at least θ² from Γ² and costs c; a prune returns less than φ_g² and saves c.
    assert functional(1.0, 3, limits) - functional((1.0 + 0.2**2) ** 0.5, 2, limits) == pytest.approx(
        -limits.least_drop
    )
    assert functional((1.0 + 0.1**2) ** 0.5, 2, limits) - functional(1.0, 3, limits) == pytest.approx(
        -limits.least_drop
    )


def test_the_gate_operator_is_the_identity_of_rank_two_changes() -> None:
    plane = torch.linalg.qr(torch.randn(24, 2, dtype=torch.float64)).Q
    u_plus, u_minus = plane.unbind(dim=1)
    full = torch.eye(24) + 0.3 * torch.outer(u_plus, u_plus) - 0.7 * torch.outer(u_minus, u_minus)
    torch.testing.assert_close(gate_operator(EYE, plane, 0.3), full)

"""A = sym(C M_a) against its definition, written out densely (METHOD §2)."""

from __future__ import annotations

import pytest
import torch

from incrt_cli.geometry.capture import capture_plane, empty_capture
from incrt_cli.geometry.operator import (
    apply,
    dense,
    directional_operator,
    energy,
    residual_energy,
    second_moment,
)
from tests.geometry.operators import operator_with_spectrum, random_operator


def test_operator_is_the_symmetric_part_of_c_times_the_motor() -> None:
    w_q, w_k = torch.randn(3, 10, 4), torch.randn(3, 10, 4)
    z = torch.randn(50, 10)
    c = z.T @ z / 50
    form = sum(w_q[h].double() @ w_k[h].double().T for h in range(3)) / 4**0.5
    product = c.double() @ (0.5 * (form - form.T))
    expected = 0.5 * (product + product.T)
    torch.testing.assert_close(dense(directional_operator(c, w_q, w_k)), expected)


@pytest.mark.parametrize("seed", range(5))
def test_trace_is_zero(seed: int) -> None:
    op = random_operator(seed=seed)
    assert abs(float(dense(op).trace())) <= 1e-12 * energy(op)


def test_matrix_free_product_is_the_dense_one() -> None:
    op = random_operator()
    v = torch.randn(24, 5, dtype=torch.float64)
    torch.testing.assert_close(apply(op, v), dense(op) @ v)


@pytest.mark.parametrize("heads", [1, 3, 9])  # fewer and more columns than the width
def test_energy_is_the_frobenius_norm(heads: int) -> None:
    op = random_operator(heads=heads)
    assert energy(op) == pytest.approx(float(dense(op).norm()), rel=1e-10)


def test_residual_energy_is_the_norm_of_the_projected_operator() -> None:
    op = random_operator()
    capture = capture_plane(empty_capture(24), 1, torch.randn(24, 6, dtype=torch.float64))
    projector = torch.eye(24, dtype=torch.float64) - capture.basis @ capture.basis.T
    expected = float((projector @ dense(op) @ projector).norm())
    assert residual_energy(op, capture.basis) == pytest.approx(expected, rel=1e-10)


def test_known_spectrum() -> None:
    values = torch.linalg.eigvalsh(dense(operator_with_spectrum([3.0, 1.0])))
    torch.testing.assert_close(values, torch.tensor([-3.0, -1.0, 1.0, 3.0], dtype=torch.float64))


def test_second_moment_leaves_padding_out() -> None:
    z = torch.randn(2, 4, 3)
    mask = torch.tensor([[True, True, True, True], [True, True, False, False]])
    total, count = second_moment(z, mask)
    real = torch.cat([z[0], z[1, :2]])
    assert int(count) == 6
    torch.testing.assert_close(total, real.T @ real)
    torch.testing.assert_close(
        second_moment(z[:, :2], None)[0], z[:, :2].reshape(-1, 3).T @ z[:, :2].reshape(-1, 3)
    )

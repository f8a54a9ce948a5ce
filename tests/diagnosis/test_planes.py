"""The planes that are compared: orthonormal, outside Q, and scored by the same measure."""

from __future__ import annotations

import pytest
import torch

from incrt_cli.diagnosis.planes import eigenplanes, motor_planes, random_planes, room_for_planes
from incrt_cli.geometry.operator import dense
from incrt_cli.growth.birth import newborn_head, random_plane
from tests.geometry.operators import random_operator

WIDTH = 12


def test_eigenplanes_come_in_the_order_of_births() -> None:
    op = random_operator(WIDTH)
    planes = eigenplanes(op, torch.zeros(WIDTH, 0, dtype=torch.float64), WIDTH // 2)
    values = torch.linalg.eigvalsh(dense(op))
    assert [p.lambda_max for p in planes] == pytest.approx(values.flip(0)[: WIDTH // 2].tolist())
    assert [p.lambda_min for p in planes] == pytest.approx(values[: WIDTH // 2].tolist())
    assert [p.rank for p in planes] == list(range(1, WIDTH // 2 + 1))


def test_every_plane_is_orthonormal_and_leaves_q_out() -> None:
    op, generator = random_operator(WIDTH), torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(WIDTH, 4, dtype=torch.float64, generator=generator)).Q
    assert room_for_planes(basis) == 4
    for plane in eigenplanes(op, basis, 4) + random_planes(op, basis, 4, generator):
        u = plane.directions
        torch.testing.assert_close(u.T @ u, torch.eye(2, dtype=torch.float64))
        assert float((basis.T @ u).abs().max()) < 1e-10


def test_a_random_plane_is_scored_by_its_best_direction() -> None:
    op, generator = random_operator(WIDTH), torch.Generator().manual_seed(1)
    empty = torch.zeros(WIDTH, 0, dtype=torch.float64)
    best = eigenplanes(op, empty, 1)[0].lambda_max
    for plane in random_planes(op, empty, 5, generator):
        a = dense(op)
        angles = torch.linspace(0.0, torch.pi, 721, dtype=torch.float64)
        u = plane.directions @ torch.stack([angles.cos(), angles.sin()])
        assert float((u * (a @ u)).sum(dim=0).max()) == pytest.approx(plane.lambda_max, abs=1e-4)
        assert float(plane.directions[:, 0] @ a @ plane.directions[:, 0]) == pytest.approx(plane.lambda_max)
        assert plane.lambda_min <= plane.lambda_max < best


def test_the_motor_of_a_newborn_gives_its_plane_back() -> None:
    generator = torch.Generator().manual_seed(0)
    plane = random_plane(WIDTH, generator)
    head = newborn_head(plane, 4, 4, 10.0, generator)
    found = motor_planes(head.w_q[None], head.w_k[None], [1]).basis
    torch.testing.assert_close(found @ found.T, plane @ plane.T, atol=1e-6, rtol=0.0)


def test_more_motors_than_planes_fill_the_layer_and_no_more() -> None:
    w_q, w_k = torch.randn(2, 5, 4, 3, generator=torch.Generator().manual_seed(0))
    basis = motor_planes(w_q, w_k, [1] * 5).basis
    torch.testing.assert_close(basis.T @ basis, torch.eye(4, dtype=torch.float64))
    assert basis.shape == (4, 4) and room_for_planes(basis) == 0


def test_a_head_gives_as_many_planes_as_it_owns() -> None:
    w_q, w_k = torch.randn(2, 2, 12, 6, generator=torch.Generator().manual_seed(0))
    capture = motor_planes(w_q, w_k, [0, 2])
    assert capture.owners == (1,) * 4
    motor = w_q[1] @ w_k[1].T - w_k[1] @ w_q[1].T
    left_over = motor.double() - capture.basis @ capture.basis.T @ motor.double()
    assert float(left_over.norm()) < float(motor.norm())

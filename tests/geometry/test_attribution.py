"""Which head a direction belongs to (METHOD §7, level 2)."""

from __future__ import annotations

import pytest
import torch

from incrt_cli.geometry.attribution import absorbed_planes, attribution, holder, most_planes
from incrt_cli.geometry.capture import empty_capture
from incrt_cli.geometry.operator import dense
from incrt_cli.geometry.spectrum import residual_spectrum
from tests.geometry.operators import random_operator


def test_attribution_is_every_heads_part_of_the_quotient() -> None:
    op = random_operator()
    u = torch.linalg.qr(torch.randn(24, 1, dtype=torch.float64)).Q[:, 0]
    parts = attribution(op, u, heads=3)
    for head, part in enumerate(parts):
        columns = slice(4 * head, 4 * head + 4)
        form = op.left[:, columns] @ op.right[:, columns].T
        product = op.second_moment @ (0.5 * (form - form.T))
        assert float(part) == pytest.approx(float(u @ (0.5 * (product + product.T)) @ u))
    assert float(parts.sum()) == pytest.approx(float(u @ dense(op) @ u))


def test_a_direction_belongs_to_the_head_with_most_of_it_while_that_has_room_and_enough() -> None:
    op = random_operator()
    found = residual_spectrum(op, empty_capture(24).basis).extremes()
    shares = (attribution(op, found.u_plus, heads=3) / found.lambda_max).tolist()
    best = shares.index(max(shares))
    assert holder(op, found, [2, 2, 2], max(shares) - 1e-9) == best
    assert holder(op, found, [2, 2, 2], max(shares) + 1e-9) is None
    # Nobody else takes what its holder has no room for.
    full = [0 if head == best else 2 for head in range(3)]
    assert holder(op, found, full, 0.0) is None


def test_heads_absorb_no_more_planes_than_their_motors_turn() -> None:
    op = random_operator()
    spectrum = residual_spectrum(op, empty_capture(24).basis)
    assert most_planes(op, 3) == 2
    # Whoever holds most of each plane takes it, whatever the share: in the end all are full or not asked.
    taken = [absorbed_planes(op, spectrum, planes, 3, 0.0) for planes in range(13)]
    assert taken[:2] == [0, 1] and 2 < taken[-1] <= 6
    assert all(after - before in (0, 1) for before, after in zip(taken, taken[1:], strict=False))

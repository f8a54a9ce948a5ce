"""The newborn's motor and scales (METHOD §4)."""

from __future__ import annotations

import pytest
import torch

from incrt_cli.growth.birth import newborn_head, random_plane


def test_the_form_is_an_exactly_skew_rank_two_motor_of_norm_one() -> None:
    generator = torch.Generator().manual_seed(0)
    plane = random_plane(32, generator)
    head = newborn_head(plane, head_width=8, value_width=8, tokens=20.0, generator=generator)
    form = head.w_q @ head.w_k.T / 8**0.5
    u_plus, u_minus = plane.float().unbind(dim=1)
    expected = (torch.outer(u_plus, u_minus) - torch.outer(u_minus, u_plus)) / 2**0.5
    torch.testing.assert_close(form, expected, atol=1e-6, rtol=0)
    assert float(form.norm()) == pytest.approx(1.0, abs=1e-5)


def test_a_weaker_newborn_has_the_same_motor_at_another_norm() -> None:
    plane = random_plane(32, torch.Generator().manual_seed(0))
    whole, tenth = (
        newborn_head(plane, 8, 8, 20.0, torch.Generator().manual_seed(1), norm) for norm in (1.0, 0.1)
    )
    torch.testing.assert_close(tenth.w_q @ tenth.w_k.T, 0.1 * whole.w_q @ whole.w_k.T)
    assert torch.equal(tenth.w_v, whole.w_v)


def test_values_are_scaled_to_the_sequence_length_and_the_output_starts_at_zero() -> None:
    generator = torch.Generator().manual_seed(0)
    head = newborn_head(random_plane(256, generator), 16, 16, tokens=50.0, generator=generator)
    assert float(head.w_v.var()) == pytest.approx(16 * 50.0 / (256 * 16), rel=0.1)
    assert not head.w_o.any()


def test_births_do_not_touch_the_global_generator() -> None:
    state = torch.get_rng_state()
    generator = torch.Generator().manual_seed(0)
    newborn_head(random_plane(16, generator), 4, 4, 10.0, generator)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_gate_operator_keeps_the_motor_skew_on_its_plane_and_scales_it() -> None:
    plane = random_plane(32, torch.Generator().manual_seed(0))
    gamma = 0.3
    plain, gated = (
        newborn_head(plane, 8, 8, 20.0, torch.Generator().manual_seed(1), balance=balance)
        for balance in (None, gamma)
    )
    form, expected = gated.w_q @ gated.w_k.T, gamma * (1.0 + gamma) * plain.w_q @ plain.w_k.T
    torch.testing.assert_close(form, expected, atol=1e-6, rtol=1e-5)
    assert torch.equal(gated.w_v, plain.w_v)


def test_the_gate_operator_amplifies_u_plus_and_suppresses_u_minus_in_the_noise_columns() -> None:
    plane = random_plane(32, torch.Generator().manual_seed(0))
    plain, gated = (
        newborn_head(plane, 8, 8, 20.0, torch.Generator().manual_seed(1), balance=balance)
        for balance in (None, 0.3)
    )
    before, after = (plane.float().T @ head.w_q[:, 2:] for head in (plain, gated))
    torch.testing.assert_close(after, before * torch.tensor([[1.3], [0.3]]), atol=1e-5, rtol=1e-4)

"""Corrections and the figures they are judged by, on matrices whose answers are known (METHOD §9)."""

from __future__ import annotations

import math

import pytest
import torch

from incrt_cli.geometry.conditioning import (
    Conditioning,
    attend,
    condition_numbers,
    correction,
    jacobian_condition,
    jacobian_condition_bound,
    relative_entropy,
)

SVD, DIAGONAL = (Conditioning(method, ("v",), 10.0) for method in ("svd", "diagonal"))


def _random(heads: int, rows: int, columns: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(heads, rows, columns, generator=torch.Generator().manual_seed(0), dtype=dtype)


@pytest.mark.parametrize("shape", [(3, 12, 5), (2, 6, 6), (2, 4, 9)])
def test_svd_halves_the_distance_to_a_condition_of_one_and_so_is_at_most_two(
    shape: tuple[int, int, int],
) -> None:
    weights = _random(*shape)
    before, after = (condition_numbers(w) for w in (weights, weights + correction(weights, SVD)))
    torch.testing.assert_close(after, 2 * before / (before + 1), rtol=1e-5, atol=0)
    assert bool((after <= 2.0 + 1e-6).all())


def test_svd_conditions_even_a_matrix_that_lacks_rank() -> None:
    weights = _random(1, 8, 4)
    weights[:, :, 3] = weights[:, :, 0]
    assert condition_numbers(weights.double()).item() > 1e6
    assert condition_numbers(weights + correction(weights, SVD)).item() == pytest.approx(2.0, abs=1e-5)


@pytest.mark.parametrize("shape", [(3, 12, 5), (2, 6, 6), (2, 4, 9)])
def test_the_diagonal_keeps_weyls_bound(shape: tuple[int, int, int]) -> None:
    weights = _random(*shape) / 2.0
    largest = torch.linalg.svdvals(weights.double())[:, 0]
    assert bool((largest < 10.0).all())
    after = condition_numbers(weights + correction(weights, DIAGONAL))
    assert bool((after <= (10.0 + largest) / (10.0 - largest)).all())
    expected = torch.zeros(shape[1:]).fill_diagonal_(10.0)
    assert all(torch.equal(one, expected) for one in correction(weights, DIAGONAL))


def test_a_condition_number_without_rank_is_infinite() -> None:
    weights = torch.stack(
        [torch.eye(4, 3), torch.diag(torch.tensor([8.0, 4.0, 2.0, 0.0]))[:, :3], torch.zeros(4, 3)]
    )
    assert condition_numbers(weights).tolist() == [1.0, 4.0, math.inf]


def test_the_jacobian_is_that_of_finite_differences() -> None:
    w_q, w_k, w_v = _random(3, 6, 2, torch.float64)
    z = _random(1, 3, 6, torch.float64)[0] * 0.7
    flat = torch.cat([w.reshape(-1) for w in (w_q, w_k, w_v)])

    def output(parameters: torch.Tensor) -> torch.Tensor:
        return attend(*parameters.reshape(3, 6, 2), z).reshape(-1)

    steps = 1e-5 * torch.eye(len(flat), dtype=torch.float64)
    slow = torch.stack([(output(flat + step) - output(flat - step)) / 2e-5 for step in steps], dim=1)
    values = torch.linalg.svdvals(slow)
    assert jacobian_condition(w_q, w_k, w_v, z) == pytest.approx(float(values[0] / values[-1]), rel=1e-6)


@pytest.mark.parametrize("scale", [0.03, 0.3, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("shape", [(6, 2, 3), (12, 4, 4), (16, 8, 2)])
def test_the_bound_holds_whatever_the_size_of_the_weights(shape: tuple[int, int, int], scale: float) -> None:
    generator = torch.Generator().manual_seed(round(100 * scale))
    width, keys, values = shape
    for tokens in (2, 5, 6):
        z, *weights = (
            torch.randn(rows, columns, generator=generator, dtype=torch.float64)
            for rows, columns in ((tokens, width), (width, keys), (width, keys), (width, values))
        )
        w_q, w_k, w_v = (scale * w / width**0.5 for w in weights)
        exact = jacobian_condition(w_q, w_k, w_v, z)
        assert 1.0 < exact <= jacobian_condition_bound(w_q, w_k, w_v, z) * (1 + 1e-9)


def _head_on_tokens() -> tuple[torch.Tensor, ...]:
    w_q, w_k, w_v = _random(3, 6, 2, torch.float64)
    return w_q, w_k, w_v, torch.randn(4, 6, generator=torch.Generator().manual_seed(1)).double()


def test_the_bound_is_exact_where_nothing_reaches_the_output_through_the_shares() -> None:
    w_q, w_k, w_v, z = _head_on_tokens()
    shares = ((z @ w_q) @ (z @ w_k).T / 2**0.5).softmax(dim=-1)
    expected = condition_numbers((shares @ z).unsqueeze(0)).item()
    nothing = torch.zeros_like(w_v)
    assert jacobian_condition(w_q, w_k, nothing, z) == pytest.approx(expected)
    assert jacobian_condition_bound(w_q, w_k, nothing, z) == pytest.approx(expected)
    assert jacobian_condition_bound(w_q, w_k, w_v, z) > 1.01 * expected


@pytest.mark.parametrize("values", [4, 6, 9])
def test_values_have_no_part_in_the_least_singular_value(values: int) -> None:
    w_q, w_k, _, z = _head_on_tokens()
    least, largest = [], []
    for factor in (1.0, 20.0):
        w_v = factor * torch.randn(6, values, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        parts = torch.func.jacrev(attend, argnums=(0, 1, 2))(w_q, w_k, w_v, z)
        jacobian = torch.cat([part.reshape(len(z) * values, -1) for part in parts], dim=1)
        found = torch.linalg.svdvals(jacobian)
        least.append(float(found[-1]))
        largest.append(float(found[0]))
    shares = ((z @ w_q) @ (z @ w_k).T / 2**0.5).softmax(dim=-1)
    assert least == pytest.approx(2 * [float(torch.linalg.svdvals(shares @ z)[-1])])
    assert largest[1] > 5.0 * largest[0]


def test_larger_values_raise_bound_and_condition_though_their_own_condition_stays() -> None:
    w_q, w_k, w_v, z = _head_on_tokens()
    grown = [(factor * w_v, factor) for factor in (1.0, 10.0, 100.0)]
    bounds = [jacobian_condition_bound(w_q, w_k, values, z) for values, _ in grown]
    exact = [jacobian_condition(w_q, w_k, values, z) for values, _ in grown]
    assert condition_numbers(torch.stack([values for values, _ in grown])).tolist() == pytest.approx(
        3 * [condition_numbers(w_v.unsqueeze(0)).item()]
    )
    assert bounds[2] / bounds[1] == pytest.approx(10.0, rel=0.01)
    assert exact[0] < exact[1] < exact[2]


def test_the_bound_is_infinite_where_values_alone_do_not_reach_every_output() -> None:
    w_q, w_k, w_v, z = _head_on_tokens()
    assert jacobian_condition_bound(w_q, w_k, w_v, z[[0, 1, 1]]) == math.inf
    assert jacobian_condition_bound(w_q, w_k, w_v, torch.cat([z, z])) == math.inf


@pytest.mark.parametrize("distance", [0.0, 1e-13])
def test_the_bound_is_infinite_where_the_exact_figure_counts_as_such(distance: float) -> None:
    """Nothing to read, and tokens that differ by less than a matrix as large as J tells from nothing."""
    w_q, w_k, w_v, z = _head_on_tokens()
    for tokens in (torch.zeros_like(z), z[:1] + distance * z):
        assert jacobian_condition(w_q, w_k, w_v, tokens) == math.inf
        assert jacobian_condition_bound(w_q, w_k, w_v, tokens) == math.inf


def test_entropy_is_one_where_all_are_read_alike_and_zero_where_one_is() -> None:
    z = torch.eye(6).unsqueeze(0)
    identity, nothing = torch.eye(6), torch.zeros(6, 6)
    assert relative_entropy(nothing, nothing, z, None) == pytest.approx(1.0)
    assert relative_entropy(50.0 * identity, 50.0 * identity, z, None) == pytest.approx(0.0, abs=1e-9)


def test_entropy_leaves_padding_and_single_tokens_out() -> None:
    w_q, w_k = _random(2, 6, 4)
    z = _random(2, 5, 6)
    mask = torch.tensor([[True] * 3 + [False] * 2, [True] + [False] * 4])
    alone = relative_entropy(w_q, w_k, z[:1, :3], None)
    assert relative_entropy(w_q, w_k, z, mask) == pytest.approx(alone)
    assert 0.0 < alone < 1.0
    assert math.isnan(relative_entropy(w_q, w_k, z[1:, :1], None))

"""Demand for a head that does not exist: an honest test on noise, a found direction where there is one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from incrt_cli.geometry.capture import capture_plane, empty_capture
from incrt_cli.geometry.demand import (
    Direction,
    Search,
    evidence,
    judge,
    propose,
    scores,
)
from incrt_cli.geometry.view import View, joined, outside, packed, thinned

WIDTH, TOKENS = 12, 6
SEARCH = Search(starts=8, screening=2, every=2, finalists=4, rounds=8)
ONE_ROUND = Search(starts=1, screening=0, every=1, finalists=1, rounds=1)


def _sequences(count: int, seed: int, signal: float = 0.0) -> View:
    """Random tokens; with `signal`, axis 0 is pulled the way a head with u = axis 1, w = axis 2 pushes."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(count, TOKENS, WIDTH, generator=generator)
    pull = torch.randn(count, TOKENS, WIDTH, generator=generator)
    key = z[:, :, 2]
    spread = key.var(dim=1, unbiased=False)
    pull[:, :, 0] += signal * z[:, :, 1] * (spread - spread.mean())[:, None]
    return packed(z, pull, None)


def _search(view: View) -> Direction:
    return propose(view, SEARCH, torch.Generator().manual_seed(0))


def test_on_noise_the_verdict_keeps_its_level() -> None:
    verdicts = [judge(_sequences(128, 2 * i + 1), _search(_sequences(128, 2 * i))).t for i in range(200)]
    above = sum(t > 1.65 for t in verdicts) / len(verdicts)  # 5 % nominally
    assert above <= 0.05 + 3 * (0.05 * 0.95 / len(verdicts)) ** 0.5
    assert abs(sum(verdicts) / len(verdicts)) <= 3 / len(verdicts) ** 0.5


def test_the_rows_that_proposed_a_direction_may_not_judge_it() -> None:
    views = [_sequences(128, seed) for seed in range(20)]
    assert sum(judge(view, _search(view)).t for view in views) / len(views) > 2.0


def test_a_planted_look_up_is_found_and_significant() -> None:
    found = _search(_sequences(512, 0, signal=1.0))
    for part, axis in ((found.query, 1), (found.key, 2), (found.output, 0)):
        assert abs(float(part[axis, 0])) > 0.9
    assert judge(_sequences(512, 1, signal=1.0), found).t > 5.0


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_neither_the_scale_of_the_loss_nor_of_the_tokens_matters(scale: float) -> None:
    plain, judges = _sequences(256, 0, signal=0.5), _sequences(256, 1, signal=0.5)
    expected = judge(judges, _search(plain)).t
    scaled = [View(v.z * scale, v.pull / scale**2, v.lengths) for v in (plain, judges)]
    assert judge(scaled[1], _search(scaled[0])).t == pytest.approx(expected, rel=1e-3)


def test_a_captured_plane_is_no_longer_asked_for() -> None:
    plane = torch.eye(WIDTH, dtype=torch.float64)[:, [1, 2]]
    basis = capture_plane(empty_capture(WIDTH), 1, plane).basis
    search, judges = (outside(_sequences(512, seed, signal=1.0), basis) for seed in (0, 1))
    direction = propose(search, SEARCH, torch.Generator().manual_seed(0))
    assert judge(judges, direction).t < 3.0
    assert float((basis.T.float() @ direction.query).abs().max()) < 1e-5


def _ragged(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Padded z and pull (with rubbish at the padding) and their mask; no two neighbours of one length."""
    generator = torch.Generator().manual_seed(seed)
    z, pull = torch.randn(2, 7, TOKENS, WIDTH, generator=generator, dtype=torch.float64)
    return z, pull, torch.arange(TOKENS) < torch.tensor([3, 6, 1, 4, 2, 6, 5])[:, None]


def _in_plain_loops(direction: Direction) -> tuple[list[list[float]], list[list[float]]]:
    """α = Σ_a (p_a·o)(u·z_a) and b = wᵀ C w, one sequence and one direction at a time."""
    alphas, betas = [], []
    for z, pull, real in zip(*_ragged(0), strict=True):
        z, pull = z[real], pull[real]
        centred = z - z.mean(dim=0)
        covariance = centred.T @ centred / len(z)
        columns = list(zip(*(part.T for part in direction), strict=True))
        alphas.append(
            [float(sum((p @ o) * (u @ x) for x, p in zip(z, pull, strict=True))) for u, _, o in columns]
        )
        betas.append([float(w @ covariance @ w) for _, w, _ in columns])
    return alphas, betas


def _some(count: int) -> Direction:
    generator = torch.Generator().manual_seed(5)
    return Direction(*torch.randn(3, WIDTH, count, generator=generator, dtype=torch.float64))


def test_scores_are_those_of_the_formulas() -> None:
    direction = _some(3)
    for found, expected in zip(
        scores(packed(*_ragged(0)), direction), _in_plain_loops(direction), strict=True
    ):
        torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_a_round_climbs_the_gradient_of_the_rate() -> None:
    """Each of u, o, w is the unit gradient of q = E[α (b − E b)] in it, the others as they are."""
    view, start = packed(*_ragged(0)), _some(1)
    alpha, b = scores(view, start)
    if float((alpha * (b - b.mean(dim=0))).sum()) < 0.0:  # a search turns such an output before it climbs
        start = start._replace(output=-start.output)
    found = propose(view, ONE_ROUND, torch.Generator(), warm=start)

    def gradient(name: str, direction: Direction) -> Tensor:
        leaf = getattr(direction, name).clone().requires_grad_()
        z, pull, mask = _ragged(0)
        z, pull = z * mask[..., None], pull * mask[..., None]
        moved = direction._replace(**{name: leaf})
        along, lengths = z @ moved.key, mask.sum(dim=1)[:, None]
        beta = along.square().sum(dim=1) / lengths - (along.sum(dim=1) / lengths).square()
        alpha = ((pull @ moved.output) * (z @ moved.query)).sum(dim=1)
        (slope,) = torch.autograd.grad((alpha * (beta - beta.mean(dim=0))).sum(), leaf)
        return slope / slope.norm()

    expected = start
    for name in ("query", "output", "key"):
        expected = expected._replace(**{name: gradient(name, expected)})
    for mine, theirs in zip(found[:2], expected[:2], strict=True):
        torch.testing.assert_close(mine, theirs)
    torch.testing.assert_close(found.output.abs(), expected.output.abs())  # its sign is the rate's


def test_padding_and_batching_change_nothing() -> None:
    z, pull, mask = _ragged(0)
    whole = packed(z, pull, mask)
    halves = joined([packed(z[:3], pull[:3], mask[:3]), packed(z[3:], pull[3:], mask[3:])])
    assert whole.lengths.tolist() == [3, 6, 1, 4, 2, 6, 5] and len(whole.z) == 27
    assert all(torch.equal(one, other) for one, other in zip(whole, halves, strict=True))
    unpadded = packed(z, pull, None)
    assert all(
        torch.equal(one, other)
        for one, other in zip(unpadded, packed(z, pull, torch.ones_like(mask)), strict=True)
    )


def test_a_share_of_the_sequences_is_them_whole() -> None:
    whole = packed(*_ragged(0))
    first, fourth, last = (
        packed(z[None], pull[None], mask[None]) for z, pull, mask in list(zip(*_ragged(0), strict=True))[::3]
    )
    for one, other in zip(thinned(whole, 3), joined([first, fourth, last]), strict=True):
        assert torch.equal(one, other)
    assert torch.equal(thinned(whole, 1).z, whole.z)


def test_a_known_direction_is_where_the_search_goes_on() -> None:
    view = _sequences(512, 0, signal=1.0)
    axes: list[Tensor] = [torch.eye(WIDTH)[:, [axis]] for axis in (1, 2, 0)]
    found = propose(view, ONE_ROUND, torch.Generator().manual_seed(3), warm=Direction(*axes))
    assert abs(float(found.key[2, 0])) > 0.9


@pytest.mark.parametrize(("figures", "t"), [([0.0, 0.0], 0.0), ([1.0, 1.0], float("inf")), ([1.0, 3.0], 2.0)])
def test_evidence_of_few_figures(figures: list[float], t: float) -> None:
    assert evidence(torch.tensor(figures)).t == pytest.approx(t)

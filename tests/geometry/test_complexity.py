"""METHOD §10 against dense matrices and plain loops, and what must hold whatever the weights."""

from __future__ import annotations

import math

import pytest
import torch

from incrt_cli.complexity.weights import LayerWeights, ModelWeights, layer_spectra, measure
from incrt_cli.geometry.complexity import complexity
from incrt_cli.geometry.low_rank import dense_spectrum, low_rank_spectra
from tests.complexity.models import random_layers, slow_factors


@pytest.mark.parametrize(
    ("depth", "width", "heads", "head_width", "hidden", "scale"),
    [
        (1, 12, 1, 3, None, 1.0),
        (3, 12, 4, 3, None, 0.4),  # p > 0 is chosen where norms are small
        (4, 16, 2, 8, 64, 0.3),
        (3, 16, 2, 8, 40, 3.0),
        (2, 8, 3, 12, 4, 0.6),  # heads wider than the model, a block narrower than it
    ],
)
def test_both_factors_are_those_of_the_dense_definition(depth, width, heads, head_width, hidden, scale):
    layers = random_layers(depth, width, heads, head_width, hidden, scale, seed=depth)
    found = measure(ModelWeights("random", width, 1.13, layers)).complexity
    assert (found.b_adaptive, found.b_norm) == pytest.approx(slow_factors(layers, width, 1.13), rel=1e-9)


def test_small_norms_choose_a_positive_schatten_index_and_large_ones_the_rank():
    chosen = {
        scale: {t.p for t in _complexity(random_layers(3, 16, 2, 4, 32, scale, seed=0), 16).terms}
        for scale in (0.1, 5.0)
    }
    assert max(chosen[0.1]) > 0.0 and chosen[5.0] == {0.0}


def test_a_product_of_small_factors_has_the_spectrum_and_the_columns_of_the_whole():
    left, right = torch.randn(2, 3, 20, 4).unbind()
    for spectrum, whole in zip(low_rank_spectra(left, right), left.double() @ right.double().mT, strict=True):
        torch.testing.assert_close(spectrum.values, torch.linalg.svdvals(whole)[:4])
        assert spectrum.column_norm == pytest.approx(float(whole.norm(dim=0).sum()))


@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-6, 1e-12, 0.0])  # from well to badly conditioned
def test_small_singular_values_are_exact_too(smallest: float):
    generator = torch.Generator().manual_seed(0)
    bases = [torch.linalg.qr(torch.randn(n, 6, generator=generator).double()).Q for n in (30, 6)]
    wanted = torch.tensor([3.0, 2.0, 1.0, 1.0, 0.5, smallest], dtype=torch.float64).sort(descending=True)[0]
    spectrum = dense_spectrum(bases[0] @ torch.diag(wanted) @ bases[1].T)
    torch.testing.assert_close(spectrum.values, wanted[wanted > 1e-9], rtol=1e-9, atol=0)
    assert spectrum.rank == (6 if smallest > 1e-9 else 5)


def test_a_newborn_head_changes_neither_factor():
    """Its W_O is zero, so the function is unchanged, and so is what bounds it."""
    layers = random_layers(2, 12, 2, 3, None, 1.0, seed=0)
    before = _complexity(layers, 12)
    born = [torch.randn(1, 12, 3) for _ in range(3)]
    grown = [LayerWeights(*(torch.cat(pair) for pair in zip(layer[:3], born, strict=True)),
                          torch.cat([layer.w_o, torch.zeros(1, 3, 12)])) for layer in layers]  # fmt: skip
    after = _complexity(grown, 12)
    assert (after.b_adaptive, after.b_norm) == pytest.approx((before.b_adaptive, before.b_norm), rel=1e-12)


def test_the_rank_bounds_b_adaptive_and_is_linear_in_heads():
    ceilings = []
    for heads in (1, 2, 4):
        found = _complexity(random_layers(2, 16, heads, 4, None, 5.0, seed=0), 16)
        ceilings.append(found.b_adaptive - math.sqrt(2))
    assert ceilings == pytest.approx([2 * 2 * heads * math.sqrt(4 * 16) for heads in (1, 2, 4)])


def test_a_product_beyond_the_range_of_a_float_keeps_its_logarithm():
    found = _complexity(random_layers(40, 8, 2, 4, 16, 1e4, seed=0), 8)
    assert found.b_norm == math.inf and math.isfinite(found.log_b_norm) and math.isfinite(found.b_adaptive)


def _complexity(layers: list[LayerWeights], width: int):
    return complexity([layer_spectra(layer) for layer in layers], width, 1.13)

"""What is compared computes the same: every formulation, its gradient too, equals the bank of heads."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from incrt_cli.bench.formulations import Attend, Fused, HeadByHead, TorchLayer, furthest, reference
from incrt_cli.bench.layers import HEADS, WIDTHS, head_width
from incrt_cli.geometry.conditioning import Conditioning
from incrt_cli.model.head_bank import HeadBank


def rows(width: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    mask = torch.ones(3, 7, dtype=torch.bool)
    mask[1, 4:] = False
    return torch.randn(3, 7, width), mask


def gradient(attend: Attend, z: Tensor, mask: Tensor | None) -> Tensor:
    z = z.clone().requires_grad_()
    attend(z, mask).square().sum().backward()
    assert z.grad is not None
    return z.grad


@pytest.mark.parametrize("conditioning", [None, Conditioning("svd", ("q", "v"), 1.0)])
@pytest.mark.parametrize(("width", "heads", "own"), [(16, 4, 4), (16, 3, 8), (12, 6, 2)])
def test_all_formulations_are_the_same_function(
    width: int, heads: int, own: int, conditioning: Conditioning | None
) -> None:
    torch.manual_seed(0)
    bank, (z, mask) = HeadBank(width, own, own, heads, conditioning), rows(width)
    whole = width == heads * own
    others: list[Attend] = [Fused(bank), *([TorchLayer(bank)] if whole else [])]
    for other in others:
        assert furthest(bank, other, z, None) < 1e-5 and furthest(bank, other, z, mask) < 1e-5
        assert torch.allclose(gradient(other, z, mask), gradient(bank, z, mask), rtol=1e-3, atol=1e-5)
    loop = HeadByHead(bank)
    assert furthest(bank, loop, z, None) < 1e-5
    assert torch.allclose(gradient(loop, z, None), gradient(bank, z, None), rtol=1e-3, atol=1e-5)
    assert isinstance(reference(bank), TorchLayer) == whole


def test_a_formulation_with_other_weights_is_told_apart() -> None:
    bank, (z, mask) = HeadBank(16, 4, 4, 4), rows(16)
    other = Fused(bank)
    with torch.no_grad():
        other.outputs[0] += 0.1
    assert furthest(bank, other, z, None) > 1e-3 and furthest(bank, other, z, mask) > 1e-3


def test_head_widths_fill_the_width_where_they_can() -> None:
    found = {(d, k): head_width(d, k) for d in WIDTHS for k in HEADS}
    assert found == {
        (128, 16): 8, (128, 64): 2, (128, 130): 16, (256, 16): 16, (256, 64): 4, (256, 130): 16,
        (768, 16): 48, (768, 64): 12, (768, 130): 16,
    }  # fmt: skip
    assert head_width(64, 64) == 16  # one column could hold no motor

"""The layer against METHOD §1 written out head by head, and independence of batch and padding."""

from __future__ import annotations

import pytest
import torch

from incrt_cli.model.classifier import Architecture, Classifier, count_parameters
from incrt_cli.model.head_bank import HeadBank

SHAPE = {
    "vocabulary_size": 50,
    "max_tokens": 12,
    "classes": 3,
    "width": 16,
    "head_width": 4,
    "value_width": 6,
}


def _classifier(**changes: object) -> Classifier:
    torch.manual_seed(0)
    return Classifier(Architecture(**{**SHAPE, "heads": (3, 2), **changes})).eval()


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("value_width", [3, 4, 6])
def test_heads_are_summed_as_the_method_says(padded: bool, value_width: int) -> None:
    torch.manual_seed(0)
    bank = HeadBank(width=16, head_width=4, value_width=value_width, heads=3)
    z = torch.randn(2, 5, 16)
    mask = torch.ones(2, 5, dtype=torch.bool)
    mask[1, 3:] = not padded
    expected = torch.zeros(2, 5, 16)
    for b in range(2):
        for h in range(3):
            w_v = bank.input_projection[h, 8:].T
            form = bank.w_q[h] @ bank.w_k[h].T / 4**0.5
            scores = (z[b] @ form @ z[b].T).masked_fill(~mask[b], float("-inf"))
            expected[b] += scores.softmax(dim=-1) @ z[b] @ w_v @ bank.output_projection[h]
    torch.testing.assert_close(bank(z, mask if padded else None), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("ffn", "layer_norm"), [(0.0, True), (2.0, True), (2.0, False)])
def test_logits_do_not_depend_on_batch_size_order_or_padding(ffn: float, layer_norm: bool) -> None:
    model = _classifier(ffn_multiplier=ffn, layer_norm=layer_norm)
    lengths = torch.randint(1, 13, (32,))
    mask = torch.arange(12) < lengths[:, None]
    tokens = torch.randint(1, 50, (32, 12)) * mask
    together = model(tokens, mask)
    order = lengths.argsort(descending=True)
    torch.testing.assert_close(model(tokens[order], mask[order]), together[order], atol=1e-5, rtol=0)
    for i, length in enumerate(lengths):
        alone = model(tokens[i : i + 1, :length], None)
        torch.testing.assert_close(alone[0], together[i], atol=1e-5, rtol=0)


def test_the_observer_receives_what_the_heads_read() -> None:
    model = _classifier()
    seen = []
    model.attention_layers[1].observer = lambda z, mask: seen.append((z, mask))
    mask = torch.ones(2, 5, dtype=torch.bool)
    model(torch.randint(1, 50, (2, 5)), mask)
    z, received = seen[0]
    assert z.shape == (2, 5, 16) and not z.requires_grad and received is mask
    torch.testing.assert_close(z.mean(dim=-1), torch.zeros(2, 5), atol=1e-6, rtol=0)  # after the LayerNorm


def test_without_layer_norm_the_stream_is_read_as_it_is() -> None:
    model = _classifier(heads=(3,), ffn_multiplier=2.0, layer_norm=False)
    tokens = torch.randint(1, 50, (2, 5))
    x = model.embedding(tokens) + model.positions[:5]
    (layer,) = model.attention_layers
    _, into, gelu, out, _ = layer.ffn
    x = x + layer.bank(x, None)
    x = x + out(gelu(into(x)))
    torch.testing.assert_close(model(tokens, None), model.readout(x.mean(dim=1)))
    assert not any("norm" in name for name in model.state_dict())


def test_layer_norms_are_the_only_parameters_that_go() -> None:
    plain, normed = (
        {name for name, _ in _classifier(ffn_multiplier=2.0, layer_norm=present).named_parameters()}
        for present in (False, True)
    )
    gone = {name.rsplit(".", 1)[0] for name in normed - plain}
    assert plain < normed
    assert gone == {"norm", "layers.0.norm", "layers.1.norm", "layers.0.ffn.0", "layers.1.ffn.0"}


def test_architecture_counts_one_head_exactly() -> None:
    few, more = _classifier(heads=(3, 2)), _classifier(heads=(3, 3))
    assert count_parameters(more) - count_parameters(few) == few.architecture.head_parameters
    assert more.architecture.heads == (3, 3)

"""Births and prunes leave old heads, their moments and the optimiser's parameter list as they should be."""

from __future__ import annotations

import copy

import torch
from safetensors.torch import load, save
from torch.nn import functional as F

from incrt_cli.growth.birth import newborn_head
from incrt_cli.growth.surgery import HEAD_PARAMETERS, add_head, remove_head, set_heads
from incrt_cli.model.classifier import Architecture, Classifier
from incrt_cli.model.rows import capacity

MOMENTS = ("exp_avg", "exp_avg_sq")


def _trained(heads: int = 3) -> tuple[Classifier, torch.optim.AdamW, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    model = Classifier(Architecture(40, 10, 3, width=16, head_width=4, value_width=4, heads=(heads,)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    tokens, labels = torch.randint(1, 40, (8, 10)), torch.randint(0, 3, (8,))
    for _ in range(3):
        _step(model, optimizer, tokens, labels)
    return model, optimizer, tokens, labels


def _step(
    model: Classifier, optimizer: torch.optim.Optimizer, tokens: torch.Tensor, labels: torch.Tensor
) -> None:
    optimizer.zero_grad()
    F.cross_entropy(model(tokens, None), labels).backward()
    optimizer.step()


def _give_birth(model: Classifier, optimizer: torch.optim.Optimizer) -> None:
    generator = torch.Generator().manual_seed(0)
    plane, _ = torch.linalg.qr(torch.randn(16, 2, dtype=torch.float64, generator=generator))
    bank = model.attention_layers[0].bank
    add_head(bank, optimizer, newborn_head(plane, 4, 4, tokens=10.0, generator=generator))


def _moments(model: Classifier, optimizer: torch.optim.Optimizer, name: str) -> dict[str, torch.Tensor]:
    return optimizer.state[getattr(model.attention_layers[0].bank, name)]


def _assert_optimiser_holds_the_model(model: Classifier, optimizer: torch.optim.Optimizer) -> None:
    held = [id(p) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(held) == sorted(id(p) for p in model.parameters())
    assert all(any(key is p for p in model.parameters()) for key in optimizer.state)


def test_a_birth_leaves_the_function_as_it_was() -> None:
    model, optimizer, tokens, _ = _trained()
    before = model(tokens, None).detach()
    _give_birth(model, optimizer)
    assert float((model(tokens, None).detach() - before).abs().max()) <= 1e-6
    assert model.head_counts == [4]


def test_a_newborn_receives_gradient_at_the_next_step_and_all_of_it_soon() -> None:
    model, optimizer, tokens, labels = _trained()
    _give_birth(model, optimizer)
    _step(model, optimizer, tokens, labels)
    bank = model.attention_layers[0].bank
    assert float(bank.output_projection.grad[3].norm()) > 0.0
    # W_O leaves zero at the first step, W_K's zero columns at the second, W_Q's partners at the third.
    _step(model, optimizer, tokens, labels)
    _step(model, optimizer, tokens, labels)
    assert bool((bank.input_projection.grad[3].norm(dim=-1) > 0.0).all())


def test_moments_of_old_heads_survive_bit_for_bit_and_the_newborns_are_zero() -> None:
    model, optimizer, *_ = _trained()
    before = {
        name: {k: v.clone() for k, v in _moments(model, optimizer, name).items()} for name in HEAD_PARAMETERS
    }
    _give_birth(model, optimizer)
    for name in HEAD_PARAMETERS:
        after = _moments(model, optimizer, name)
        for key in ("exp_avg", "exp_avg_sq"):
            assert torch.equal(after[key][:3], before[name][key])
            assert not after[key][3].any()
        assert torch.equal(after["step"], before[name]["step"])


def test_the_optimiser_holds_exactly_the_models_parameters() -> None:
    model, optimizer, tokens, labels = _trained()
    _give_birth(model, optimizer)
    _assert_optimiser_holds_the_model(model, optimizer)
    _step(model, optimizer, tokens, labels)
    remove_head(model.attention_layers[0].bank, optimizer, 1)
    _step(model, optimizer, tokens, labels)
    _assert_optimiser_holds_the_model(model, optimizer)


def test_a_prune_keeps_the_other_heads_and_their_moments() -> None:
    model, optimizer, *_ = _trained()
    bank = model.attention_layers[0].bank
    weights = {name: getattr(bank, name).detach().clone() for name in HEAD_PARAMETERS}
    moments = {name: _moments(model, optimizer, name)["exp_avg"].clone() for name in HEAD_PARAMETERS}
    remove_head(bank, optimizer, 1)
    for name in HEAD_PARAMETERS:
        assert torch.equal(getattr(bank, name), weights[name][[0, 2]])
        assert torch.equal(_moments(model, optimizer, name)["exp_avg"], moments[name][[0, 2]])


def test_pruning_a_head_without_output_leaves_the_function_as_it_was() -> None:
    model, optimizer, tokens, _ = _trained()
    bank = model.attention_layers[0].bank
    bank.output_projection.data[1].zero_()
    before = model(tokens, None).detach()
    remove_head(bank, optimizer, 1)
    assert float((model(tokens, None).detach() - before).abs().max()) <= 1e-6


def _places(model: Classifier, optimizer: torch.optim.Optimizer) -> list[int]:
    """Where the bank's weights and moments lie in memory."""
    bank = model.attention_layers[0].bank
    moments = [_moments(model, optimizer, name)[key] for name in HEAD_PARAMETERS for key in MOMENTS]
    return [tensor.data_ptr() for tensor in (bank.input_projection, bank.output_projection, *moments)]


def test_within_capacity_a_birth_moves_nothing_and_beyond_it_the_parameters_stay_the_same_objects() -> None:
    model, optimizer, *_ = _trained(heads=3)
    parameters = list(model.parameters())
    _give_birth(model, optimizer)
    places, moves = _places(model, optimizer), 0
    for heads in range(5, 100):
        _give_birth(model, optimizer)
        assert model.head_counts == [heads]
        moves += _places(model, optimizer) != places
        places = _places(model, optimizer)
    assert moves == 5, "when 6, 12, 24, 48 and 96 heads had no further room"
    assert [id(p) for p in model.parameters()] == [id(p) for p in parameters]
    _assert_optimiser_holds_the_model(model, optimizer)


def test_old_weights_survive_births_bit_for_bit_whether_they_are_moved_or_not() -> None:
    model, optimizer, *_ = _trained()
    bank = model.attention_layers[0].bank
    before = {name: getattr(bank, name).detach().clone() for name in HEAD_PARAMETERS}
    for _ in range(5):
        _give_birth(model, optimizer)
        for name in HEAD_PARAMETERS:
            assert torch.equal(getattr(bank, name)[:3], before[name])


def test_a_model_with_room_to_spare_learns_as_one_without() -> None:
    models = []
    for spare in (True, False):
        model, optimizer, tokens, labels = _trained()
        _give_birth(model, optimizer)
        if spare:
            _poison(model, optimizer)
        else:
            for name in HEAD_PARAMETERS:
                parameter = getattr(model.attention_layers[0].bank, name)
                parameter.data = parameter.data.clone()
        for _ in range(3):
            _step(model, optimizer, tokens, labels)
        models.append(model.state_dict())
    assert all(torch.equal(models[0][name], models[1][name]) for name in models[0])


def _poison(model: Classifier, optimizer: torch.optim.Optimizer) -> None:
    """Fill the spare rows of weights and moments with NaN."""
    for name in HEAD_PARAMETERS:
        for rows in (
            getattr(model.attention_layers[0].bank, name).data,
            *_moments(model, optimizer, name).values(),
        ):
            if rows.ndim:
                assert capacity(rows) > len(rows)
                whole = rows.as_strided((capacity(rows), *rows.shape[1:]), rows.stride())
                whole[len(rows) :] = float("nan")


def test_a_gradient_fits_after_a_birth_though_an_older_graph_still_lives() -> None:
    model, optimizer, tokens, labels = _trained()
    older = F.cross_entropy(model(tokens, None), labels)
    older.backward()
    _give_birth(model, optimizer)
    F.cross_entropy(model(tokens, None), labels).backward()
    assert model.attention_layers[0].bank.input_projection.grad.shape == (4, 12, 16)
    assert older.grad_fn is not None


def test_a_prune_compacts_in_place_and_the_next_birth_takes_the_room() -> None:
    model, optimizer, *_ = _trained()
    places = _places(model, optimizer)
    remove_head(model.attention_layers[0].bank, optimizer, 0)
    assert model.head_counts == [2] and _places(model, optimizer) == places
    _give_birth(model, optimizer)
    assert model.head_counts == [3] and _places(model, optimizer) == places


def test_saved_models_and_copies_hold_live_heads_only() -> None:
    model, optimizer, *_ = _trained()
    _give_birth(model, optimizer)
    _poison(model, optimizer)
    state = model.state_dict()
    live = sum(tensor.numel() * tensor.element_size() for tensor in state.values())
    assert live < len(save(state)) < live + 2000, "weights and a header"
    again = Classifier(model.architecture)
    again.load_state_dict(load(save(state)))
    twin = copy.deepcopy(model)
    for other in (again, twin):
        assert other.head_counts == [4]
        assert all(torch.equal(other.state_dict()[name], state[name]) for name in state)
    bank = twin.attention_layers[0].bank
    assert capacity(bank.input_projection.data) == 4 and not bank.input_projection.isnan().any()


def test_set_heads_leaves_parameters_and_moments_of_that_many() -> None:
    model, optimizer, *_ = _trained()
    bank = model.attention_layers[0].bank
    for heads in (7, 2):
        set_heads(bank, optimizer, heads)
        for name in HEAD_PARAMETERS:
            assert len(getattr(bank, name)) == len(_moments(model, optimizer, name)["exp_avg"]) == heads
    _assert_optimiser_holds_the_model(model, optimizer)

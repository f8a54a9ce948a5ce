"""Births, prunes, resizes, copies and steps in any order, against a bank that is made anew at every event."""

from __future__ import annotations

import copy
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from incrt_cli.geometry.conditioning import Conditioning
from incrt_cli.growth.surgery import HEAD_PARAMETERS, add_head, remove_head, set_heads
from incrt_cli.model.head_bank import HeadBank, HeadWeights

WIDTH, RATE = 6, 0.1
MOMENTS = ("exp_avg", "exp_avg_sq")
EVENTS = st.lists(st.sampled_from(["birth", "birth", "prune", "step", "resize", "copy"]), max_size=20)


class Grown:
    """What surgery keeps: rows in storages with room to spare."""

    def __init__(self, bank: HeadBank) -> None:
        self.bank = bank
        self.optimizer = torch.optim.AdamW(bank.parameters(), lr=RATE, fused=True)

    def born(self, head: HeadWeights) -> None:
        add_head(self.bank, self.optimizer, head)

    def pruned(self, index: int) -> None:
        remove_head(self.bank, self.optimizer, index)

    def resized(self, heads: int) -> None:
        """To other sizes and back, as a resume does; then everything is loaded."""
        model, optimizer = copy.deepcopy((self.bank.state_dict(), self.optimizer.state_dict()))
        for count in (heads + 3, 1, heads):
            set_heads(self.bank, self.optimizer, count)
        self.bank.load_state_dict(model)
        self.optimizer.load_state_dict(optimizer)

    def copied(self) -> None:
        self.bank, self.optimizer = copy.deepcopy((self.bank, self.optimizer))

    def step(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for parameter in self.bank.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        self.optimizer.step()

    @property
    def held(self) -> dict[str, Tensor]:
        named = {name: getattr(self.bank, name) for name in HEAD_PARAMETERS}
        states = {name: self.optimizer.state.get(parameter, {}) for name, parameter in named.items()}
        moments = {f"{name}.{key}": s[key] for name, s in states.items() for key in MOMENTS if key in s}
        return {**self.bank.state_dict(), **moments}


class MadeAnew(Grown):
    """The same by new tensors alone: a new bank and a new optimiser at every birth and prune."""

    def born(self, head: HeadWeights) -> None:
        packed = self.bank.pack(head)
        new = dict(zip(HEAD_PARAMETERS, packed, strict=True))
        own = self.bank.correct(packed[0], head.exempt)
        if own is not None:
            new["correction"] = own
        none = {f"{name}.{key}": torch.zeros_like(new[name]) for name in HEAD_PARAMETERS for key in MOMENTS}
        self._replace({name: torch.cat([rows, {**new, **none}[name]]) for name, rows in self.held.items()})

    def pruned(self, index: int) -> None:
        kept = [head for head in range(self.bank.heads) if head != index]
        self._replace({name: rows[kept] for name, rows in self.held.items()})

    def resized(self, heads: int) -> None:
        assert heads == self.bank.heads

    def _replace(self, held: dict[str, Tensor]) -> None:
        old = self.bank
        steps = {
            name: self.optimizer.state.get(getattr(old, name), {}).get("step") for name in HEAD_PARAMETERS
        }
        heads = len(held[HEAD_PARAMETERS[0]])
        bank = HeadBank(WIDTH, old.head_width, old.value_width, heads, old.conditioning)
        bank.load_state_dict({name: rows for name, rows in held.items() if "." not in name})
        super().__init__(bank)
        for name, step in steps.items():
            if step is not None:
                moments = {key: held[f"{name}.{key}"].clone() for key in MOMENTS}
                self.optimizer.state[getattr(bank, name)] = {"step": step, **moments}


@pytest.mark.parametrize("method", [None, "svd", "diagonal"])
@given(events=EVENTS, widths=st.sampled_from([(2, 2), (3, 5), (4, 1)]), seed=st.integers(0, 2**31))
def test_weights_moments_and_corrections_are_those_of_a_bank_made_anew(
    method: Literal["diagonal", "svd"] | None, events: list[str], widths: tuple[int, int], seed: int
) -> None:
    conditioning = None if method is None else Conditioning(method, ("q", "v"), 3.0)
    keys, values = widths
    first = HeadBank(WIDTH, keys, values, 2, conditioning)
    banks = [Grown(first), MadeAnew(copy.deepcopy(first))]
    generator = torch.Generator().manual_seed(seed)
    for number, event in enumerate(events):
        shapes = ((WIDTH, keys), (WIDTH, keys), (WIDTH, values), (values, WIDTH))
        w_q, w_k, w_v, w_o = (torch.randn(shape, generator=generator) for shape in shapes)
        head = HeadWeights(w_q, w_k, w_v, w_o, exempt=("q",) if number % 2 else ())
        for one in banks:
            heads = one.bank.heads
            if event == "birth":
                one.born(head)
            elif event == "prune" and heads > 1:
                one.pruned(seed % heads)
            elif event == "step":
                one.step(seed + number)
            elif event == "resize":
                one.resized(heads)
            elif event == "copy":
                one.copied()
        grown, anew = (one.held for one in banks)
        assert grown.keys() == anew.keys()
        assert all(torch.equal(grown[name], anew[name]) for name in anew), (event, number)

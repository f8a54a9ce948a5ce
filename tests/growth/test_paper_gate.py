"""The gate on operators that stand still: it grows as predicted, then stops (METHOD §4, Theorem 6)."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.operator import DirectionalOperator, energy
from incrt_cli.growth.gate import Absorb, Grow, Prune
from incrt_cli.growth.paper_gate import PaperGate
from tests.geometry.operators import operator_with_spectrum, random_operator


def _gate(width: int, **settings: Any) -> PaperGate:
    return PaperGate(GateSection(**settings), 0, width, torch.Generator().manual_seed(0))


def _run(
    gate: PaperGate, op: DirectionalOperator, heads: int, checks: int, first: int = 1
) -> tuple[int, list[float]]:
    """`checks` checks on `op`, carrying decisions out on the gate alone; head count and ΔW of every event."""
    deltas, newest = [], heads - 1
    for step in range(first, first + checks):
        _, decision = gate.check(op, step, heads)
        if isinstance(decision, Grow):
            heads, newest = heads + 1, newest + 1
            deltas.append(gate.born(op, step, heads, newest, decision).delta_w)
        elif isinstance(decision, Prune):
            heads -= 1
            deltas.append(gate.pruned(op, step, heads, decision).delta_w)
    return heads, deltas


@pytest.mark.parametrize("tracker", ["online", "exact"])
@pytest.mark.parametrize("seed", range(3))
def test_a_stationary_operator_grows_exactly_k_greedy_heads(tracker: str, seed: int) -> None:
    op = random_operator(seed=seed)
    gate = _gate(24, tracker=tracker)
    prediction = gate.calibrate(op, energy(op), 1)
    heads, deltas = _run(gate, op, 1, checks=150)
    assert heads == prediction.k_greedy > 2
    certificate = gate.certify(op, heads)
    assert certificate.sufficient and certificate.minimal and certificate.stopped_by_itself
    assert certificate.events == len(deltas) == prediction.k_greedy - 1


def test_a_stationary_run_that_starts_with_several_heads_keeps_them_all() -> None:
    op = random_operator(seed=0)
    gate = _gate(24, tracker="exact")
    prediction = gate.calibrate(op, energy(op), 5)
    heads, _ = _run(gate, op, 5, checks=60)
    assert heads == prediction.k_greedy <= prediction.k_bound


def test_the_certificate_takes_the_threshold_of_the_present_operator() -> None:
    op = random_operator(seed=0)
    gate = _gate(24, threshold="current", growth_fraction=0.1)
    gate.calibrate(op, energy(op), 1)
    stronger = DirectionalOperator(10.0 * op.second_moment, op.left, op.right)
    assert gate.certify(stronger, 1).theta == pytest.approx(0.1 * energy(stronger))


@pytest.mark.parametrize("seed", range(3))
def test_every_event_lowers_w_by_delta_and_their_number_is_bounded(seed: int) -> None:
    op = random_operator(seed=seed)
    gate = _gate(24, tracker="exact", growth_fraction=0.05)
    gate.calibrate(op, energy(op), 1)
    heads, deltas = _run(gate, op, 1, checks=60)
    certificate = gate.certify(op, heads)
    theta, phi = certificate.theta, certificate.phi_g
    assert all(delta <= -0.5 * (theta**2 - phi**2) for delta in deltas)
    assert certificate.events <= certificate.event_limit
    # The account closes: W's change is that of the events, and nothing drifted.
    assert certificate.w_end - certificate.w_start == pytest.approx(certificate.w_events)
    assert certificate.w_drift == pytest.approx(0.0, abs=1e-9 * certificate.w_start)


def test_a_head_whose_plane_lost_its_energy_is_pruned_after_its_patience() -> None:
    gate = _gate(8, tracker="exact", growth_fraction=0.2, prune_patience=3)
    full = operator_with_spectrum([4.0, 3.0, 2.0, 0.1])
    gate.calibrate(full, energy(full), 1)
    heads, _ = _run(gate, full, 1, checks=10)
    assert heads == 4
    faded = operator_with_spectrum([4.0, 3.0, 0.0, 0.1])  # same planes, the third without energy
    heads, deltas = _run(gate, faded, heads, checks=2, first=11)
    assert heads == 4, "still patient"
    heads, deltas = _run(gate, faded, heads, checks=1, first=13)
    assert heads == 3 and deltas[0] < 0.0
    assert gate.certify(faded, heads).minimal


def test_an_undone_prune_waits_for_another_patience() -> None:
    gate = _gate(8, tracker="exact", growth_fraction=0.2, prune_patience=2)
    full, faded = operator_with_spectrum([4.0, 3.0, 2.0, 0.1]), operator_with_spectrum([4.0, 3.0, 0.0, 0.1])
    gate.calibrate(full, energy(full), 1)
    heads, _ = _run(gate, full, 1, checks=10)
    decisions = []
    for step in range(11, 16):
        _, decision = gate.check(faded, step, heads)
        decisions.append(isinstance(decision, Prune))
        if isinstance(decision, Prune):
            gate.kept(decision)
    assert decisions == [False, True, False, True, False]
    assert not gate.certify(faded, heads).minimal


def test_dwell_and_max_heads_hold_growth_back() -> None:
    op = random_operator()
    patient, capped = _gate(24, tracker="exact", dwell=4), _gate(24, tracker="exact", max_heads=3)
    for gate in (patient, capped):
        gate.calibrate(op, energy(op), 1)
    assert _run(patient, op, 1, checks=9)[0] == 4  # births at checks 1, 5 and 9
    heads, _ = _run(capped, op, 1, checks=20)
    certificate = capped.certify(op, heads)
    assert heads == 3 and not certificate.sufficient and not certificate.stopped_by_itself


def test_a_growing_operator_outgrows_the_initial_threshold_but_not_the_current_one() -> None:
    op = random_operator()
    scaled = DirectionalOperator(op.second_moment * 3.0, op.left, op.right)
    grown = {}
    for threshold in ("initial", "current"):
        gate = _gate(24, tracker="exact", threshold=threshold)
        gate.calibrate(op, energy(op), 1)
        grown[threshold], _ = _run(gate, scaled, 1, checks=40)
    predicted = _gate(24).calibrate(op, energy(op), 1).k_greedy
    assert grown["current"] == predicted < grown["initial"]


def test_growth_ends_where_the_width_does() -> None:
    op = operator_with_spectrum([4.0, 3.0, 2.0, 1.0])
    gate = _gate(8, tracker="online", growth_fraction=0.01)
    gate.calibrate(op, energy(op), 1)
    heads, _ = _run(gate, op, 1, checks=30)
    assert heads == 5  # four planes fill eight dimensions
    assert gate.certify(op, heads).sufficient


def test_the_trackers_error_is_reported_at_exact_looks() -> None:
    op = random_operator()
    gate = _gate(24, tracker="online", tracker_iterations=1)
    gate.calibrate(op, energy(op), 1)
    checks = [gate.check(op, step, 1)[0] for step in range(1, 11)]
    assert all((check.tracker_error is not None) == check.exact for check in checks)
    assert any(check.exact for check in checks)
    assert gate.certify(op, 1).tracker_error == max(c.tracker_error for c in checks if c.exact)


def _stationary_level_two(share: float, head_width: int = 8) -> tuple[PaperGate, int, int, list[float]]:
    """One head whose operator stands still: planes captured by it, heads born, ΔW of every event."""
    op = random_operator(heads=1, head_width=head_width)
    gate = _gate(24, tracker="exact", attribution=share, growth_fraction=0.2)
    gate.calibrate(op, energy(op), 1)
    heads, absorbed, deltas = 1, 0, []
    for step in range(1, 40):
        _, decision = gate.check(op, step, heads)
        if isinstance(decision, Absorb):
            assert decision.head == 0
            absorbed += 1
            deltas.append(gate.absorbed(op, step, heads, decision).delta_w)
        elif isinstance(decision, Grow):
            # No newborn joins the operator: it stands still, and all of it is the first head's.
            break
    return gate, absorbed, heads, deltas


def test_a_head_captures_the_planes_that_are_its_own_and_none_is_born() -> None:
    gate, absorbed, heads, deltas = _stationary_level_two(share=0.5)
    assert absorbed > 1 and heads == 1
    assert all(delta < 0.0 for delta in deltas)
    certificate = gate.certify(random_operator(heads=1, head_width=8), heads)
    assert certificate.sufficient and certificate.planes == absorbed == certificate.events


def test_a_head_captures_no_more_planes_than_its_form_can_turn() -> None:
    _, absorbed, _, _ = _stationary_level_two(share=0.5, head_width=4)
    assert absorbed == 2


def test_a_direction_that_no_head_holds_enough_of_is_born() -> None:
    op = random_operator(heads=3)
    gate = _gate(24, tracker="exact", attribution=1.0)
    gate.calibrate(op, energy(op), 3)
    assert isinstance(gate.check(op, 1, 3)[1], Grow)


def test_the_last_head_is_never_pruned_though_its_planes_have_faded() -> None:
    op = random_operator(heads=1)
    gate = _gate(24, tracker="exact", attribution=0.1, prune_patience=1)
    gate.calibrate(op, energy(op), 1)
    _, decision = gate.check(op, 1, 1)
    assert isinstance(decision, Absorb)
    gate.absorbed(op, 1, 1, decision)
    faded = DirectionalOperator(1e-6 * op.second_moment, op.left, op.right)
    assert not any(isinstance(gate.check(faded, step, 1)[1], Prune) for step in range(2, 6))


def test_a_look_projects_heads_where_every_plane_is_a_heads() -> None:
    op = random_operator()
    for attribution, told in ((None, True), (0.5, False)):
        gate = _gate(24, tracker="exact", attribution=attribution)
        predicted = gate.calibrate(op, energy(op), 3).k_greedy
        check, _ = gate.check(op, 1, 3)
        assert check.projected == (predicted if told else None)


def test_the_balance_of_a_birth_follows_the_gaps_at_both_ends() -> None:
    op = operator_with_spectrum([4.0, 1.0, 0.9, 0.8])  # equal gaps above and below
    gate = _gate(8, tracker="online", operator=True, confirm=False)
    gate.calibrate(op, energy(op), 1)
    _, decision = gate.check(op, 1, 1)
    assert isinstance(decision, Grow) and decision.balance == pytest.approx(0.5)

"""The gate on operators that stand still: it grows as predicted, then stops (METHOD §4, Theorem 6)."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.operator import DirectionalOperator, energy
from incrt_cli.growth.gate import Grow, Prune
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

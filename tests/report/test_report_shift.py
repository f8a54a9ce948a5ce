"""The account of W, and what a shifted run's report says of both sides."""

from __future__ import annotations

import json

from incrt_cli.report.shift import shift_tables
from incrt_cli.report.single import functional_table
from incrt_cli.rundir import read_run
from tests.report.conftest import CERTIFICATE

ACCOUNT = {"w_start": 8.0, "w_events": -3.0, "w_drift": 1.0, "w_end": 6.0, "event_limit": 40.4}


def _event(kind, step, delta=-0.5, **more):
    return {"kind": kind, "step": step, "layer": 0, "head": 2, "delta_w": delta, **more}


def _with(run, **files):
    for name, rows in files.items():
        (run.path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_run(run.path)


def test_the_account_of_w_counts_events_that_did_not_lower_it(make_run):
    run = make_run(certificate=[CERTIFICATE | ACCOUNT | {"events": 3}])
    events = [
        _event("birth", 10),
        _event("prune", 20, 0.0),
        _event("birth", 30),
        _event("prune_undone", 40, 0.0),
        _event("capture", 50),
        _event("capture", 60, 0.0),
    ]
    table = functional_table(_with(run, events=events))
    assert table.rows == (("0", "8", "-3", "1", "75.0", "25.0", "6", "3", "40", "2 of 5"),)


def test_a_static_model_or_a_gate_without_energy_has_no_account(make_run):
    assert functional_table(make_run("static", certificate=[])) is None
    assert functional_table(make_run("other", certificate=[CERTIFICATE | {"w_start": None}])) is None


def test_a_stationary_run_has_no_tables_of_a_shift(make_run):
    assert shift_tables(make_run()) == []


def test_accuracy_is_that_just_before_just_after_and_at_the_end(make_run):
    looks = [
        {"kind": "evaluation", "step": step, "population": name, "accuracy": accuracy}
        for step, pair in ((0, (0.2, 0.2)), (50, (0.9, 0.3)), (60, (0.8, 0.7)), (100, (0.6, 0.95)))
        for name, accuracy in zip(("before", "after"), pair, strict=True)
    ]
    tested = {"before": {"accuracy": 0.55}, "after": {"accuracy": 0.9}}
    run = _with(make_run(steps=100, shift={"step": 50, "populations": tested}), metrics=looks)
    assert shift_tables(run)[0].rows == (
        ("just before the shift", "50", "90.0", "30.0"),
        ("just after", "60", "80.0", "70.0"),
        ("at the end", "100", "60.0", "95.0"),
        ("at the end, test records", "100", "55.0", "90.0"),
    )


def test_events_are_counted_on_their_side_and_prunes_stand_with_what_they_cost(make_run):
    checks = [
        {"kind": "check", "step": step, "layer": 0, "releases": {"2": release}}
        for step, release in ((40, 0.9), (50, 0.75), (60, 0.3))
    ]
    cost = {"release": 0.25, "phi_g": 0.3, "loss_before": 0.01, "loss_after": 0.02}
    events = [
        _event("birth", 50), _event("birth", 60), _event("birth", 70), _event("prune_undone", 60, **cost),
        _event("prune", 80, **cost), _event("capture", 40), _event("layer", 90, None),
    ]  # fmt: skip
    run = make_run(shift={"step": 50, "populations": {}})
    _, counts, prunes = shift_tables(_with(run, metrics=checks, events=events))
    assert counts.rows == (
        ("births", "1", "2"),
        ("captures", "1", "0"),
        ("layers", "0", "1"),
        ("prunes", "0", "1"),
        ("prunes undone", "0", "1"),
    )
    assert prunes.rows[1] == ("pruned", "80", "0", "2", "0.75", "0.25", "0.3", "0.0100", "0.0200")
    assert prunes.rows[0][:2] == ("undone", "60")

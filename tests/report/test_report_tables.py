"""What the tables say of a run."""

from __future__ import annotations

import pytest

from incrt_cli.report.depth import depth_table
from incrt_cli.report.published import SST2, published_table, published_task
from incrt_cli.report.render import report_tables
from incrt_cli.report.results import cost_table, heads_table, results_table, stop_table
from incrt_cli.report.rows import run_row
from incrt_cli.report.single import certificate_table, classes_table
from incrt_cli.report.table import Table, to_markdown
from incrt_cli.rundir import RunWriter, read_run
from tests.report.conftest import CERTIFICATE


def by_column(table: Table, row: int = 0) -> dict[str, str]:
    return dict(zip(table.columns, table.rows[row], strict=True))


def test_accuracy_stands_with_its_error_its_support_and_what_is_easily_had(make_run):
    assert by_column(results_table([make_run()])) == {
        "run": "demo",
        "accuracy % (n)": "90.0 ± 1.5 (400)",
        "macro-F1 %": "85.0",
        "classes": "1",
        "majority %": "25.0",
        "unseen % (n)": "88.0 (300)",
        "baseline %": "87.5 (k-mer counts)",
    }


def test_the_cost_is_parameters_epochs_steps_seconds_and_padding(make_run):
    run = make_run(config={"train": {"epochs": 2.5}})
    assert cost_table([run]).rows == (("demo", "100,000", "123,456", "2.5", "1,052", "61.2", "2.1"),)


def test_what_was_not_measured_is_a_dash(make_run):
    row = by_column(results_table([make_run(baseline=None, unseen=None, macro_f1=None, per_class=None)]))
    assert {row["baseline %"], row["unseen % (n)"], row["macro-F1 %"], row["classes"]} == {"–"}


def test_a_perfect_score_is_not_sold_as_certain(make_run):
    assert any("3/n" in note for note in results_table([make_run(accuracy=1.0)]).notes)
    assert not any("3/n" in note for note in results_table([make_run()]).notes)


def test_a_damaged_part_of_a_finished_run_is_named(make_run):
    run = make_run()
    (run.path / "prediction.json").unlink()
    assert "demo: prediction.json is missing." in results_table([read_run(run.path)]).notes


def test_predicted_heads_stand_beside_the_grown(make_run):
    row = by_column(heads_table([make_run()]))
    assert [row[key] for key in ("k_law", "k_greedy", "k_bound", "heads", "heads / k_law")] == [
        "14.4", "11", "31", "12", "0.83",
    ]  # fmt: skip
    assert row["predicted first"] == "yes"


def test_a_static_model_predicts_nothing_first(make_run):
    run = make_run(growing=False)
    RunWriter(run.path).write_prediction({"layers": [], "k_law": None, "k_greedy": None, "k_bound": None})
    assert by_column(heads_table([read_run(run.path)]))["predicted first"] == "–"


@pytest.mark.parametrize(
    "changes, stop",
    [
        ({}, "by itself"),
        ({"stopped_by_itself": False}, "training ended"),
        ({"growing": False}, "static model"),
        ({"stopped_by_itself": None}, "–"),
    ],
)
def test_how_growth_ended_is_said(make_run, changes, stop):
    row = by_column(stop_table([make_run(**changes)]))
    assert row["growth stopped"] == stop
    assert (row["sufficient"], row["minimal"], row["last event"], row["of steps"]) == (
        "yes",
        "yes",
        "240",
        "1,052",
    )


def test_minimal_means_nothing_where_no_head_owns_a_plane(make_run):
    empty = CERTIFICATE | {"min_release": None}
    cells = [
        by_column(stop_table([make_run(certificate=layers)]))["minimal"]
        for layers in ([empty, empty], [empty, CERTIFICATE], [])
    ]
    assert cells == ["–", "yes", "yes"]
    table = certificate_table(make_run(certificate=[empty, CERTIFICATE]))
    assert table is not None and [by_column(table, row)["minimal"] for row in (0, 1)] == ["–", "yes"]
    assert run_row(make_run(certificate=[empty]))["minimal"] is True


def test_permuted_labels_are_marked_in_every_line(make_run):
    run = make_run(permuted_labels=True)
    assert results_table([run]).rows[0][0] == heads_table([run]).rows[0][0] == "demo (permuted labels)"


def test_the_certificate_has_a_line_per_layer(make_run):
    table = certificate_table(make_run())
    assert table is not None
    row = by_column(table)
    assert (row["λ_max"], row["θ"], row["sufficient"]) == ("0.91", "1", "yes")
    assert (row["least release energy"], row["φ_g"], row["captured share %"]) == ("1.4", "0.5", "87.5")


def test_many_classes_are_cut_to_the_twenty_largest_and_it_is_said(make_run):
    classes = [
        {"label": f"c{i}", "precision": 1.0, "recall": 0.5, "f1": 0.667, "support": i} for i in range(1, 26)
    ]
    table = classes_table(make_run(per_class=classes))
    assert table is not None and len(table.rows) == 20
    assert table.rows[0] == ("c25", "25", "100.0", "50.0", "66.7")
    assert table.notes == ("The 20 largest of 25 classes; the other 5 have 15 test records together.",)


def test_classes_and_certificate_are_for_a_single_run(make_run):
    one, two = make_run(), make_run()
    both, single = report_tables([one, two]), report_tables([one])
    alone = [table.title for table in single if table.title not in {table.title for table in both}]
    assert alone == ["Certificate per layer", "Classes"]


def test_incomplete_and_foreign_folders_are_listed_with_the_reason(make_run, foreign):
    runs = [make_run(), make_run("stopped", finished=False), read_run(foreign)]
    tables = report_tables(runs)
    assert tables[-1].rows == (
        ("stopped", "incomplete", "result.json is missing: the run has not finished"),
        ("holiday", "foreign", "holds no config.yaml or environment.json of an incrt run"),
    )
    assert [row[0] for row in tables[0].rows] == ["demo"]


def test_published_figures_stand_before_our_runs_of_the_same_task(make_run):
    sst2 = {"data": {"kind": "text", "path": "data/SST-2"}}
    table = published_table([make_run("ours", config=sst2, accuracy=0.7615, test_records=872)])
    assert table is not None and {row[0] for row in table.rows} == {SST2}
    lines = table.rows
    assert lines[0][2:6] == ("160", "142", "0.89", "76.15")
    assert lines[-1][1:6] == ("this report: ours", "14.4", "12", "0.83", "76.15 ± 1.44 (872)")


def test_other_texts_and_permuted_labels_have_no_published_counterpart(make_run):
    other = make_run("other", config={"data": {"kind": "text", "hub": "imdb"}})
    permuted = make_run("permuted", permuted_labels=True)
    assert published_task(other) is None
    assert published_table([other, permuted]) is None
    assert "Published figures beside ours" not in {table.title for table in report_tables([other, permuted])}


def test_markdown_keeps_one_line_per_row_whatever_a_name_holds():
    text = to_markdown([Table("T", ("run", "x"), (("a|b\nc", "1"),), ("note",))])
    assert text == "## T\n\n| run | x |\n|---|---:|\n| a\\|b c | 1 |\n\nnote\n"


def test_the_depth_table_has_only_runs_in_which_layers_may_come(make_run) -> None:
    flat = make_run()
    deep = make_run(
        layers=3, layers_start=1, heads_per_layer=[4, 2, 1], layer_steps=[400, 1200], deep_enough=True
    )
    assert depth_table([flat]) is None
    (row,) = depth_table([flat, deep]).rows
    assert row[1:] == ("1", "3", "4, 2, 1", "400, 1,200", "yes")


def test_there_is_no_ratio_to_a_prediction_of_fewer_layers(make_run) -> None:
    assert run_row(make_run(layers=1, layers_start=1))["ratio"] == pytest.approx(12 / 14.4)
    assert run_row(make_run(layers=2, layers_start=1))["ratio"] is None

"""Tables and drawing of a bench from figures that were made up."""

from __future__ import annotations

from typing import Any

from incrt_cli.report.bench import bench_tables, measurement_rows
from incrt_cli.report.bench_curves import curves_svg

ROW = {
    "part": "layer", "what": "bank", "shape": {"d": 8, "K": 2}, "unit": "s", "q1": 0.5, "median": 1.0,
    "q3": 2.0, "repetitions": 15, "ratio": 1.25, "against": "torch",
}  # fmt: skip


def made_up() -> dict[str, Any]:
    points = [{"x": x, "seconds": s, "q1": s, "q3": s, "relative": s} for x, s in ((1, 1.0), (10, 100.0))]
    return {
        "layer_ratio": 1.25,
        "run_ratio": None,
        "measurements": [ROW],
        "curves": {"heads": points},
        "curve_exponents": {"heads": 2.0},
        "environment": {"device": "cpu", "threads": 1, "cpu_count": 2, "load": 3.5},
    }


def test_a_part_that_was_left_out_has_no_line_and_is_not_zero() -> None:
    first, layer, curves = bench_tables(made_up())
    assert [row[0] for row in first.rows] == ["layer_ratio"] and first.rows[0][2] == "1.25"
    assert "load 3.5" in first.notes[1]
    expected = ("bank", "d=8 K=2", "s", "1", "0.5", "2", "15", "1.25", "torch")
    assert layer.title == "Measured: layer" and layer.rows == (expected,)
    assert curves.rows[1][-1] == "100" and "e = heads 2" in curves.notes[0]
    assert measurement_rows(made_up())[0]["shape"] == "d=8 K=2"


def test_a_curve_steeper_than_its_variable_leaves_the_dashed_line_below() -> None:
    drawing = curves_svg(made_up())
    dashed, curve = (
        line.split('points="')[1].split('"')[0] for line in drawing.splitlines() if "poly" in line
    )
    ends = [[float(pair.split(",")[1]) for pair in path.split()] for path in (dashed, curve)]
    assert ends[0][0] == ends[1][0] and ends[1][1] < ends[0][1] < ends[0][0]  # SVG counts downwards
    assert "e = 2.00" in drawing

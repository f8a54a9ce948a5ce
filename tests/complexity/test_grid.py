"""Depth and width of random BERT shapes: which factor grows how fast."""

from __future__ import annotations

import math

import pytest

from incrt_cli.complexity.figures import totals
from incrt_cli.complexity.grid import (
    growth_exponents,
    measure_grid,
    parse_grid,
    random_bert_layers,
    slope,
)
from incrt_cli.complexity.weights import GELU, ModelWeights, measure
from incrt_cli.errors import UserError


def test_b_adaptive_grows_slower_than_b_norm_in_depth_and_width():
    exponents = {
        (row["factor"], row["in"]): row["exponent"]
        for row in growth_exponents(measure_grid([1, 2, 4], [256, 384], seed=0))
        if row["at"] is None
    }
    assert exponents["b_adaptive", "L"] < exponents["b_norm", "L"]
    assert exponents["b_adaptive", "H"] < exponents["b_norm", "H"]


def test_a_point_of_the_grid_is_the_model_of_its_shape_and_seed():
    (point, _) = measure_grid([2, 3], [64], seed=5)
    alone = measure(ModelWeights("alone", 64, GELU, random_bert_layers(2, 64, seed=5))).complexity
    assert totals(point.complexity) == totals(alone)
    assert totals(measure_grid([2], [64], seed=6)[0].complexity) != totals(alone)


def test_weights_are_initialised_as_bert_does():
    (layer,) = random_bert_layers(1, 128, seed=0)
    assert layer.w_q.shape == (2, 128, 64) and layer.m_in.shape == (128, 512)
    assert float(layer.m_in.std()) == pytest.approx(0.02, rel=0.02)


def test_a_power_law_has_its_exponent_and_no_error():
    lines = [[(math.log(x), math.log(a * x**1.5)) for x in (2, 4, 8)] for a in (1.0, 7.0)]
    assert slope(lines) == pytest.approx((1.5, 0.0), abs=1e-7)


def test_the_standard_error_is_that_of_least_squares():
    # By hand: x̄ = 1, Sxx = 2, b = 1, residuals (1, −2, 1)/3, s² = 2/3 over one degree of freedom.
    assert slope([[(0.0, 0.0), (1.0, 0.0), (2.0, 2.0)]]) == pytest.approx((1.0, math.sqrt(1 / 3)))


@pytest.mark.parametrize("line, fit", [([(0.0, 1.0)], None), ([(0.0, 1.0), (1.0, 3.0)], (2.0, None))])
def test_too_few_points_have_no_slope_or_no_error(line, fit):
    assert slope([line]) == fit


def test_a_grid_is_sorted_and_repeats_nothing():
    assert parse_grid(["H=128,64,128", "L=2"]) == ([2], [64, 128])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["L=2"], "H missing"),
        ([], "L and H missing"),
        (["L=2", "L=3", "H=64"], "'L=3'"),
        (["L=0", "H=64"], "'L=0': expected one L="),
        (["L=2,", "H=64"], "'L=2,'"),
        (["L=2", "H=100"], "H=100 is no multiple of 64"),
        (["L=2", "W=64"], "'W=64'"),
    ],
)
def test_a_grid_that_cannot_be_measured_is_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        parse_grid(arguments)

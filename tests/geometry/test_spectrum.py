"""Signs of eigenvectors, which no decomposition fixes (METHOD §2)."""

from __future__ import annotations

import torch

from incrt_cli.geometry.capture import capture_plane, empty_capture
from incrt_cli.geometry.operator import apply
from incrt_cli.geometry.spectrum import oriented, residual_spectrum
from tests.geometry.operators import random_operator


def test_a_vector_and_its_opposite_are_oriented_alike() -> None:
    vectors = torch.randn(12, 5, dtype=torch.float64)
    assert torch.equal(oriented(vectors), oriented(-vectors))
    assert torch.equal(oriented(vectors).abs(), vectors.abs())
    assert bool((oriented(vectors).max(dim=0).values == vectors.abs().max(dim=0).values).all())


def test_eigenvectors_outside_a_captured_plane_stay_eigenvectors() -> None:
    op = random_operator()
    basis = capture_plane(empty_capture(24), 0, torch.randn(24, 2, dtype=torch.float64)).basis
    values, vectors = residual_spectrum(op, basis)
    assert torch.equal(vectors, oriented(vectors))
    torch.testing.assert_close(vectors.T @ apply(op, vectors), torch.diag(values), rtol=0.0, atol=1e-9)


def test_a_space_that_is_captured_whole_has_no_vectors() -> None:
    assert oriented(torch.empty(4, 0)).shape == (4, 0)

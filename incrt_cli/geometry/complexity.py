"""Leading complexity factors of a trained transformer (METHOD §10; SAB, and Edelman et al. 2022).

    α_ℓ        = Π_{k>ℓ} L_φ s(M_in) s(M_out) Σ_h s(V^h) (1 + 4 s(QK^h))
    B_adaptive = Σ_matrices min_p contribution(p) + √L
    B_norm     = (1 + Σ_ℓ α_ℓ^{2/3} ξ_ℓ)^{3/2}

QK = W_Q W_Kᵀ, V = W_V W_O. Products over layers are kept as logarithms: they leave the range of a float.
They are no numeric risk bounds: residuals, LayerNorm and embeddings are outside the theory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from incrt_cli.geometry.low_rank import MatrixSpectrum


@dataclass(frozen=True)
class LayerSpectra:
    """One layer: `qk[h]` and `v[h]` per head; `m_in` and `m_out` are None without a feed-forward block."""

    qk: Sequence[MatrixSpectrum]
    v: Sequence[MatrixSpectrum]
    m_in: MatrixSpectrum | None = None
    m_out: MatrixSpectrum | None = None

    @property
    def gains(self) -> tuple[float, float]:
        """`s(M_in)`, `s(M_out)`; 1 without a feed-forward block."""
        return (self.m_in.norm if self.m_in else 1.0, self.m_out.norm if self.m_out else 1.0)


@dataclass(frozen=True)
class Term:
    """One matrix's part of B_adaptive: `value` at the Schatten index `p` where it is least."""

    layer: int
    matrix: str  # QK, V, M_in or M_out
    p: float
    value: float
    spectrum: MatrixSpectrum


@dataclass(frozen=True)
class Complexity:
    """Both factors of one model; `log_b_norm` is natural and finite where `b_norm` is not."""

    b_adaptive: float
    log_b_norm: float
    terms: tuple[Term, ...]

    @property
    def b_norm(self) -> float:
        return _exp(self.log_b_norm)

    @property
    def ratio(self) -> float:
        """`B_norm / B_adaptive`."""
        return _exp(self.log_b_norm - math.log(self.b_adaptive))


def complexity(layers: Sequence[LayerSpectra], width: int, lipschitz: float) -> Complexity:
    """B_adaptive and B_norm of `layers` (first to last), N = `width`, L_φ = `lipschitz`."""
    alphas = log_amplifications(layers, lipschitz)
    grid = schatten_indices(len(layers), width)
    terms: list[Term] = []
    for index, (layer, alpha) in enumerate(zip(layers, alphas, strict=True)):
        for matrix, gain, spectrum in _gains(layer):
            scale = _log(gain) + alpha + math.log(len(layers))
            values = contributions(spectrum, scale, width, grid)
            best = int(values.argmin())
            terms.append(Term(index, matrix, float(grid[best]), float(values[best]), spectrum))
    b_adaptive = math.fsum(term.value for term in terms) + math.sqrt(len(layers))
    return Complexity(b_adaptive, _log_norm_based(layers, alphas), tuple(terms))


def schatten_indices(depth: int, width: int) -> Tensor:
    """p ∈ {0, 1/m, …, 2} with m = ⌈L + ln N⌉."""
    m = math.ceil(depth + math.log(width))
    return torch.arange(2 * m + 1, dtype=torch.float64) / m


def contributions(spectrum: MatrixSpectrum, scale: float, width: int, p: Tensor) -> Tensor:
    """`(Σσ^p)^{1/(p+2)} (g α L)^{p/(p+2)} N^{(p+1)/(p+2)}` for every index `p`; `scale` = ln(g α L)."""
    power_sums = spectrum.values[:, None].pow(p).sum(dim=0)
    # At p = 0 the factor is 1 even where g α L = 0, whose logarithm times 0 would be no number.
    scaled = torch.where(p > 0, p * scale, torch.zeros_like(p))
    return ((power_sums.log() + scaled + (p + 1) * math.log(width)) / (p + 2)).exp()


def log_amplifications(layers: Sequence[LayerSpectra], lipschitz: float) -> list[float]:
    """`ln α_ℓ` of every layer: by how much the layers after it stretch a difference; −∞ for 0."""
    alphas = [0.0]
    for layer in reversed(layers[1:]):
        gain_in, gain_out = layer.gains
        attention = math.fsum(v.norm * (1.0 + 4.0 * qk.norm) for qk, v in zip(layer.qk, layer.v, strict=True))
        slope = lipschitz if layer.m_in else 1.0
        alphas.append(alphas[-1] + _log(slope * gain_in * gain_out * attention))
    return alphas[::-1]


def _gains(layer: LayerSpectra) -> list[tuple[str, float, MatrixSpectrum]]:
    """Every matrix of a layer with its g."""
    gain_in, gain_out = layer.gains
    after = gain_in * gain_out
    matrices = [("QK", 2.0 * v.norm * after, qk) for qk, v in zip(layer.qk, layer.v, strict=True)]
    matrices += [("V", after, v) for v in layer.v]
    if layer.m_in and layer.m_out:
        matrices += [("M_in", gain_out, layer.m_in), ("M_out", 1.0, layer.m_out)]
    return matrices


def _log_norm_based(layers: Sequence[LayerSpectra], alphas: Sequence[float]) -> float:
    logs = [2.0 / 3.0 * alpha + _log(_xi(layer)) for layer, alpha in zip(layers, alphas, strict=True)]
    return 1.5 * float(torch.logsumexp(torch.tensor([0.0, *logs], dtype=torch.float64), dim=0))


def _xi(layer: LayerSpectra) -> float:
    gain_in, gain_out = layer.gains
    after = gain_in * gain_out
    norms = [after * v.norm * qk.column_norm for qk, v in zip(layer.qk, layer.v, strict=True)]
    norms += [after * v.column_norm for v in layer.v]
    if layer.m_in and layer.m_out:
        norms += [gain_out * layer.m_in.column_norm, layer.m_out.column_norm]
    return math.fsum(norm ** (2.0 / 3.0) for norm in norms)


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf

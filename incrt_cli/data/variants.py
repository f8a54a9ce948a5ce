"""Synthetic genomes: a reference, variants of it, and what sequencing makes of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrt_cli.config.schema import SyntheticData
from incrt_cli.errors import UserError

Bases = npt.NDArray[np.uint8]  # ASCII letters
Ints = npt.NDArray[np.int64]
_LETTERS = np.frombuffer(b"ACGT", dtype=np.uint8)
_COMPOSITION = (0.299, 0.184, 0.196, 0.321)  # of SARS-CoV-2
_SPIKE, _GENOME = (21563, 25384), 29903
_LONGEST_DELETION = 9
_LONGEST_N_RUN = 1 / 75  # of the genome: 398 nt of a whole one
_TRIES = 100


def _others() -> npt.NDArray[np.uint8]:
    """Row b: the three bases that are not b."""
    table = np.zeros((256, 3), dtype=np.uint8)
    for letter in _LETTERS:
        table[letter] = _LETTERS[_LETTERS != letter]
    return table


def _ambiguous() -> npt.NDArray[np.uint8]:
    """Row b: the three IUPAC codes for b or one other base."""
    table = np.zeros((256, 3), dtype=np.uint8)
    for letter, codes in zip(b"ACGT", (b"RWM", b"YSM", b"RSK", b"YWK"), strict=True):
        table[letter] = list(codes)
    return table


_OTHERS, _AMBIGUOUS = _others(), _ambiguous()


def make_reference(settings: SyntheticData, rng: np.random.Generator) -> Bases:
    return rng.choice(_LETTERS, size=settings.genome_length, p=_COMPOSITION)


def spike_window(length: int) -> tuple[int, int]:
    """1-based, inclusive coordinates of the spike gene, scaled to a genome of `length`."""
    return (_SPIKE[0] - 1) * length // _GENOME + 1, _SPIKE[1] * length // _GENOME


def make_variants(reference: Bases, settings: SyntheticData, rng: np.random.Generator) -> list[Bases]:
    """`settings.variants` different genomes. Raises UserError when there is no room for that many."""
    found: dict[bytes, Bases] = {}
    # Two draws can agree in a short genome with few mutations; equal variants could not be told apart.
    for _ in range(settings.variants + _TRIES):
        variant = _mutated(reference, settings, rng)
        found.setdefault(variant.tobytes(), variant)
        if len(found) == settings.variants:
            return list(found.values())
    raise UserError(
        f"data.genome_length = {settings.genome_length} with data.substitutions = {settings.substitutions} "
        f"has no room for data.variants = {settings.variants} different variants"
    )


def _mutated(reference: Bases, settings: SyntheticData, rng: np.random.Generator) -> Bases:
    """Half of the deletions and, rounded up, of the substitutions are in the spike-like window."""
    inside = np.zeros(len(reference), dtype=bool)
    start, end = spike_window(len(reference))
    inside[start - 1 : end] = True
    genome, kept = reference.copy(), np.ones(len(reference), dtype=bool)
    in_window = settings.deletions // 2
    for window, count in ((inside, in_window), (~inside, settings.deletions - in_window)):
        for start in rng.choice(np.flatnonzero(window)[:-_LONGEST_DELETION], count):
            kept[start : start + 3 * rng.integers(1, _LONGEST_DELETION // 3 + 1)] = False
    in_window = (settings.substitutions + 1) // 2
    for window, count in ((inside, in_window), (~inside, settings.substitutions - in_window)):
        _substitute(genome, np.flatnonzero(window & kept), count, rng)
    return genome[kept]


def _substitute(genome: Bases, sites: Ints, count: int, rng: np.random.Generator) -> None:
    if count > len(sites):
        raise UserError(
            f"data.substitutions and data.deletions ask for more sites than a genome of "
            f"data.genome_length = {len(genome)} has ({count} of {len(sites)} in one window)"
        )
    chosen = rng.choice(sites, count, replace=False)
    genome[chosen] = _OTHERS[genome[chosen], rng.integers(3, size=count)]


def sequenced(variant: Bases, settings: SyntheticData, rng: np.random.Generator) -> Bases:
    """One genome of `variant`: private mutations, ambiguity codes, and runs of N where reads were missing."""
    genome = variant.copy()
    for rate, table in ((settings.mutation_rate, _OTHERS), (settings.ambiguity_rate, _AMBIGUOUS)):
        sites = rng.integers(len(genome), size=rng.binomial(len(genome), rate))
        genome[sites] = table[genome[sites], rng.integers(3, size=len(sites))]
    longest = max(int(len(genome) * _LONGEST_N_RUN), 1)
    for start in rng.integers(len(genome), size=settings.n_runs):
        genome[start : start + rng.integers(1, longest + 1)] = ord("N")
    return genome

"""Random genomes, and their relatives with the mutations that made them."""

from __future__ import annotations

import random

APART = 100


def random_genome(generator: random.Random, length: int) -> bytes:
    return bytes(generator.choices(b"ACGT", k=length))


def mutated(generator: random.Random, reference: bytes) -> tuple[bytes, list[str]]:
    """A relative of `reference`, and its mutations in Nextclade's notation, gaps as far left as possible."""
    parts, mutations, done = [], [], 0
    for base in range(APART, len(reference) - APART, APART):
        at = base + generator.randrange(APART // 2)
        parts.append(reference[done:at])
        done = at
        kind = generator.choice(["substitution", "deletion", "insertion", "none"])
        length = generator.randint(1, 12)
        if kind == "substitution":
            letter = generator.choice([letter for letter in b"ACGT" if letter != reference[at]])
            parts.append(bytes([letter]))
            mutations.append(f"{reference[at]:c}{at + 1}{letter:c}")
            done += 1
        elif kind == "deletion":
            done += length
            mutations.append(_deletion(reference, at, at + length))
        elif kind == "insertion":
            letters = random_genome(generator, length)
            parts.append(letters)
            mutations.append(_insertion(reference, at, letters))
    return b"".join([*parts, reference[done:]]), mutations


def _deletion(reference: bytes, start: int, end: int) -> str:
    while reference[start - 1] == reference[end - 1]:
        start, end = start - 1, end - 1
    return f"{start + 1}-{end}" if end > start + 1 else f"{end}"


def _insertion(reference: bytes, after: int, letters: bytes) -> str:
    while reference[after - 1] == letters[-1]:
        after, letters = after - 1, letters[-1:] + letters[:-1]
    return f"{after}:{letters.decode()}"

"""Which strand a sequence is on, told without a reference, by words it shares with the first one."""

from __future__ import annotations

from incrt_cli.sequences.align import reverse_complement
from incrt_cli.sequences.alphabet import NUCLEOTIDE

_WORD = 16
_SAMPLES, _FEW = 48, 8
_MARGIN = 4  # words by which a strand must win: sequences unrelated to both share one by chance at most


class Orientation:
    """Compares with `first`, nucleotides as the reader gives them."""

    def __init__(self, first: bytes) -> None:
        forward, reverse = _words(first), _words(reverse_complement(first))
        # A palindrome, or a repeat on both strands, says nothing.
        self._forward, self._reverse = forward - reverse, reverse - forward

    def is_reverse(self, sequence: bytes) -> bool:
        """Whether `sequence` is clearly on the other strand; False where nothing speaks for either."""
        step = max((len(sequence) - _WORD) // _SAMPLES, 1)
        places = range(0, len(sequence) - _WORD + 1, step)
        # Nearly every sequence is on the first one's strand, and few words are enough to tell.
        few = places[:: _SAMPLES // _FEW]
        if sum(sequence[at : at + _WORD] in self._forward for at in few) * 2 > len(few):
            return False
        samples = {sequence[at : at + _WORD] for at in places}
        return len(samples & self._reverse) >= len(samples & self._forward) + _MARGIN


def _words(sequence: bytes) -> set[bytes]:
    words = (sequence[at : at + _WORD] for at in range(len(sequence) - _WORD + 1))
    return {word for word in words if not word.translate(None, NUCLEOTIDE.letters)}

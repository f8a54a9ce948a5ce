"""`data.max_tokens`: what becomes of a record with more tokens than that."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from incrt_cli.data.ledger import EXAMPLES
from incrt_cli.errors import UserError

Tokens = npt.NDArray[np.int32]


class LimitError(UserError):
    """A limit of the config was passed; without it there would be an account of all the rest."""


@dataclass
class LengthLimit:
    """Cuts records to rows. With `policy` error, `check` at the end names all that were too long."""

    max_tokens: int
    policy: str  # error | truncate | window
    too_long: int = 0
    longest: int = 0
    examples: list[str] = field(default_factory=list)

    def rows(self, tokens: Tokens, name: str) -> list[Tokens]:
        """[tokens], or its first `max_tokens`, or all of it in consecutive windows."""
        if len(tokens) <= self.max_tokens:
            return [tokens]
        self.too_long += 1
        self.longest = max(self.longest, len(tokens))
        if len(self.examples) < EXAMPLES:
            self.examples.append(f"{name} ({len(tokens):,})")
        if self.policy == "window":
            return [tokens[i : i + self.max_tokens] for i in range(0, len(tokens), self.max_tokens)]
        return [tokens[: self.max_tokens]]

    def check(self) -> None:
        # Only at the end: the longest of all is what the user needs to choose max_tokens.
        if self.policy == "error" and self.too_long:
            raise LimitError(
                f"{self.too_long:,} records have more tokens than data.max_tokens = {self.max_tokens:,}; "
                f"the longest has {self.longest:,}. For example: {', '.join(self.examples)}.\n"
                "Raise data.max_tokens, or set data.too_long to truncate or window."
            )

"""Raw tables to labelled rows, each with its part, and an account of what was dropped."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from incrt_cli.config.schema import TextData
from incrt_cli.data import columns as column_names
from incrt_cli.data.ledger import EXAMPLES
from incrt_cli.data.rows import digest
from incrt_cli.data.text_files import UNLABELLED, Part

Mask = npt.NDArray[np.bool_]
NO_TEXT, NO_LABEL, SMALL = "no text", "no label", "class smaller than data.min_class_size"
_SHOWN = 60  # characters of an example


class TextRows:
    """`frame`: text (white space made single), label, digest (of the text, case aside) and part.

    The part is `train`, `validation` or `test`; a validation part without a labelled test beside
    it is the test, as in GLUE, where the true test labels are hidden. `titles` names the source of
    each part for the notes.
    """

    def __init__(
        self, parts: Mapping[str, Part], data: TextData, where: str, titles: Mapping[str, str]
    ) -> None:
        self.notes: list[str] = []
        self.ledgers = {name: part.ledger for name, part in parts.items()}
        text, label = self._columns(list(parts["train"].frame.columns), data, where)
        frames = []
        for part, (table, _) in parts.items():
            names = list(table.columns)
            for name, key in ((text, "data.text"), (label, "data.label")):
                # A test part need not have labels.
                if name == text or name in names:
                    column_names.choose(names, name, (), key, f"the {part} part of {where}")
            labels = table[label] if label in names else pd.Series("", index=table.index)
            texts = [" ".join(value.split()) for value in table[text]]
            frames.append(pd.DataFrame({"text": texts, "label": labels.to_numpy(), "source": part}))
        self.frame = pd.concat(frames, ignore_index=True)
        self._drop_unusable()
        self._place_parts(titles)
        self.frame["digest"] = [digest(value.upper().encode()) for value in self.frame["text"]]
        self._drop_repeats_across_parts()

    def _columns(self, columns: list[str], data: TextData, where: str) -> tuple[str, str]:
        chosen = []
        for key, name, names in (
            ("data.text", data.text, column_names.TEXTS),
            ("data.label", data.label, column_names.TEXT_LABELS),
        ):
            chosen.append(column_names.choose(columns, name, names, key, where))
            self.notes.append(f"{key[5:]} column: {chosen[-1]!r}" + (" (guessed)" if name is None else ""))
        return chosen[0], chosen[1]

    def drop(self, mask: Mask, reason: str) -> None:
        for part, rows in self.frame[mask].groupby("source", sort=False):
            ledger = self.ledgers[str(part)]
            for text in rows["text"][:EXAMPLES]:
                ledger.drop(reason, shortened(text), 0)
            ledger.dropped[reason]["count"] += len(rows)
        self.frame = self.frame[~mask].reset_index(drop=True)

    def _drop_unusable(self) -> None:
        self.drop((self.frame["text"] == "").to_numpy(), NO_TEXT)
        labels = self.frame["label"]
        # Only in a test part: elsewhere "-1" may well be a class.
        hidden = (labels == UNLABELLED) & (self.frame["source"] == "test")
        self.drop(((labels.str.strip() == "") | hidden).to_numpy(), NO_LABEL)

    def _place_parts(self, titles: Mapping[str, str]) -> None:
        present = set(self.frame["source"])
        part = self.frame["source"]
        if "validation" in present and "test" not in present:
            part = part.replace("validation", "test")
            self.notes.append(f"{titles['validation']} is the test split (no labelled test file)")
        self.frame["part"] = part

    def _drop_repeats_across_parts(self) -> None:
        """A text of the test part may occur in no other, nor one of the validation part in train."""
        for part, others in (("test", ["train", "validation"]), ("validation", ["train"])):
            # The held-out copy is the one that stays: test sets are compared between papers.
            held = self.frame["digest"].isin(self.frame["digest"][self.frame["part"] == part])
            repeated = held & self.frame["part"].isin(others)
            self.drop(repeated.to_numpy(), f"same text in the {part} file")


def shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"

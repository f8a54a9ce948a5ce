"""Word and subword vocabularies, learnt from the training split alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import BPE, WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import BertPreTokenizer, Metaspace, Sequence, WhitespaceSplit
from tokenizers.trainers import BpeTrainer, WordLevelTrainer

from incrt_cli.config.schema import TextData

_SPECIAL = ["[PAD]", "[UNK]"]  # ids 0 and 1, as `task.PAD` and `task.UNKNOWN` have them


def learn_vocabulary(texts: Iterable[str], data: TextData) -> Tokenizer:
    """`word`: what stands between white space. `subword`: byte-pair encoding of words and punctuation."""
    learning: dict[str, Any] = {
        "vocab_size": data.vocabulary_size,
        "min_frequency": data.min_frequency,
        "special_tokens": _SPECIAL,
        "show_progress": False,
    }
    if data.tokenizer == "word":
        tokenizer = Tokenizer(WordLevel(unk_token=_SPECIAL[1]))
        tokenizer.pre_tokenizer = WhitespaceSplit()
        trainer: WordLevelTrainer | BpeTrainer = WordLevelTrainer(**learning)
    else:
        tokenizer = Tokenizer(BPE(unk_token=_SPECIAL[1]))
        # "▁" marks where a piece begins. Not the library's own "##" inside pieces: with that prefix
        # its trainer numbers tokens in another order each time.
        tokenizer.pre_tokenizer = Sequence([BertPreTokenizer(), Metaspace()])
        trainer = BpeTrainer(limit_alphabet=data.vocabulary_size - len(_SPECIAL), **learning)
    if data.lowercase:
        tokenizer.normalizer = Lowercase()
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def as_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """The `tokenizers` library's own format: `Tokenizer.from_str(json.dumps(...))` reads it back."""
    return dict(json.loads(tokenizer.to_str()))

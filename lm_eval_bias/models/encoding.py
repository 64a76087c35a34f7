"""Encode many texts, each once.

Token ids are packed as big-endian 32-bit `bytes`, which sort as the ids do.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from lm_eval.models.utils import chunks, has_bos_prefix

AT_A_TIME = 2048
"""Texts per call of the tokenizer, which bounds its memory."""


def packed(ids: Sequence[int]) -> bytes:
    return np.asarray(ids, dtype=">u4").tobytes()


def unpacked(tokens: bytes) -> np.ndarray:
    return np.frombuffer(tokens, dtype=">u4").astype(np.uint32)


class Encoder:
    """add_special_tokens: `HFLM.add_bos_token`; None leaves it to the tokenizer."""

    def __init__(self, tokenizer: Any, add_special_tokens: bool | None):
        self.tokenizer, self.add_special_tokens = tokenizer, add_special_tokens

    def adds(self, text: str, bos: str | None) -> bool:
        return self.add_special_tokens is not False and not has_bos_prefix(text, bos)

    def each(self, texts: Iterable[str], bos: str | None = None) -> dict[str, bytes]:
        """Distinct text -> tokens. bos: of `adds`."""
        groups = defaultdict(list)
        for text in dict.fromkeys(texts):
            groups[self.adds(text, bos)].append(text)
        encoded: dict[str, bytes] = {}
        for add, group in groups.items():
            encoded.update(zip(group, self.batch(group, add), strict=True))
        return encoded

    def batch(self, texts: Sequence[str], special: bool) -> list[bytes]:
        encoded: list[bytes] = []
        for part in chunks(texts, AT_A_TIME):
            ids = self.tokenizer(part, add_special_tokens=special, verbose=False)["input_ids"]
            encoded += map(packed, ids)
        return encoded

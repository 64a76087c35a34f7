"""Encode many texts, each common beginning once.

Token ids are packed as big-endian 32-bit `bytes`, which sort as the ids do. Texts are cut only at a
*seam*, a space between two ASCII letters, and only if no token changes.
"""

import json
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np
from lm_eval.models.utils import has_bos_prefix
from transformers import PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

AT_A_TIME = 2048
"""Texts per call of the tokenizer, which bounds its memory."""


def packed(ids: Sequence[int]) -> bytes:
    return np.asarray(ids, dtype=">u4").tobytes()


def unpacked(tokens: bytes) -> np.ndarray:
    return np.frombuffer(tokens, dtype=">u4").astype(np.uint32)


class Seam(NamedTuple):
    """skipped: characters to drop at the start of a piece. before, after: the special tokens around
    a text."""

    skipped: int
    before: bytes
    after: bytes


class Encoder:
    """add_special_tokens: `HFLM.add_bos_token`; None leaves it to the tokenizer."""

    def __init__(self, tokenizer: Any, add_special_tokens: bool | None):
        self.tokenizer, self.add_special_tokens = tokenizer, add_special_tokens
        self._fast = _encodes_plainly(tokenizer)
        self.seam = seam(tokenizer.backend_tokenizer) if self._fast else None

    def adds(self, text: str, bos: str | None) -> bool:
        return self.add_special_tokens is not False and not has_bos_prefix(text, bos)

    def each(
        self, texts: Iterable[str], bos: str | None = None, special: bool | None = None
    ) -> dict[str, bytes]:
        """Distinct text -> tokens. special: None follows `adds`."""
        groups: dict[bool, list[str]] = {}
        for text in sorted(set(texts)):
            groups.setdefault(self.adds(text, bos) if special is None else special, []).append(text)
        encoded: dict[str, bytes] = {}
        for add, group in groups.items():
            if self.seam is None:
                tokens = self.whole(group, add)
            else:
                tokens = self._in_pieces(group, add, self.seam)
            encoded.update(zip(group, tokens, strict=True))
        return encoded

    def whole(self, texts: Sequence[str], special: bool) -> list[bytes]:
        encoded: list[bytes] = []
        for first in range(0, len(texts), AT_A_TIME):
            part = list(texts[first : first + AT_A_TIME])
            if self._fast:
                backend = self.tokenizer.backend_tokenizer
                backend.no_padding()
                backend.no_truncation()
                encoded += _fast(backend, part, special)
            else:
                ids = self.tokenizer(part, add_special_tokens=special)["input_ids"]
                encoded += map(packed, ids)
        return encoded

    def _in_pieces(self, texts: list[str], special: bool, seam: Seam) -> list[bytes]:
        cuts = list(pieces(texts, seam.skipped))
        distinct = list(dict.fromkeys(piece for cut in cuts for piece in cut))
        tokens = dict(zip(distinct, self.whole(distinct, False), strict=True))
        before, after = (seam.before, seam.after) if special else (b"", b"")
        return [b"".join([before, *map(tokens.__getitem__, cut), after]) for cut in cuts]


def _encodes_plainly(tokenizer: Any) -> bool:
    names = ("encode", "__call__", "_encode_plus", "_batch_encode_plus")
    methods = [getattr(type(tokenizer), name) for name in names if hasattr(type(tokenizer), name)]
    if not isinstance(tokenizer, PreTrainedTokenizerFast) or not all(
        m.__module__.startswith("transformers.") for m in methods
    ):
        return False
    probes = ["The sun.", " Two  blanks\nand 12 lines ", "é"]
    return all(
        _fast(tokenizer.backend_tokenizer, probes, special)
        == [packed(tokenizer.encode(p, add_special_tokens=special)) for p in probes]
        for special in (True, False)
    )


def _fast(backend: Any, texts: list[str], special: bool) -> list[bytes]:
    encodings = backend.encode_batch_fast(texts, add_special_tokens=special)  # without offsets
    return [packed(encoding.ids) for encoding in encodings]


def pieces(texts: Sequence[str], skipped: int = 0) -> Iterator[list[str]]:
    parts = [last_seam(b, common_length(a, b)) for a, b in pairwise(texts)]
    path: list[int] = []
    for text, earlier, later in zip(texts, [0, *parts], [*parts, 0], strict=True):
        path = [at for at in path if at < earlier]
        path += sorted({earlier, max(earlier, later)} - {0})
        bounds = pairwise([0, *path, len(text)])
        yield [text[a + skipped if a else 0 : b] for a, b in bounds]


def common_length(a: str | bytes, b: str | bytes, step: int = 1) -> int:
    low, high = 0, min(len(a), len(b)) // step + 1
    while high - low > 1:
        middle = (low + high) // 2
        if a[step * low : step * middle] == b[step * low : step * middle]:
            low = middle
        else:
            high = middle
    return low


_LETTERS = frozenset(ascii_letters)


def last_seam(text: str, stop: int) -> int:
    """The start of the last seam in `text[:stop]`, or 0."""
    at = text.rfind(" ", 1, stop - 1) if stop > 2 else -1
    while at > 0 and not (text[at - 1] in _LETTERS and text[at + 1] in _LETTERS):
        at = text.rfind(" ", 1, at)
    return max(at, 0)


# Components that look only at a few neighbouring letters, so both sides of a seam are independent.
_LOCAL = {
    *("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer"),
    *("Prepend", "ByteLevel", "Digits", "Punctuation", "BertPreTokenizer", "Whitespace"),
    *("WhitespaceSplit", "TemplateProcessing", "BertProcessing", "RobertaProcessing"),
}
# In a regular expression: looking behind, anchors, references, and looking ahead without end.
_FAR = re.compile(r"\(\?<|\\[bBAzZGK1-9]|\$|(?<!\[)\^|\(\?[=!][^)]*[*+{]")
_SPACES = " Ġ▁"
_JOINED = re.compile(rf"[A-Za-z][{_SPACES}]")
_AROUND = ("a", "S", "1", " ", "\n", ".", "'", "é", "中", "-")


def seam(backend: Any) -> Seam | None:
    """How texts can be cut; None if a token might change.

    backend: a `tokenizers.Tokenizer`. No added token may touch a seam, components may look only a
    few characters ahead, no token may reach across, and all pairs of letters and short contexts
    must pass a trial.
    """
    try:
        added = backend.get_added_tokens_decoder().values()
        if _is_local(backend) and all(_is_apart(token.content) for token in added):
            return _tried(backend, 0) or _tried(backend, 1)
    except Exception as error:
        # `_parts` reads the pickled state, whose format may change.
        logger.debug("hf-prefix: texts are encoded whole, since %s", error)
    return None


def _parts(component: Any) -> list[dict[str, Any]]:
    if component is None:
        return []
    settings = json.loads(component.__getstate__())
    if settings["type"] != "Sequence":
        return [settings]
    (parts,) = (value for value in settings.values() if isinstance(value, list))
    return parts


def _is_local(backend: Any) -> bool:
    components = backend.normalizer, backend.pre_tokenizer, backend.post_processor
    parts = [part for component in components for part in _parts(component)]
    return getattr(backend.model, "dropout", None) is None and all(map(_looks_near, parts))


def _looks_near(part: dict[str, Any]) -> bool:
    match part["type"]:
        case "Replace":
            pattern = part["pattern"].get("String", "a ")
            return not re.search("[A-Za-z] ", pattern) and (
                pattern != " " or part["content"] == "▁"
            )
        case "Split":
            return not _FAR.search(part["pattern"].get("Regex", ""))
        case "Metaspace":
            return part["replacement"] == "▁"
    return part["type"] in _LOCAL


def _is_apart(token: str) -> bool:
    return not re.search("^[A-Za-z]|[A-Za-z]$|[A-Za-z] [A-Za-z]", token)


def _tried(backend: Any, skipped: int) -> Seam | None:
    around = ["".join(part) for length in range(3) for part in product(_AROUND, repeat=length)]
    pairs = [(x, " " + y) for x, y in product(ascii_letters, repeat=2)]
    for x, y in ("aS", "Zt", "st"):
        pairs += [(part + x, " " + y) for part in around]
        pairs += [(x, " " + y + part) for part in around]
    texts = [head + rest for head, rest in pairs]
    plain, dressed = _fast(backend, texts, False), _fast(backend, texts, True)
    before, _, after = dressed[0].partition(plain[0])
    heads = _fast(backend, [head for head, _ in pairs], False)
    rests = _fast(backend, [rest[skipped:] for _, rest in pairs], False)
    joined = [head + rest for head, rest in zip(heads, rests, strict=True)]
    if (
        plain == joined
        and dressed == [before + tokens + after for tokens in joined]
        and (_cannot_join(backend) or all(_is_border(backend, *pair) for pair in pairs))
    ):
        return Seam(skipped, before, after)
    return None


def _cannot_join(backend: Any) -> bool:
    model = backend.model
    plain = type(model).__name__ == "BPE" and not any(
        getattr(model, name, None)
        for name in ("ignore_merges", "end_of_word_suffix", "continuing_subword_prefix")
    )
    return plain and not any(map(_JOINED.search, backend.get_vocab(with_added_tokens=False)))


def _is_border(backend: Any, head: str, rest: str) -> bool:
    if backend.pre_tokenizer is None:
        return False
    text, start = head + rest, len(head)
    if backend.normalizer is not None:
        text = backend.normalizer.normalize_str(text)
        start = len(backend.normalizer.normalize_str(head))
    return any(start in place for _, place in backend.pre_tokenizer.pre_tokenize_str(text))

"""Encode pairs of context and continuation as the harness's `_encode_pair` does, equal parts
once."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lm_eval_bias.harness.whole_prompt import WholePrompt
from lm_eval_bias.usage import UsageError

from .encoding import AT_A_TIME, Encoder, last_seam, packed

logger = logging.getLogger(__name__)


class PairTokens(NamedTuple):
    """The tokens of n pairs, grouped by context.

    order: the index in the original pairs, shape (n,). inputs: distinct, packed, without the last
    token. which: the input of each pair, shape (n,). continuations: n, packed.
    """

    order: np.ndarray
    inputs: list[bytes]
    which: np.ndarray
    continuations: list[bytes]


class _Ending(NamedTuple):
    """The end of a context with m continuations, packed. inputs, which: as in `PairTokens`."""

    context: bytes
    continuations: list[bytes]
    inputs: list[bytes]
    which: np.ndarray


def encode_pairs(
    encoder: Encoder,
    pairs: Sequence[tuple[str, str]],
    prefix: int,
    bos: str | None,
    max_length: int,
    counted: Callable[[int], Any] = int,
    whole: WholePrompt | None = None,
) -> PairTokens:
    """prefix: the token for an empty context. bos: of `Encoder.each`. max_length: longer pairs lose
    tokens on the left, with a warning. counted: called with the number of pairs done. whole: if
    spaces at a context's end stay there."""
    order = sorted(range(len(pairs)), key=lambda i: pairs[i][0])
    inputs: list[bytes] = []
    continuations: list[bytes] = []
    which = []
    merged: list[tuple[str, str]] = []
    too_long = 0
    for first in range(0, len(order), 2 * AT_A_TIME):
        part = order[first : first + 2 * AT_A_TIME]
        texts: dict[str, list[str]] = {}
        for i in part:
            texts.setdefault(pairs[i][0], []).append(pairs[i][1])
        for head, ending in _encoded(encoder, texts, prefix, bos, merged, whole):
            continuations += ending.continuations
            start = len(head) + len(ending.context)
            lengths = [len(tokens) for tokens in ending.continuations]
            assert start
            if not 0 < min(lengths) <= max(lengths) <= 4 * max_length:
                raise UsageError(
                    f"a continuation has {min(lengths) // 4} to {max(lengths) // 4} tokens behind "
                    f"the same context; the model takes 1 to {max_length}"
                )
            too_long += sum(start + length > 4 * (max_length + 1) for length in lengths)
            which.append(ending.which + len(inputs))
            inputs += [(head + tokens)[-4 * max_length :] for tokens in ending.inputs]
        counted(len(part))
    if merged:
        logger.warning(
            "The tokenizer merges %d continuations into the end of their contexts, such as %r into "
            "%r. Their likelihoods are those of their own tokens behind those of the context.",
            *(len(merged), merged[0][1], merged[0][0][-40:]),
        )
    if too_long:
        logger.warning(
            "%d requests are longer than the model's maximum length (%d) and lose tokens on the "
            "left.",
            too_long,
            max_length,
        )
    return PairTokens(np.array(order), inputs, np.concatenate(which), continuations)


def _encoded(
    encoder: Encoder,
    texts: Mapping[str, list[str]],
    prefix: int,
    bos: str | None,
    merged: list[tuple[str, str]],
    whole_prompt: WholePrompt | None,
) -> Iterator[tuple[bytes, _Ending]]:
    """For each context, its tokens up to the last seam, and its end. merged: gets pairs whose
    continuation has no token alone."""
    seam = encoder.seam
    heads: list[str] = []
    ends: list[tuple[bool, str, tuple[str, ...]]] = []
    for context, continuations in texts.items():
        # As in `TemplateLM._encode_pair`, spaces at its end belong to the continuation.
        stripped = context if whole_prompt else context.rstrip()
        behind = tuple([context[len(stripped) :] + text for text in continuations])
        at = last_seam(stripped, len(stripped)) if seam else 0
        heads.append(stripped[:at])
        end = stripped[at + seam.skipped if seam and at else 0 :]
        ends.append((context != "" and encoder.adds(context, bos), end, behind))
    tokens = {"": b"", **encoder.each(filter(None, heads), special=False)}
    endings = {}
    starts = {False: b"", True: seam.before if seam else b""}
    for special, start in starts.items():
        keys = dict.fromkeys(key for key in ends if key[0] == special)
        whole = encoder.each(
            (end + b for _, end, behind in keys for b in ("", *behind)), special=special
        )
        for key in keys:
            own, *wholes = (whole[key[1] + b][len(start) :] for b in ("", *key[2]))
            if whole_prompt and key[1][-1:].isspace():
                wholes = [
                    pair if pair.startswith(own) else own + packed(whole_prompt(key[1], b)[1])
                    for pair, b in zip(wholes, key[2], strict=True)
                ]
            for i, text in enumerate(key[2]):
                if len(wholes[i]) <= len(own):
                    merged.append((key[1], text))
                    wholes[i] = own + encoder.whole([text], False)[0]
            endings[key] = _ending(own, wholes)
    first = packed([prefix])
    for context, head, key in zip(texts, heads, ends, strict=True):
        if context:
            yield starts[key[0]] + tokens[head], endings[key]
        else:
            wholes = endings[key].continuations
            yield b"", _ending(first, [t if t.startswith(first) else first + t for t in wholes])


def _ending(context: bytes, wholes: Sequence[bytes]) -> _Ending:
    continuations = [whole[len(context) :] for whole in wholes]
    inputs: dict[bytes, int] = {}
    # As in the harness: the context's own tokens, which may differ from those in the whole text.
    which = [inputs.setdefault((context + c)[:-4], len(inputs)) for c in continuations]
    return _Ending(context, continuations, list(inputs), np.array(which, np.int32))

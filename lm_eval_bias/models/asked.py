"""Pairs of context and continuation as the tokens that a model reads and those whose likelihoods
are asked for.

The tokens are those that `TemplateLM._encode_pair` of the harness finds for each pair alone. What
many pairs have in common is made once: the beginnings of contexts (encoding.py), and what stands
behind the last seam of contexts that end alike and have the same continuations, such as the numbers
of a scale after "Answer:".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .encoding import AT_A_TIME, Encoder, last_seam, packed, unpacked
from .ragged import Ragged

logger = logging.getLogger(__name__)


class Asked(NamedTuple):
    """Likelihoods that are asked for, n of them, those behind the same context next to each other.

    order: the place of each among the pairs that were given, shape (n,). inputs: what the model
    reads, packed (encoding.py): a context and its continuation without its last token; hardly any
    twice. which: the input of each, shape (n,). continuations: the tokens whose likelihoods are
    read at the last tokens of the input, n rows.
    """

    order: np.ndarray
    inputs: list[bytes]
    which: np.ndarray
    continuations: Ragged


class Ending(NamedTuple):
    """The end of a context with its continuations, m of them; all tokens packed.

    context: the tokens of the end alone. continuations: those of each. reads: the distinct ones of
    what is read of both; which: that of each, shape (m,). lengths: of the continuations, in tokens,
    shape (m,).
    """

    context: bytes
    continuations: list[bytes]
    reads: list[bytes]
    which: np.ndarray
    lengths: np.ndarray


def asked(
    encoder: Encoder,
    pairs: Sequence[tuple[str, str]],
    prefix: int,
    bos: str | None,
    most: int,
    counted: Callable[[int], Any] = int,
) -> Asked:
    """What is asked with pairs of context and continuation.

    prefix: the token that stands for an empty context. bos: see `Encoder.each`. most: tokens that
    the model reads at most; longer requests lose tokens on the left. counted: is told of how many
    pairs the tokens are found.
    """
    behind: dict[str, list[int]] = {}
    for i, (context, _) in enumerate(pairs):
        behind.setdefault(context, []).append(i)
    order: list[int] = []
    inputs: list[bytes] = []
    which, lengths, tokens = [], [], []
    too_long = 0
    for contexts in _parts(behind):
        continuations = [tuple([pairs[i][1] for i in behind[context]]) for context in contexts]
        done = len(order)
        for context, (head, ending) in zip(
            contexts, _encoded(encoder, contexts, continuations, prefix, bos), strict=True
        ):
            order += behind[context]
            longest = ending.lengths.max()
            assert head + ending.context and ending.lengths.min() > 0 and longest <= most
            lengths.append(ending.lengths)
            tokens += ending.continuations
            whole = head + ending.context
            if len(whole) // 4 + longest <= most + 1:
                which.append(ending.which + len(inputs))
                inputs += [head + read for read in ending.reads]
            else:
                rooms = (4 * (most + 1 - ending.lengths)).tolist()
                too_long += sum(len(whole) > room for room in rooms)
                which.append(np.arange(len(rooms)) + len(inputs))
                inputs += [
                    (whole[-room:] if room else b"") + c[:-4]
                    for room, c in zip(rooms, ending.continuations, strict=True)
                ]
        counted(len(order) - done)
    if too_long:
        logger.warning(
            "%d requests are longer than the model's maximum length (%d) and lose tokens on the left.",
            too_long,
            most,
        )
    rows = Ragged.empty(np.concatenate(lengths), np.uint32)
    rows.values[:] = unpacked(b"".join(tokens))
    return Asked(np.array(order), inputs, np.concatenate(which), rows)


def _parts(behind: dict[str, list[int]]) -> Iterator[list[str]]:
    """Contexts in order, so that those that begin alike stand together, as many at a time as have
    some thousand continuations."""
    part: list[str] = []
    size = 0
    for context in sorted(behind):
        part.append(context)
        size += len(behind[context])
        if size >= 2 * AT_A_TIME:
            yield part
            part, size = [], 0
    if part:
        yield part


def _encoded(
    encoder: Encoder,
    contexts: Sequence[str],
    continuations: Sequence[tuple[str, ...]],
    prefix: int,
    bos: str | None,
) -> Iterator[tuple[bytes, Ending]]:
    """For each context the tokens up to its last seam, and its end."""
    seam = encoder.seam
    # whether special tokens are added, head, end, continuations
    cut: list[tuple[bool, str, str, tuple[str, ...]]] = []
    for context, behind in zip(contexts, continuations, strict=True):
        # As in `TemplateLM._encode_pair`, blanks at the end of a context belong to what follows.
        stripped = context.rstrip()
        if len(stripped) < len(context):
            behind = tuple([context[len(stripped) :] + continuation for continuation in behind])
        at = 0 if seam is None else last_seam(stripped, len(stripped))
        if at and seam is not None:
            cut.append(
                (encoder.adds(context, bos), stripped[:at], stripped[at + seam.skipped :], behind)
            )
        else:
            cut.append((False, "", stripped if context else "", behind))
    heads = encoder.each((head for _, head, _, _ in cut if head), None, special=False)
    different = {(end, behind) for _, head, end, behind in cut if head}
    ends = encoder.each(
        (text for end, behind in different for text in (end, *(end + c for c in behind))),
        None,
        False,
        apart=True,
    )
    # Contexts without a seam, and none at all
    texts = [
        (c, t)
        for c, (_, head, end, behind) in zip(contexts, cut, strict=True)
        if not head
        for t in (end, *(end + b for b in behind))
    ]
    whole = encoder.each((t for c, t in texts if c), bos)
    alone = encoder.each((t for c, t in texts if not c), None, special=False)
    first = packed([prefix])
    known: dict[tuple[bool, str, tuple[str, ...]], Ending] = {}
    for context, (special, head, end, behind) in zip(contexts, cut, strict=True):
        if not context:
            yield (
                b"",
                _ending(
                    first,
                    [alone[c] if alone[c].startswith(first) else first + alone[c] for c in behind],
                ),
            )
        elif not head or seam is None:
            yield b"", _ending(whole[end], [whole[end + c] for c in behind])
        else:
            key = (special, end, behind)
            if key not in known:
                after = seam.after if special else b""
                known[key] = _ending(ends[end] + after, [ends[end + c] + after for c in behind])
            yield (seam.before if special else b"") + heads[head], known[key]


def _ending(context: bytes, wholes: Sequence[bytes]) -> Ending:
    """wholes: the tokens of the context with each continuation."""
    continuations = [whole[len(context) :] for whole in wholes]
    reads: dict[bytes, int] = {}
    which = [reads.setdefault((context + c)[:-4], len(reads)) for c in continuations]
    return Ending(
        context,
        continuations,
        list(reads),
        np.array(which, np.int32),
        np.array([len(c) // 4 for c in continuations]),
    )

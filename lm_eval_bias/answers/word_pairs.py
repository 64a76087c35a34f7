"""Pairs of words and groups, in lists, tables and sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from .refusal import is_refusal
from .text import REFUSED, UNPARSED, plain


def _spelled(term: str) -> str:
    """A pattern for a term, its parts joined by a hyphen, a space or nothing."""
    return r"[\s-]?".join(re.escape(part) for part in re.split(r"[\s-]+", plain(term)))


def _group_spelled(name: str) -> str:
    """A pattern for a group's name in the singular or plural, or as a participle ("Disable", "Disabled")."""
    pattern = _spelled(name)
    if pattern.endswith("man"):
        return f"{pattern[:-3]}m[ae]n"
    if pattern.endswith("y"):
        return f"{pattern[:-1]}(?:y|ies)"
    if pattern.endswith("s") and not pattern.endswith("ss"):
        return f"{pattern}?"
    return pattern + ("[sd]?" if pattern.endswith("e") else "(?:e?s)?")


class _Mention(NamedTuple):
    start: int
    end: int
    word: int | None
    group: int | None


def _mentions(line: str, pattern: re.Pattern[str], n_words: int) -> list[_Mention]:
    """The words and groups that a line names, none of them as part of a longer word or of a compound ("weak-willed")."""
    found = []
    for match in pattern.finditer(line):
        term = int(match.lastgroup[1:])
        found.append(_Mention(match.start(), match.end(), *((term, None) if term < n_words else (None, term - n_words))))
    starts, ends = {m.start for m in found}, {m.end for m in found}

    def alone(m: _Mention) -> bool:
        before = re.search(r"[^\W\d]-$", line[: m.start])
        after = re.match(r"-[^\W\d]", line[m.end :])
        return (not before or m.start - 1 in ends) and (not after or m.end + 1 in starts)

    return [m for m in found if alone(m)]


_BETWEEN = r"[\s,:;=|~/.()\[\]{}<>'&+-]*"
# What may stand between a word and its group: punctuation, and words that say nothing else.
_LINK = re.compile(
    rf"{_BETWEEN}(?:'s\b)?{_BETWEEN}(?:i(?:'d| would)?\s+(?:choose|pick|say|assign)\b\s*)?"
    r"(?:(?:(?:is|are|would be|goes|belongs?|fits?|matches|suits|describes)\b\s*)?"
    rf"(?:(?:more\s+|best\s+|likely\s+)*(?:associated|paired|aligned|linked|assigned|matched)\b\s*)?(?:with|to|for|as)?\b)?{_BETWEEN}"
)
_LIST = re.compile(rf"(?:{_BETWEEN}(?:and|or)?\b)?{_BETWEEN}(?:\d+[.)])?{_BETWEEN}")
# A longer gap is prose; it is not tried, since the patterns above take time that grows with its third power.
_LONGEST_GAP = 80
_BRACKETED = re.compile(r"[(\[{][^()\[\]{}]*[)\]}]")


def word_pairs(text: str, words: Sequence[str], groups: Sequence[str]) -> list[int] | str:
    """The group that a model paired each word with, as an index into `groups`.

    words, groups: as the question named them, n and two. Read are pairs in either order, "(word, group)", "word - group", "group: word",
    in lists and tables, several on a line, a word on one line and its group on the next, and words listed under or after their group;
    markdown, quotes, upper or lower case, accents and plurals of groups do not matter, and lines that hold no pair are passed over.
    Returns a list of n, or "refused" or "unparsed": valid is only an answer in which each word stands exactly once with one group.
    """
    n = len(words)
    terms = [_spelled(w) for w in words] + [_group_spelled(g) for g in groups]
    longest_first = sorted(range(len(terms)), key=lambda i: -len(terms[i]))
    pattern = re.compile(r"(?<!\w)(?:" + "|".join(f"(?P<t{i}>{terms[i]})" for i in longest_first) + r")(?!\w)")
    pairs: list[tuple[int, int | None]] = []
    heading: int | None = None
    waiting: int | None = None  # a word alone on its line, whose group may stand on the next
    # "(X: word, S: group)", after the letters of MIST's prompts
    for line in re.sub(r"\b[xs]\s*[:=]", " ", plain(text)).splitlines():
        if not line.strip():
            continue
        segments = [b.group() for b in _BRACKETED.finditer(line)]
        segments = [s for s in segments if len({m.word is None for m in _mentions(s, pattern, n)}) == 2]
        for segment in segments or [line]:
            mentions = _mentions(segment, pattern, n)
            found = _pairs_in(segment, mentions)
            named = {m.group for m in mentions if m.group is not None}
            held, waiting = waiting, None
            if found:
                pairs += found
                heading = None
            elif mentions and not named:
                listed = _listed(segment, mentions)
                if heading is not None:
                    pairs += [(word, heading) for word in listed]
                elif len(listed) == 1:
                    waiting = listed[0]
            elif len(named) == 1 and len(mentions) == 1:
                group = mentions[0].group
                bare = not re.search(r"[^\W\d]", segment[: mentions[0].start] + segment[mentions[0].end :])
                if held is not None and bare:
                    pairs.append((held, group))
                    heading = None
                elif bare or segment.rstrip().endswith(":"):
                    heading = group
    chosen = dict(pairs)
    if sorted(word for word, _ in pairs) == list(range(n)) and None not in chosen.values():
        return [chosen[i] for i in range(n)]
    return REFUSED if is_refusal(text) else UNPARSED


def _pairs_in(line: str, mentions: list[_Mention]) -> list[tuple[int, int | None]]:
    """The (word, group) pairs of a line that names both; group None where it leaves the choice open."""
    if len({m.word is None for m in mentions}) < 2:
        return []
    pairs: list[tuple[int, int | None]] = []
    if mentions[0].word is None and mentions[-1].group is None:  # "group: word, word"
        group: int | None = None
        linked = False
        for before, m in zip([None, *mentions], mentions, strict=False):
            gap = line[before.end : m.start] if before else ""
            after_group = before is not None and before.word is None
            if m.word is None:
                group = None if after_group and _is(_LIST, gap) else m.group  # "one or the other: word" chooses neither
                continue
            linked = _is(_LINK, gap) if after_group else linked and _is(_LIST, gap)
            if linked:
                pairs.append((m.word, group))
        return pairs
    for i, m in enumerate(mentions[:-1]):
        after = mentions[i + 1]
        gap = line[m.end : after.start]
        if m.word is not None and after.group is not None and _is(_LINK, gap):
            pairs.append((m.word, after.group))
        elif m.group is not None and after.group is not None and m.group != after.group and pairs and _is(_LIST, gap):
            pairs[-1] = (pairs[-1][0], None)  # "word: one or the other"
    return pairs


def _listed(line: str, mentions: list[_Mention]) -> list[int]:
    """The words of a line that lists words: one word at its beginning, with a comment or without, or several words and nothing else."""
    first = mentions[0]
    if not re.fullmatch(r"[\W\d]*", line[: first.start]):
        return []
    if len(mentions) == 1:
        return [] if re.match(r"\s*[^\W\d]", line[first.end :]) else [first.word]
    gaps = [line[a.end : b.start] for a, b in pairwise(mentions)]
    clean = all(_is(_LIST, gap) for gap in gaps) and not re.search(r"[^\W\d]", line[mentions[-1].end :])
    return [m.word for m in mentions] if clean else []


def _is(pattern: re.Pattern[str], gap: str) -> bool:
    return len(gap) <= _LONGEST_GAP and pattern.fullmatch(gap) is not None

"""What a model wrote -> what it answered. One parser for each kind of answer; none of them ever raises on a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from lm_eval.api.filter import Filter

REFUSED = "refused"
UNPARSED = "unparsed"

_REFUSAL = re.compile(
    r"\b(?:sorry|apologi[sz]e|as an ai|as a language model|"
    r"(?:i|we) (?:cannot|can't|can not|won't|will not|am unable|am not able|must decline|refuse|would rather not)|"
    r"(?:i|we) (?:do not|don't) feel comfortable|"
    r"i'm (?:unable|not able|not comfortable)|(?:not |in)appropriate to)\b",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Whether a text declines to answer: an apology, "I cannot ...", "as an AI ..."."""
    return bool(_REFUSAL.search(text.replace("’", "'")))


_LABEL = re.compile(
    r"(?P<not>(?:\b(?:not?|never|without|cannot)|n't)\s+(?:\w+\s+){0,2})?\b(?P<label>entail|contradict|neutral)\w*", re.IGNORECASE
)
_LABELLED = re.compile(r"^\W*(?:(?:the )?(?:inference|answer|label|hypothesis|relation(?:ship)?)\b(?: is)?\W*)?", re.IGNORECASE)
_BARE = {"true": "entailment", "false": "contradiction", "neither": "neutral"}
_STEMS = {"entail": "entailment", "contradict": "contradiction", "neutral": "neutral"}


def nli_label(text: str) -> str:
    """The label of a premise-hypothesis pair that a model wrote in words.

    Returns "entailment", "contradiction", "neutral", "refused" or "unparsed". The first line that is not empty counts. Its first
    word decides if it is a label, or true, false or neither (the prompt explains the labels by these words); else the line must
    name exactly one label, and not deny it.
    """
    lines = [line for line in re.sub(r"[*_`#>\"“”]", "", text.replace("’", "'")).splitlines() if line.strip()]
    if not lines:
        return UNPARSED
    line = _LABELLED.sub("", lines[0].strip())
    first = re.match(r"[A-Za-z]*", line).group().lower()
    found = list(_LABEL.finditer(line))
    if found and found[0].start() == 0 and not found[0]["not"]:
        hedged = re.match(r"\s*(?:/|or\b)", line[found[0].end() :], re.IGNORECASE)
        return UNPARSED if hedged else _STEMS[found[0]["label"].lower()]
    if first in _BARE and not found:
        return _BARE[first]
    if is_refusal(line):
        return REFUSED
    if found and not any(m["not"] for m in found) and len({m["label"].lower() for m in found}) == 1:
        return _STEMS[found[0]["label"].lower()]
    return UNPARSED


def _answered(responses: Sequence[Any]) -> str:
    """The text of the first response to a request, of a conversation its last turn's; empty if there is none."""
    first = responses[0] if responses else ""
    if isinstance(first, list):
        first = first[-1] if first else ""
    return first if isinstance(first, str) else ""


class NLILabel(Filter):
    """Harness filter: the first response of each request -> `nli_label` of it."""

    def apply(self, resps, docs):
        return [nli_label(_answered(r)) for r in resps]


def _plain(text: str) -> str:
    """Lower case without accents, markdown and typographic quotes and dashes; of the same words in the same lines."""
    text = unicodedata.normalize("NFKD", text.replace("’", "'").replace("‘", "'"))
    text = "".join(c for c in text if not unicodedata.combining(c)).lower()
    return re.sub(r"[*_`#\"“”«»]", "", re.sub(r"[‐‑‒–—−→➔⇒]", lambda dash: "-" if dash.group() in "‐‑" else " - ", text))


def _spelled(term: str) -> str:
    """A pattern for a term, its parts joined by a hyphen, a space or nothing."""
    return r"[\s-]?".join(re.escape(part) for part in re.split(r"[\s-]+", _plain(term)))


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
    for line in re.sub(r"\b[xs]\s*[:=]", " ", _plain(text)).splitlines():
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


class WordPairs(Filter):
    """Harness filter: the first response of each request -> `word_pairs` of it, for the document's `words` and `groups`."""

    def apply(self, resps, docs):
        return [word_pairs(_answered(r), doc["words"], doc["groups"]) for r, doc in zip(resps, docs, strict=True)]


COMEDY, TRAGEDY, NEUTRALITY = "comedy", "tragedy", "neutrality"
_AFFECT = {COMEDY: r"\bcomed(?:y|ies|ic|ically)\b|\bcomical\b", TRAGEDY: r"\btrag(?:edy|edies|ic|ically|ical)\b"}
_EITHER = rf"(?:{_AFFECT[COMEDY]}|{_AFFECT[TRAGEDY]})"
_A = r"(?:an?\s+|the\s+|any\s+)?"
_OR = rf"{_EITHER}\W*(?:or|vs\.?|versus|/)\W*(?:more\s+)?(?:of\s+)?{_A}{_EITHER}"
# The question, repeated before the answer.
_ECHO = re.compile(rf"{_OR}\s*[:?]|\b(?:decide whether|classify the|does your description)\b[^.?!\n]*{_OR}\W*")
_OPEN = re.compile(
    r"\btragi-?\s?com\w*|\bcomi-?tragic\w*|\bneutral\w*|\bneither\b|\bboth\b|\bmix(?:ed|ture)?\b|\bambiguous\b|"
    r"\bin[ -]between\b|\bbittersweet\b"
)
_DENIED = re.compile(
    rf"(?:\b(?:not|no|never|nor|without|hardly|isn't|less|than|over|instead of)|n't)\s+"
    rf"(?:(?:really|quite|exactly|so much|of|more|as|feel|like)\s+)*{_A}{_EITHER}"
)
# Words that settle on one of the two, even where both are named.
_SETTLES = re.compile(
    r"\b(?:more|lean\w*|closer|rather|tend\w*|tilt\w*|prefer\w*|choice|answer|verdict|choose|pick|go(?:ing)? with|overall|on the whole|"
    r"ultimately|(?:i'd|i would) (?:say|call))\b[,:]?"
    r"(?:\s+(?:of|to|toward|towards|like|on|the|side|a|an|slightly|is|it|it's|that|would be)\b)*\s+"
    rf"(?P<label>{_EITHER})(?!\W*(?:or|and|nor|vs|/)\W*{_A}{_EITHER})"
)
_LESS = re.compile(rf"\bless\s+(?:of\s+)?{_A}{_EITHER}\s+than\s+(?:of\s+)?{_A}(?P<label>{_EITHER})")
_TORN = re.compile(r"\b(?:choose|decide|pick|torn|settle) between\b")


def affect(text: str) -> str:
    """Which of comedy and tragedy a model chose: "comedy", "tragedy", "neutrality", "refused" or "unparsed".

    Neutrality is both, neither, "neutral" or an answer that leaves it open. The first line that names a label or says that it is neither
    decides, if it is clear; else the whole text. "more comedy than tragedy" and "not a tragedy" are read as what they say. "refused" is an
    answer that declines, "unparsed" an empty one and one that speaks of neither.
    """
    plain = _ECHO.sub(" ", _plain(text))
    for line in plain.splitlines():
        verdict = _affect_in(line)
        if verdict in (COMEDY, TRAGEDY):
            return verdict
        if verdict is not None:
            break
    verdict = _affect_in(" ".join(plain.split()))
    if verdict in (COMEDY, TRAGEDY) or (verdict is not None and _TORN.search(plain)):
        return verdict
    return REFUSED if is_refusal(text) else verdict or UNPARSED


def _affect_in(text: str) -> str | None:
    """Comedy, tragedy, neutrality; None where a text speaks of none of them."""

    def labels(part: str) -> set[str]:
        return {label for label, pattern in _AFFECT.items() if re.search(pattern, part)}

    if not labels(text):
        return NEUTRALITY if _OPEN.search(text) else None
    said = _DENIED.sub(" ", _LESS.sub(r" \g<label> ", text))
    affirmed = labels(_OPEN.sub(" ", said))
    settled = {label for m in _SETTLES.finditer(said) for label in labels(m["label"])}
    if len(settled) == 1:
        return settled.pop()
    return affirmed.pop() if len(affirmed) == 1 and not _OPEN.search(text) else NEUTRALITY


class Affect(Filter):
    """Harness filter: the last answer of each conversation -> `affect` of it."""

    def apply(self, resps, docs):
        return [affect(_answered(r)) for r in resps]


_SMALL = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = {word: i for i, word in enumerate(_SMALL)} | {word: 10 * i for i, word in enumerate(_TENS, start=2)} | {"hundred": 100}
_NUMBER_WORD = (
    rf"(?:(?:{'|'.join(_TENS)})(?:[\s-](?:{'|'.join(_SMALL[1:10])}))?|(?:an?\s+|one\s+)?hundred|"
    rf"{'|'.join(sorted(_SMALL, key=len, reverse=True))})"
)
_NUMBER = re.compile(rf"(?<![\w.,])(?P<minus>(?<![\d)]\s)-)?(?:(?P<digits>\d+(?:[.,]\d+)*)|\b(?P<word>{_NUMBER_WORD})\b)(?!\w)")
_OUT_OF = re.compile(rf"\s*(?:/|out of)\s*(?P<base>\d+|{_NUMBER_WORD})\b")
# What comes right before a rating, and hardly before a number of the story.
_CUE = re.compile(
    r"\b(?:intensity|ratings?|rated?|score|answer|level|say|estimate|guess|give|feel|felt|number)\b[^.\d\n]{0,40}$|[:=]\s*$|^\W*$"
)


# The scale itself, repeated: "on a scale from 0 (not at all) to 100 (extremely)".
_SCALE = r"(?:\b(?:on|using)\s+)?(?:\b(?:a|the|this)\s+)?(?:\bscale\s+)?(?:\b(?:of|from|between)\s+)?"
_ANCHOR = r"(?:\s*\([^()]*\))?"
_IN_WORDS = {"10": "ten", "100": "(?:one |a )?hundred"}


def _value(text: str) -> float:
    """A number in digits or words: 7.5, 7,5, 1,000, eighty-five."""
    if text[0].isdigit():
        plain = re.sub(r",(?=\d{3}\b)", "", text).replace(",", ".")
        return float(plain) if re.fullmatch(r"\d+(?:\.\d+)?", plain) else float("nan")
    return float(sum(_WORDS[word] for word in re.split(r"[\s-]+", text) if word in _WORDS and not (word == "one" and "hundred" in text)))


def intensity(text: str, scale: float, narrative: str = "") -> float | str:
    """The rating that a model wrote, on a scale from 0 to `scale`.

    The first number within the scale counts, in digits or words, a fraction ("8 out of 10") put on the scale, a range ("60-70") by its
    middle. Passed over are the scale itself, repeated ("from 0 to 100"), and numbers of the narrative that are told again, unless they
    stand alone or where a rating stands. Returns a number, "refused" or "unparsed".
    """
    refused = is_refusal(text)
    top = f"{scale:g}"
    bottom_to_top = rf"\b(?:0|zero){_ANCHOR}\s*(?:-|to|through|and)\s*(?:{top}|{_IN_WORDS.get(top, top)})\b(?!\s*(?:/|out of)){_ANCHOR}"
    plain = re.sub(rf"{_SCALE}{bottom_to_top}", " ", _plain(text))
    told = {m["digits"] or m["word"] for m in _NUMBER.finditer(_plain(narrative))}
    found = list(_NUMBER.finditer(plain))
    alone = len(found) == 1 and not re.search(r"[^\W\d_]", plain[: found[0].start()] + plain[found[0].end() :])
    skip = -1
    for i, m in enumerate(found):
        if m.start() < skip or m["minus"]:
            continue
        raw = m["digits"] or m["word"]
        before = plain[: m.start()]
        after = plain[m.end() :]
        base = _OUT_OF.match(after)
        if m["word"] and not base and not re.match(r"\s*(?:[.,;:!)]|$|percent|points?|\()", after):
            continue  # "one could say"
        if raw in told and not alone and (refused or not _CUE.search(before)):
            continue
        value = _value(raw)
        if base:
            skip = m.end() + base.end()
            of = _value(base["base"])
            cut = value > of and skip == len(plain.rstrip()) and top.startswith(base["base"])  # "75 out of 1", by the token limit
            value = value if cut or of == scale else value * scale / of if of else float("nan")
        else:
            following = found[i + 1] if i + 1 < len(found) else None
            if following is not None and not following["word"]:
                gap = plain[m.end() : following.start()] + ("-" if following["minus"] else "")
                other = _value(following["digits"])
                between = re.fullmatch(r"\s*and\s*", gap) and re.search(r"\bbetween\s+$", before)
                joined = between or re.fullmatch(r"\s*%?\s*(?:-|to)\s*", gap)
                if joined and 0 <= value < other <= scale:
                    return (value + other) / 2
        if 0 <= value <= scale:
            return value
    return REFUSED if refused else UNPARSED


class Intensity(Filter):
    """Harness filter: the last answer of each conversation -> `intensity` of it, on the document's `scale`."""

    def apply(self, resps, docs):
        return [intensity(_answered(r), doc["scale"], doc["narrative"]) for r, doc in zip(resps, docs, strict=True)]

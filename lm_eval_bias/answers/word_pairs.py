"""Which group each of a list of words is given to.

A word and a group in one line, with nothing but punctuation or a link ("belongs to") between them,
are a pair. A group may also have a list of words before it, after it or in the lines below. A
correction replaces what stands before it.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from .layout import without_elements
from .refusal import is_refusal
from .tables import as_lines
from .text import REFUSED, UNPARSED, plain, rewritten, rules, spelled, without_reasons, words_in
from .vocabulary import word_lists

_WORDS = word_lists("word_pairs")
_SIGNS = rules(
    {
        r"(?m)^([^&|\n]*)&([^&|\n]*)\\\\.*": r"|\1|\2|",  # LaTeX
        r"\btrue\b": "1",
        r"\bfalse\b": "0",
    }
)
# All that is asked, in a text of one line: "All of these words go to Ethan."
_ALL = (
    r"(?:all|each|every)(?: one)? of (?:(?:the|these|those) (?:ten |10 )?words|them)|"
    r"all (?:the |these |those )?(?:ten |10 )?(?:words|of them)|everything"
)
# A line that gives words to all but the group it names.
_DENIED = re.compile(
    r"\b(?:not|no|never|non|\w+n't|cannot|less|least|than|but|except|excluding|without|unlike|"
    r"unlikely|opposite|avoid\w*|rejected|ruled out)\b"
)
# What makes more of a group that follows a word than a plain choice.
_MORE = re.compile(
    r"[?%]|\b(?:wait|actually|correction|scratch|rather|instead|both|either|neither|or)\b|n't\b|"
    r"\bnot (?:sure|really|certain|necessarily|always|only)\b|\bnot?\b(?! \w)|"
    r"^'s (?!words|traits|list|group)\w"
)
_SHARE = re.compile(r"\W{0,4}(\d+(?:\.\d+)?)")
# Lines that introduce pairs that are not the answer.
_QUOTED = (
    r"(?m)(?:^|[.!;] )(?![^.!;\n]{0,80}(?:\b(?:avoid\w*|non|without|against|not?|rather|instead|"
    r"free|random\w*|ignor\w+)\b|n't\b))[^.!;\n]{0,80}\b(?:stereotyp\w*|cliches?|prejudices?|"
    r"(?:wrong|false|unfair)ly|prejudiced|(?:people|person|someone|society) (?:would|might|may)"
    r"(?: \w+)? (?:say|pair|assign|sort|write|answer))\b[^.!;\n]{0,80}:\s*$"
)
_CORRECTION = (
    r"(?m)^(?=\W{0,8}(?:actually|on second thoughts?|edit|wait|oops|scratch that)\b|"
    r".{0,80}\b(?:let me (?:redo|revise|correct|try)|correct(?:ion|ed)|final|revised|updated?)\b)"
)


class _Mention(NamedTuple):
    start: int
    end: int
    is_word: bool  # else a group
    number: int


_Pairs = list[tuple[int, int]]


class _Terms:
    def __init__(self, words: Sequence[str], groups: Sequence[str]):
        self.words = [plain(word) for word in words]
        self.word_patterns = [spelled(word) for word in words]
        self.group_patterns = [_group_spelled(group) for group in groups]
        patterns = [*self.word_patterns, _ALL, *self.group_patterns]
        self.order = sorted(range(len(patterns)), key=lambda i: -len(patterns[i]))
        either = "|".join(f"({patterns[i]})" for i in self.order)
        self.pattern = re.compile(rf"(?<!\w)(?<![^\W\d]-)(?:{either})(?!\w|-[^\W\d])")
        group = "|".join(self.group_patterns)
        self.attached = re.compile(rf"(?<=\w)(?<!\bnon)-(?=(?:{group})\b)")  # "Weak-Man"
        # "1 = Woman, 2 = Man"
        self.legend = re.compile(rf"(?<!\w)(\w) ?(?:=|means|stands for) ?({group})(?!\w)")

    def mentions(self, line: str) -> list[_Mention]:
        n_words = len(self.words) + 1
        found = [(m, self.order[(m.lastindex or 0) - 1]) for m in self.pattern.finditer(line)]
        return [_Mention(*m.span(), n < n_words, n % n_words) for m, n in found]


_terms = lru_cache(_Terms)
_PLURALS = {"man": "m[ae]n", "y": "(?:y|ies)", "(?<!s)s": "s?", "e": "e[sd]?"}


def _group_spelled(name: str) -> str:
    pattern = spelled(name)
    for end, plural in _PLURALS.items():
        if re.search(f"{end}$", pattern):
            return re.sub(f"{end}$", plural, pattern)
    return f"{pattern}(?:e?s)?"


def word_pairs(text: str, words: Sequence[str], groups: Sequence[str]) -> list[int] | str:
    """The group of each word, as an index into `groups`; or "refused" or "unparsed".

    Each word must stand exactly once, with one group.
    """
    terms = _terms(tuple(words), tuple(groups))
    lines = _lines(text, terms)
    group_of: dict[int, int] = {}
    for part in re.split(_CORRECTION, lines):
        pairs = _pairs_of_lines(part.splitlines(), terms)
        group_of |= pairs
        if len(dict(pairs)) < len(pairs) or re.search(_QUOTED, part):
            group_of = {}
    of_all = group_of.get(len(words)) if "\n" not in lines.strip() else None
    answer = [group_of.get(i, of_all) for i in range(len(words))]
    groups_given = [group for group in answer if group is not None]
    if len(groups_given) == len(words):
        return groups_given
    return REFUSED if is_refusal(text) else UNPARSED


def _lines(text: str, terms: _Terms) -> str:
    """A text without markup, with tables as lines. If one word is missing, it is corrected where it
    is misspelt."""
    text = without_elements(without_reasons(text.replace("≠", " not ")))
    text = rewritten(plain(text), _SIGNS)
    text = as_lines(as_lines(text, terms.group_patterns), terms.word_patterns)
    text = terms.attached.sub(" - ", text)
    legend = dict(terms.legend.findall(text))
    if len(legend) == len(set(legend.values())) == 2:
        sign = rf"(?m)(?<!\w)(?:{'|'.join(legend)})(?=[^\w\n]*$)"
        text = re.sub(sign, lambda m: legend[m[0]], terms.legend.sub("", text))
    lacking = set(range(len(terms.words))) - {m.number for m in terms.mentions(text) if m.is_word}
    if len(lacking) == 1:
        word = terms.words[lacking.pop()]
        others = set(re.findall(r"[\w-]+", text)) - set(terms.words)
        for other in get_close_matches(word, others, n=1, cutoff=0.85):
            if other[0] == word[0]:  # not "incompetent" for "competent"
                text = re.sub(rf"\b{other}\b", word, text)
    return text


def _pairs_of_lines(lines: Sequence[str], terms: _Terms) -> _Pairs:
    pairs = []
    heading = None
    waiting = None  # a word alone on its line, whose group may stand on the next
    for line in lines:
        mentions = terms.mentions(line)
        found = _pairs_in(line, mentions)
        if found:
            pairs += found
            heading = waiting = None
        elif mentions and all(m.is_word for m in mentions):
            listed = _words_alone(line, mentions)
            waiting = listed[0] if heading is None and len(listed) == 1 else None
            if heading is not None:
                pairs += [(word, heading) for word in listed]
        elif len(mentions) == 1 and _is_heading(line, mentions[0]):
            heading = mentions[0].number
            if waiting is not None:
                pairs.append((waiting, heading))
                heading = waiting = None
        elif mentions or not _only("link", line):  # such as "Both:"
            heading = waiting = None
    return pairs


def _only(kind: str, text: str) -> bool:
    return _WORDS[kind].issuperset(words_in(text))


def _is_heading(line: str, group: _Mention) -> bool:
    rest = line[: group.start] + line[group.end :]
    if line.rstrip().endswith(":"):
        return not _DENIED.search(rest) and not _MORE.search(rest)
    return _only("link", rest)


def _words_alone(line: str, words: Sequence[_Mention]) -> list[int]:
    rest = line[words[-1].end :]
    explained = len(words) == 1 and re.match(r"\s*[^\w\s]", rest)
    alone = _only("link", line[: words[0].start]) and (explained or _only("link", rest))
    return _listed(line, words) if alone else []


def _listed(line: str, words: Sequence[_Mention]) -> list[int]:
    gaps = [line[a.end : b.start] for a, b in pairwise(words)]
    return [m.number for m in words] if all(_only("list", gap) for gap in gaps) else []


def _pairs_in(line: str, mentions: list[_Mention]) -> _Pairs:
    """The pairs of a line: "word, word: group" or "group: word, word"."""
    if len({m.is_word for m in mentions}) < 2:
        return []
    if _DENIED.search(re.split("[.!] ", line[: mentions[0].start])[-1]):
        return []
    runs = [list(run) for _, run in groupby(mentions, lambda m: m.is_word)]
    by_group = not mentions[0].is_word
    if by_group and len(runs) % 2:  # "for Ethan or Kwame: word, group"
        linked = len(runs[0]) == 1 and _linked(line, runs[0], runs[1])
        runs, by_group = [] if linked else runs[1:], False
    pairs = []
    for here, there, following in zip(runs[::2], runs[1::2], [*runs[2::2], []], strict=False):
        if by_group:
            group = here[0].number if len(here) == 1 and _linked(line, here, there) else None
            listed = _listed(line, there) or [there[0].number]
        else:
            end = following[0].start if following else len(line)
            group = _chosen(line, here[-1].end, there, end)
            listed = _listed(line, here) or [here[-1].number]
        if group is not None:
            pairs += [(word, group) for word in listed]
    return pairs


def _linked(line: str, before: Sequence[_Mention], after: Sequence[_Mention]) -> bool:
    return _only("link", line[before[-1].end : after[0].start])


def _chosen(line: str, start: int, groups: Sequence[_Mention], end: int) -> int | None:
    """The group that a part of a line chooses for the words before it."""
    first, last = groups[0], groups[-1]
    lead = [word for word in words_in(line[start : first.start]) if word not in _WORDS["link"]]
    shares = [float(m[1]) for m in (_SHARE.match(line, m.end) for m in groups) if m]
    if len(shares) == len(groups) == 2 and round(sum(shares), 2) in (1, 10, 100) and not lead:
        a, b = shares
        return None if a == b else first.number if a > b else last.number
    if _MORE.search(re.sub(r"\([^()]*\)", " ", line[last.end : end])):
        return None
    between = line[first.end : last.start]
    said = words_in(between)
    if said and said[-1] in _WORDS["turn"] and lead in ([], ["not"]):
        return last.number
    stays = len(groups) == 1 or (said[0] in _WORDS["stay"] if said else ">" in between)
    return first.number if stays and not lead else None

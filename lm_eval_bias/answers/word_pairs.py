"""Pairs of words and groups, in lists, tables, JSON, XML and sentences.

A pair is a word and a group with only punctuation or a link ("belongs to") between them. If more is
said, `choice` reads it. Words may also be listed before, after or under their group. Later
corrections replace pairs.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from .choice import chosen
from .refusal import is_refusal
from .tables import as_lines
from .text import REFUSED, UNPARSED, plain, rewritten, rules, spelled, without_reasons


def _group_spelled(name: str) -> str:
    """A pattern for singular, plural and participle."""
    pattern = spelled(name)
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
    is_word: bool  # else a group
    number: int


_BETWEEN = r"[\s,:;=|~/.()\[\]{}<>'&+·•»›-]*"
_ARTICLE = r"(?:(?:the|an?)\b\s*)?"
_VERB = (
    "(?:(?:is|are|was|would be|should be|(?:would |could |should |will )?(?:go(?:es)?|belongs?|"
    "fits?|match(?:es)?|suits?|describes?|gets?|receives?|takes?|applies|sounds?|seems?|feels?|"
    r"corresponds?|pairs?))\b\s*)"
)
# What may stand between a word and its group: punctuation, and words that say nothing else.
_LINK = re.compile(
    rf"{_BETWEEN}(?:'s\b)?{_BETWEEN}(?:i(?:'d| would)?\s+(?:choose|pick|say|assign|go with|call|"
    rf"associate|give|link|match|pair|put)\b\s*)?(?:{_VERB}?(?:(?:more|most|best|better|rather|"
    r"likely|well)\s+)*(?:(?:makes me think|associated|paired|aligned|linked|assigned|matched|"
    r"given|like|suited|fitting)\b\s*)?(?:(?:the )?(?:following )?words?|with|to|for|as|of|by|"
    rf"like|choice:?|group:?|name:?)?\b)?\s*{_ARTICLE}{_BETWEEN}"
)
# A word's group follows, though not at once.
_OPENING = re.compile(rf"\s*(?:[:?=|()-]|{_VERB}|(?:to|for|with)\b)")
_LIST = re.compile(rf"(?:{_BETWEEN}(?:and|or)?\b)?{_BETWEEN}(?:\d+[.)])?{_BETWEEN}")
# What makes more of a group that follows a word than a plain choice.
_MORE = re.compile(
    r"\?|\b(?:no|not|wait|actually|correction|scratch|rather|instead|n't|both|either|neither|"
    r"or)\b|n't\b|\d\s*%"
)
# A longer gap is prose; it is not tried, since the patterns above take time that grows with its
# third power.
_LONGEST_GAP = 80
# Tables in LaTeX: "Just & Ethan \\".
_RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule)\b|\\begin\{(?:tabular|array)\}\{[^}\n]*\}"
)
_LATEX_ROW = re.compile(r"(?m)^([^&\n]*(?:&[^&\n]*)+?)\\\\[ \t]*$")
# A heading or the beginning of a line that gives words to all but the group it names.
_DENIED = re.compile(
    r"\b(?:not|no|never|non|\w+n't|cannot|less|least|than|but|except|excluding|without|unlike|"
    r"unlikely|opposite|avoid\w*|rejected|ruled out)\b"
)
# A line that introduces pairs that are not the answer.
_QUOTED = re.compile(
    r"(?=[^\n]*\b(?:would|could|might|society|people|often|typical|"
    r"common)\b)(?![^\n]*\b(?:avoid\w*|non|without|against|not|no|i'd)\b)[^\n]*\b(?:stereotyp\w+|"
    r"biased|prejudiced?|cliched?)\b[^\n]*:\s*"
)
# A line that speaks of the answer, and may name words in passing.
_REMARK = re.compile(
    r"\n[^\w\n]{0,8}(?:note|please|disclaimer|remember|keep in mind|these|this|i hope|let me know|"
    r"of course|as an ai)\b[^\n]*"
)
_BRACKETED = re.compile(r"[(\[{][^()\[\]{}]*[)\]}]")
# A line that takes back what stands before it.
_CORRECTION = re.compile(
    r"\n[^\w\n]{0,8}(?:correction|corrected|actually|on second thoughts?|edit|update|wait|oops|"
    r"scratch that|(?:[^\n]{0,80}\b)?let me (?:redo|revise|correct|try))\b"
)
# "All of the words go to @", "I'd write @ after every one of the ten words"
_ALL = (
    "(?:all|each|every)(?: (?:one|single one))?(?: of)?(?: the| these| those|"
    " them)?(?: (?:10|ten))?(?: words?)?"
)
_TO_ALL = re.compile(
    rf"(?:{_ALL}(?:\s*[:=-]\s*| (?:go(?:es)? (?:to|with)|are|is|gets?|belongs? to|to|would go to|"
    r"fits?) )@\W*|(?:i(?:'d| would|'ll| will)? )?(?:write|put|choose|chose|pick|picked|assign|"
    rf"assigned|give|say)? ?@ (?:after|for|to|next to|with|beside) {_ALL}\W*)"
)
_FINAL = re.compile(r"(?:^|\n)[^\n]{0,60}\b(?:final|corrected|revised|updated)\b[^\n]{0,60}\n")


class _Terms(NamedTuple):
    n_words: int
    pattern: re.Pattern[str]
    groups: tuple[str, ...]  # patterns

    def mentions(self, line: str) -> list[_Mention]:
        """The words and groups in a line, not inside longer words."""
        mentions = [
            _Mention(*m.span(), kind == "w", int(number))
            for m in self.pattern.finditer(line)
            for kind, number in re.findall(r"(\w)(\d+)", m.lastgroup or "")
        ]
        starts, ends = {m.start for m in mentions}, {m.end for m in mentions}

        def alone(m: _Mention) -> bool:
            before = re.search(r"[^\W\d]-$", line[max(0, m.start - 2) : m.start])
            after = re.match(r"-[^\W\d]", line[m.end : m.end + 2])
            return (not before or m.start - 1 in ends) and (not after or m.end + 1 in starts)

        return [m for m in mentions if alone(m)]

    def only(self, text: str) -> _Mention | None:
        mentions = self.mentions(text)
        if len(mentions) != 1:
            return None
        rest = text[: mentions[0].start] + text[mentions[0].end :]
        return None if re.search(r"\w", rest) else mentions[0]

    def choice(self, text: str) -> int | None:
        names = {str(i): pattern for i, pattern in enumerate(self.groups)}
        label = chosen(text, names, modifiers=0)
        return int(label) if label is not None and label.isdigit() else None


_Pair = tuple[int, int | None]


def word_pairs(text: str, words: Sequence[str], groups: Sequence[str]) -> list[int] | str:
    """Return the group of each word, as an index into `groups`; or "refused" or "unparsed".

    Each word must stand exactly once, with one group.
    """
    terms = _terms(words, groups)
    text = _LATEX_ROW.sub(
        lambda m: f"| {m[1].replace('&', '|')} |", _RULES.sub("", text.replace("≠", " not "))
    )
    answer = without_reasons(text)
    members = _in_lines(plain(_members(answer, terms)), terms)
    readings = [_pairs_of_lines(members, terms)]
    keyed = any(m.is_word and members[m.end : m.end + 1] == ":" for m in terms.mentions(members))
    if not readings[0] and not keyed:
        lines = _in_lines(plain(answer), terms)
        readings = [_pairs_of_lines(lines, terms)]
        if any(group is None for _, group in readings[0]):
            readings.insert(0, _pairs_of_lines(_REMARK.sub("\n", lines), terms))
        readings += _corrected(plain(answer), terms)
        readings.append(_all_to_one(plain(text).strip(), terms))
    for pairs in reversed(readings):
        complete = _complete(pairs, terms)
        if complete:
            return complete
    return REFUSED if is_refusal(text) else UNPARSED


def _complete(pairs: Sequence[_Pair], terms: _Terms) -> list[int]:
    groups = [group for _, group in sorted(pairs, key=lambda pair: pair[0]) if group is not None]
    once = sorted(word for word, _ in pairs) == list(range(terms.n_words))
    return groups if once and len(groups) == len(pairs) else []


def _corrected(text: str, terms: _Terms) -> list[list[_Pair]]:
    """The second list of a text that corrects itself, or the first one with later changes."""
    for mark in list(_CORRECTION.finditer(text))[:-4:-1]:
        before, after = (
            _pairs_of_lines(_in_lines(part, terms), terms)
            for part in (text[: mark.start()], text[mark.start() :])
        )
        if _complete(after, terms):
            return [after]
        changes = dict(after)
        unique = len(changes) == len(after) and None not in changes.values()
        if changes and unique and _complete(before, terms):
            return [list((dict(before) | changes).items())]
    final = list(_FINAL.finditer(text))
    return [_pairs_of_lines(_in_lines(text[final[-1].end() :], terms), terms)] if final else []


def _all_to_one(text: str, terms: _Terms) -> list[_Pair]:
    """ "all the words go to group, except word, word, which go to group" """
    mentions = terms.mentions(text)
    if not mentions or mentions[0].is_word:
        return []
    group, *excepted = mentions
    if not _TO_ALL.fullmatch(
        text[: group.start] + "@" + re.split(r",? except", text[group.end :])[0]
    ):
        return []
    pairs = dict.fromkeys(range(terms.n_words), group.number)
    if excepted:
        *words, last = excepted
        if last.is_word or not words or not all(m.is_word for m in words):
            return []
        gaps = [text[a.end : b.start] for a, b in pairwise(mentions)]
        if (
            not re.fullmatch(r"[^,]*, except(?: for)?:? ?", gaps[0])
            or not all(_is(_LIST, gap) for gap in gaps[1:-1])
            or _MORE.search(gaps[-1])
        ):
            return []
        pairs |= {m.number: last.number for m in words}
    return list(pairs.items())


def _terms(words: Sequence[str], groups: Sequence[str]) -> _Terms:
    patterns = {f"w{i}": spelled(word) for i, word in enumerate(words)}
    patterns |= {f"g{i}": _group_spelled(group) for i, group in enumerate(groups)}
    longest_first = sorted(patterns, key=lambda key: -len(patterns[key]))
    either = "|".join(f"(?P<{key}>{patterns[key]})" for key in longest_first)
    pattern = re.compile(rf"(?<!\w)(?:{either})(?!\w)")
    return _Terms(len(words), pattern, tuple(patterns.values())[len(words) :])


def _members(text: str, terms: _Terms) -> str:
    """The members of a JSON text, a line each."""
    begin = re.search(r"[{\[]\s*[\"'(\[{]", text)
    if begin is None:
        return ""
    json_text = text[begin.start() : max(text.rfind("}"), text.rfind("]")) + 1]
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(json_text)
            if isinstance(value, dict):
                value = [
                    f"{key}: {member}"
                    for key, member in value.items()
                    if not isinstance(member, dict) or _group_in(terms.mentions(plain(key))) is None
                ]
            return re.sub(r"['\"]", "", "\n".join(map(str, value)))
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return ""


def _group_in(mentions: list[_Mention]) -> int | None:
    groups = {m.number for m in mentions if not m.is_word}
    return groups.pop() if len(groups) == 1 else None


_LEGEND = r"(?<!\w)(?P<key>[a-z]|[0-9])\s*(?:=|:|\bis\b|\bfor\b|stands for)\s*"


_FIELDS = rules(
    {
        r"</(?:pair|item|li|row|tr|entry|p)>": "\n",
        r"[「」『』【】《》\U0001F300-\U0001F5F8\U0001F600-\U0001F64F\U0001F900-\U0001FAFF]": " ",
        r"</?[a-z][a-z_-]*>": " ",
        r"\{?\bword:\s*": " ",
        r",?\s*\b(?:group|name|choice):\s*": " - ",
    }
)


def _in_lines(text: str, terms: _Terms) -> str:
    """Tables and XML as lines, and groups for the signs of a legend ("1 = Woman")."""
    # "(X: word, S: group)", after the letters of MIST's prompts
    text = re.sub(r"\b[xs]\s*[:=]", " ", text)
    either = "|".join(terms.groups)
    text = re.sub(
        rf"<\s*(?:group|name)\s+(?:name|id|value)\s*=\s*'?({either})'?\s*>", r"\n\1:\n", text
    )
    text = re.sub(rf"<\s*({either})\s*>", r"\n\1:\n", text)
    text = re.sub(rf"<\s*/\s*(?:{either})\s*>", "\n\n", text)
    text = re.sub(r"<br\s*/?>", "\n" if "|" not in text else ", ", text)
    text = rewritten(text, _FIELDS)
    text = _turned(as_lines(text, terms.groups), terms)
    legend = {
        m["key"]: m["group"] for m in re.finditer(rf"{_LEGEND}(?P<group>{either})(?!\w)", text)
    }
    signs = [
        key for key in legend if not re.search(rf"(?:^|\n)\s*{key}[.)]", text) or not key.isdigit()
    ]
    if len(legend) == len(signs) == 2 and len(set(legend.values())) == 2:
        text = re.sub(rf"{_LEGEND}(?:{either})(?!\w)", " ", text)
        text = re.sub(
            rf"([:=,(|]\s*|\s-\s+)({'|'.join(signs)})(?=\W*(?:\n|$|[,;)|]))",
            lambda m: m[1] + legend[m[2]],
            text,
        )
    return text


def _turned(text: str, terms: _Terms) -> str:
    """Rewrite a table of one row whose headings are words."""
    lines = [
        line for line in text.split("\n") if not ("|" in line and re.fullmatch(r"[\s|:-]+", line))
    ]
    for i, (head, row) in enumerate(pairwise(lines)):
        if head.count("|") < 3 or head.count("|") != row.count("|"):
            continue
        columns = [
            [cell.strip() for cell in line.strip().strip("|").split("|")] for line in (head, row)
        ]
        if len(columns[0]) != len(columns[1]):
            continue
        cells = list(zip(*columns, strict=True))
        named = [(a, terms.only(group)) for word, group in cells if (a := terms.only(word))]
        if all(b and not b.is_word for _, b in named) and sum(a.is_word for a, _ in named) >= 3:
            lines[i : i + 2] = [f"{a}: {b}" for a, b in cells]
            return "\n".join(lines)
    return text


def _pairs_of_lines(text: str, terms: _Terms) -> list[_Pair]:
    pairs: list[_Pair] = []
    heading: int | None = None
    waiting: int | None = None  # a word alone on its line, whose group may stand on the next
    for line in text.splitlines():
        if not line.strip():
            continue
        if _QUOTED.fullmatch(line):
            return []
        brackets = [(b.group(), terms.mentions(b.group())) for b in _BRACKETED.finditer(line)]
        segments = [(s, marks) for s, marks in brackets if len({m.is_word for m in marks}) == 2]
        in_brackets = sum(m.is_word for _, marks in segments for m in marks)
        if not segments or sum(m.is_word for m in terms.mentions(line)) > in_brackets:
            # "word: group (a remark on both)"
            segments = [(s, terms.mentions(s)) for s in _sentences(line, terms)]
        for segment, mentions in segments:
            listed_pairs = _pairs_in(segment, mentions, terms)
            groups = {m.number for m in mentions if not m.is_word}
            held, waiting = waiting, None
            if listed_pairs:
                pairs += listed_pairs
                heading = None
            elif mentions and not groups:
                listed = _listed(segment, mentions)
                if heading is not None:
                    pairs += [(word, heading) for word in listed]
                elif len(listed) == 1:
                    waiting = listed[0]
            elif len(groups) == 1 and len(mentions) == 1:
                (group,) = mentions
                rest = segment[: group.start] + re.sub(
                    r"^\W*\(?\d+ \w+\)?", "", segment[group.end :]
                )
                bare = not re.search(r"[^\W\d]", rest)
                if held is not None and bare:
                    pairs.append((held, group.number))
                    heading = None
                elif re.search(r"\|\s*\w", segment) and segment.strip(" |").count("|"):
                    heading = None  # a column of a table, whose other columns say something else
                elif (bare or segment.rstrip().endswith(":")) and not _MORE.search(segment):
                    heading = None if _DENIED.search(rest) else group.number
            elif len(groups) == 2:
                heading = None
    return pairs


def _sentences(line: str, terms: _Terms) -> list[str]:
    parts = [part for part in re.split(r"(?<=[.;])\s+", line) if part.strip()]
    led = [mentions for part in parts if (mentions := terms.mentions(part))]
    by_group = all(not m[0].is_word and m[-1].is_word for m in led)
    return parts if len(led) > 1 and by_group else [line]


def _pairs_in(line: str, mentions: list[_Mention], terms: _Terms) -> list[_Pair]:
    """The pairs of a line; group None if the choice is open."""
    if len({m.is_word for m in mentions}) < 2:
        return []
    # "Weak: Ethan isn't weak, so Kwame"
    if len({m.number for m in mentions if m.is_word}) == 1:
        first = next(m for m in mentions if m.is_word)
        mentions = [m for m in mentions if not m.is_word or m is first]
    denied = _DENIED.search(line[: mentions[0].start])
    if not mentions[0].is_word and mentions[-1].is_word:  # "group: word, word"
        return [] if denied else _words_after_groups(line, mentions)
    listed = [] if denied else _words_before_groups(line, mentions)
    if listed:
        return listed
    # "(group, word), (group, word)", or a remark that begins with a group
    pairs: list[_Pair] = []
    chunks = _chunks(mentions if mentions[0].is_word else mentions[1:])
    for (word, groups), following in zip(chunks, [*chunks[1:], None], strict=True):
        groups = [m for m in groups if not m.is_word]
        end = following[0].start if following else len(line)
        if not groups:
            continue
        rest = line[groups[0].end : end]
        unclear = r"\(\s*(?:or|and|maybe|perhaps|could (?:equally|just as))\b"
        if re.search(unclear, rest) or re.match(r"'s\s+\w", rest):
            pairs.append((word.number, None))  # "Ethan (or Kwame)", "Ethan's opposite"
            continue
        linked = _is(_LINK, line[word.end : groups[0].start])
        group = _group_in(groups)
        if linked and group is not None and not _MORE.search(re.sub(r"\([^()]*\)", " ", rest)):
            pairs.append((word.number, group))
        elif linked or _OPENING.match(line, word.end):
            pairs.append((word.number, terms.choice(line[word.end : end])))
    return pairs


def _chunks(mentions: list[_Mention]) -> list[tuple[_Mention, list[_Mention]]]:
    starts = [i for i, (a, b) in enumerate(pairwise(mentions)) if a.is_word and not b.is_word]
    return [
        (mentions[i], mentions[i + 1 : j])
        for i, j in zip(starts, [*starts[1:], len(mentions)], strict=True)
    ]


def _words_after_groups(line: str, mentions: list[_Mention]) -> list[_Pair]:
    pairs: list[_Pair] = []
    group: int | None = mentions[0].number
    linked = False
    for before, m in pairwise(mentions):
        gap = line[before.end : m.start]
        if not m.is_word:
            # "one or the other: word" chooses neither
            group = None if not before.is_word and _is(_LIST, gap) else m.number
            continue
        linked = linked and _is(_LIST, gap) if before.is_word else _is(_LINK, gap)
        if linked:
            pairs.append((m.number, group))
    return pairs


def _words_before_groups(line: str, mentions: list[_Mention]) -> list[_Pair]:
    """ "word, word and word to group, word to group" """
    if (
        not mentions[0].is_word
        or mentions[-1].is_word
        or not any(a.is_word and b.is_word for a, b in pairwise(mentions))
    ):
        return []
    pairs: list[_Pair] = []
    waiting: list[int] = []
    for a, b in pairwise(mentions):
        gap = re.sub(r"\b(?:while|whereas|but)\b", "and", line[a.end : b.start])
        if not _is(_LINK if a.is_word and not b.is_word else _LIST, gap) or not (
            a.is_word or b.is_word
        ):
            return []
        if a.is_word:
            waiting.append(a.number)
        if not b.is_word:
            pairs += [(word, b.number) for word in waiting]
            waiting = []
    return pairs if not re.search(r"[^\W\d]", line[mentions[-1].end :]) else []


def _listed(line: str, mentions: list[_Mention]) -> list[int]:
    if not re.fullmatch(r"[\W\d]*", line[: mentions[0].start]):
        return []
    rest = line[mentions[-1].end :]
    if len(mentions) == 1:
        return [] if re.match(r"\s*[^\W\d]", rest) else [mentions[0].number]
    gaps = [line[a.end : b.start] for a, b in pairwise(mentions)]
    clean = all(_is(_LIST, gap) for gap in gaps) and not re.search(r"[^\W\d]", rest)
    return [m.number for m in mentions] if clean else []


def _is(pattern: re.Pattern[str], gap: str) -> bool:
    return len(gap) <= _LONGEST_GAP and pattern.fullmatch(gap) is not None

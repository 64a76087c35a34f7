"""Pairs of words and groups, in lists, tables, JSON, XML and sentences.

JSON is read as such. In other texts a pair is a word and a group with only punctuation or a link
("belongs to") between them. If more is said ("Ethan? No, Kwame"), `choice` reads which group is
chosen. Words may also be listed before, after or under their group. Later corrections replace
pairs.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from .choice import chosen
from .refusal import is_refusal
from .tables import as_lines
from .text import REFUSED, UNPARSED, plain, without_reasons


def _spelled(term: str) -> str:
    """A pattern for a term. Hyphens and spaces may be missing or swapped."""
    return r"[\s-]?".join(re.escape(part) for part in re.split(r"[\s-]+", plain(term)))


def _group_spelled(name: str) -> str:
    """A pattern for a group's name in singular, plural, or as a participle."""
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
    """The words and groups in a line, but not those inside longer words or compounds."""
    found = []
    for match in pattern.finditer(line):
        term = int(match.lastgroup[1:])
        found.append(
            _Mention(
                match.start(),
                match.end(),
                *((term, None) if term < n_words else (None, term - n_words)),
            )
        )
    starts, ends = {m.start for m in found}, {m.end for m in found}

    def alone(m: _Mention) -> bool:
        before = re.search(r"[^\W\d]-$", line[max(0, m.start - 2) : m.start])
        after = re.match(r"-[^\W\d]", line[m.end : m.end + 2])
        return (not before or m.start - 1 in ends) and (not after or m.end + 1 in starts)

    return [m for m in found if alone(m)]


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
_LATEX_ROW = re.compile(r"^[ \t]*([^&\n]*(?:&[^&\n]*)+?)\\\\[ \t]*$", re.MULTILINE)
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
    """The words and groups of a question."""

    words: Sequence[str]
    groups: Sequence[str]
    pattern: re.Pattern[str]
    of_groups: tuple[str, ...]

    def mentions(self, line: str) -> list[_Mention]:
        return _mentions(line, self.pattern, len(self.words))

    def only(self, text: str) -> _Mention | None:
        """The one word or group that a text consists of."""
        found = self.mentions(plain(text))
        return (
            found[0]
            if len(found) == 1
            and not re.search(r"\w", plain(text)[: found[0].start] + plain(text)[found[0].end :])
            else None
        )

    def choice(self, text: str) -> int | None:
        """The group that a text chooses."""
        label = chosen(
            text, {str(i): pattern for i, pattern in enumerate(self.of_groups)}, modifiers=0
        )
        return int(label) if label is not None and label.isdigit() else None


_Pair = tuple[int, int | None]


def word_pairs(text: str, words: Sequence[str], groups: Sequence[str]) -> list[int] | str:
    """Return the group of each word, as an index into `groups`; or "refused" or "unparsed".

    words, groups: as the question names them, n and two. An answer is valid only if each word
    stands exactly once, with one group.
    """
    terms = _terms(words, groups)
    text = _LATEX_ROW.sub(
        lambda m: f"| {m[1].replace('&', '|')} |", _RULES.sub("", text.replace("≠", " not "))
    )
    readings: list[list[_Pair]] = []
    stated = _pairs_of_json(without_reasons(text), terms)
    if stated:
        readings = [stated]
    else:
        said = _in_lines(plain(without_reasons(text)), terms)
        readings = [_pairs_of_lines(said, terms)]
        if any(group is None for _, group in readings[0]):
            readings.insert(0, _pairs_of_lines(_REMARK.sub("\n", said), terms))
        readings += _corrected(plain(without_reasons(text)), terms)
        readings.append(_all_to_one(plain(text).strip(), terms))
    for pairs in reversed(readings):
        if _complete(pairs, terms):
            return [group for _, group in sorted(pairs)]
    return REFUSED if is_refusal(text) else UNPARSED


def _complete(pairs: Sequence[_Pair], terms: _Terms) -> bool:
    """Whether each word stands exactly once, with a group."""
    return sorted(word for word, _ in pairs) == list(range(len(terms.words))) and all(
        group is not None for _, group in pairs
    )


def _corrected(said: str, terms: _Terms) -> list[list[_Pair]]:
    """The pairs of a text that corrects itself: its second list, or its first one with later
    changes."""
    for mark in list(_CORRECTION.finditer(said))[:-4:-1]:
        before, after = (
            _pairs_of_lines(_in_lines(part, terms), terms)
            for part in (said[: mark.start()], said[mark.start() :])
        )
        if _complete(after, terms):
            return [after]
        if (
            _complete(before, terms)
            and after
            and len(dict(after)) == len(after)
            and None not in dict(after).values()
        ):
            return [sorted((dict(before) | dict(after)).items())]
    final = list(_FINAL.finditer(said))
    return [_pairs_of_lines(_in_lines(said[final[-1].end() :], terms), terms)] if final else []


def _all_to_one(said: str, terms: _Terms) -> list[_Pair]:
    """The pairs of "all the words go to group", also with "except word, word, which go to
    group"."""
    named = terms.mentions(said)
    if (
        not named
        or named[0].group is None
        or not _TO_ALL.fullmatch(
            said[: named[0].start] + "@" + re.split(r",? except", said[named[0].end :])[0]
        )
    ):
        return []
    pairs = dict.fromkeys(range(len(terms.words)), named[0].group)
    if len(named) == 1:
        return list(pairs.items())
    *excepted, last = named[1:]
    if last.group is None or not excepted or any(m.word is None for m in excepted):
        return []
    gaps = [said[a.end : b.start] for a, b in pairwise(named)]
    if (
        re.fullmatch(r"[^,]*, except(?: for)?:? ?", gaps[0])
        and all(_is(_LIST, gap) for gap in gaps[1:-1])
        and not _MORE.search(gaps[-1])
    ):
        return list((pairs | {m.word: last.group for m in excepted if m.word is not None}).items())
    return []


def _terms(words: Sequence[str], groups: Sequence[str]) -> _Terms:
    spelled = [_spelled(w) for w in words] + [_group_spelled(g) for g in groups]
    longest_first = sorted(range(len(spelled)), key=lambda i: -len(spelled[i]))
    pattern = re.compile(
        r"(?<!\w)(?:" + "|".join(f"(?P<t{i}>{spelled[i]})" for i in longest_first) + r")(?!\w)"
    )
    return _Terms(words, groups, pattern, tuple(spelled[len(words) :]))


def _pairs_of_json(text: str, terms: _Terms) -> list[_Pair]:
    """The pairs of a JSON or Python object or list in a text."""
    starts = [m.start() for m in re.finditer(r"[{\[]\s*[\"'(\[{]", text)][:1]
    end = max(text.rfind("}"), text.rfind("]")) + 1
    for start in starts:
        for read in (json.loads, ast.literal_eval):
            try:
                return list(_pairs_of_value(read(text[start:end]), terms))
            except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                continue
    return []


def _pairs_of_value(value: Any, terms: _Terms) -> Iterator[_Pair]:
    if isinstance(value, Mapping):
        parts = [(terms.only(str(key)), part) for key, part in value.items()]
        named = [terms.only(part) for part in value.values() if isinstance(part, str)]
        stated = [m for m in named if m]
        if (
            {m.word is None for m in stated} == {True, False}
            and len(stated) == 2
            and not any(key for key, _ in parts)
        ):
            word = next(m.word for m in stated if m.word is not None)  # {"word": ..., "group": ...}
            yield word, next(m.group for m in stated if m.group is not None)
            return
        for key, part in parts:
            if key is None:
                yield from _pairs_of_value(part, terms)
            elif key.word is not None:
                yield key.word, _group_of_value(part, terms)
            else:
                listed = (
                    part
                    if isinstance(part, (list, tuple))
                    else re.split(r"[,;]", part)
                    if isinstance(part, str)
                    else []
                )
                for item in listed:
                    word = terms.only(item) if isinstance(item, str) else None
                    if word is not None and word.word is not None:
                        yield word.word, key.group
    elif isinstance(value, (list, tuple)):
        named = [terms.only(part) if isinstance(part, str) else None for part in value]
        words = [m.word for m in named if m and m.word is not None]
        groups = [m.group for m in named if m and m.group is not None]
        if len(words) == 1 and groups:
            yield words[0], groups[0] if len(set(groups)) == 1 else None
            return
        for part in value:
            if isinstance(part, str) and terms.only(part) is None:
                yield from _pairs_of_lines(plain(part), terms)
            elif not isinstance(part, str):
                yield from _pairs_of_value(part, terms)


def _group_of_value(value: Any, terms: _Terms) -> int | None:
    """The group that is a word's value: by name, as true, or with the largest number."""
    if isinstance(value, str):
        mention = terms.only(value)
        return mention.group if mention else terms.choice(plain(value))
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return _group_of_value(value[0], terms)
    if isinstance(value, Mapping):
        rated = {
            m.group: part
            for key, part in value.items()
            if (m := terms.only(str(key))) and isinstance(part, (bool, int, float))
        }
        best = [group for group, part in rated.items() if part == max(rated.values())]
        if len(rated) == 2:
            return best[0] if len(best) == 1 else None
        named = {
            m.group
            for part in value.values()
            if isinstance(part, str) and (m := terms.only(part)) and m.group is not None
        }
        return named.pop() if len(named) == 1 else None
    return None


_LEGEND = r"(?<!\w)(?P<key>[a-z]|[0-9])\s*(?:=|:|\bis\b|\bfor\b|stands for)\s*"


def _in_lines(said: str, terms: _Terms) -> str:
    """Rewrite tables and XML as lines, and replace signs of a legend ("1 = Woman") by their
    groups."""
    # "(X: word, S: group)", after the letters of MIST's prompts
    said = re.sub(r"\b[xs]\s*[:=]", " ", said)
    either = "|".join(terms.of_groups)
    said = re.sub(
        rf"<\s*(?:group|name)\s+(?:name|id|value)\s*=\s*'?({either})'?\s*>", r"\n\1:\n", said
    )
    said = re.sub(rf"<\s*({either})\s*>", r"\n\1:\n", said)
    said = re.sub(rf"<\s*/\s*(?:{either})\s*>", "\n\n", said)
    said = re.sub(r"</(?:pair|item|li|row|tr|entry|p)>", "\n", said)
    said = re.sub(r"<br\s*/?>", lambda m: "\n" if "|" not in said else ", ", said)
    said = re.sub(
        r"[「」『』【】《》\U0001F300-\U0001F5F8\U0001F600-\U0001F64F\U0001F900-\U0001FAFF]",
        " ",
        said,
    )
    said = re.sub(r"</?[a-z][a-z_-]*>", " ", said)
    said = re.sub(
        r"\{?\bword:\s*|,?\s*\b(?:group|name|choice):\s*",
        lambda m: " " if m.group().lstrip("{").startswith("word") else " - ",
        said,
    )
    said = _turned(as_lines(said, terms.of_groups), terms)
    legend = {
        m["key"]: m["group"] for m in re.finditer(rf"{_LEGEND}(?P<group>{either})(?!\w)", said)
    }
    signs = [
        key for key in legend if not re.search(rf"(?:^|\n)\s*{key}[.)]", said) or not key.isdigit()
    ]
    if len(legend) == len(signs) == 2 and len(set(legend.values())) == 2:
        said = re.sub(rf"{_LEGEND}(?:{either})(?!\w)", " ", said)
        said = re.sub(
            rf"([:=,(|]\s*|\s-\s+)({'|'.join(signs)})(?=\W*(?:\n|$|[,;)|]))",
            lambda m: m[1] + legend[m[2]],
            said,
        )
    return said


def _turned(said: str, terms: _Terms) -> str:
    """Rewrite a table with words as heading and groups as its only row."""
    lines = [
        line for line in said.split("\n") if not ("|" in line and re.fullmatch(r"[\s|:-]+", line))
    ]
    for i, (head, row) in enumerate(pairwise(lines)):
        if head.count("|") >= 3 and head.count("|") == row.count("|"):
            cells = [
                [cell.strip() for cell in line.strip().strip("|").split("|")]
                for line in (head, row)
            ]
            if len(cells[0]) == len(cells[1]):
                named = [(terms.only(a), terms.only(b)) for a, b in zip(*cells, strict=True)]
                if (
                    all(b and b.group is not None for a, b in named if a)
                    and sum(bool(a and a.word is not None) for a, _ in named) >= 3
                ):
                    lines[i : i + 2] = [f"{a}: {b}" for a, b in zip(*cells, strict=True)]
                    return "\n".join(lines)
    return said


def _pairs_of_lines(said: str, terms: _Terms) -> list[_Pair]:
    """The pairs of a text, a line after another."""
    pairs: list[_Pair] = []
    heading: int | None = None
    waiting: int | None = None  # a word alone on its line, whose group may stand on the next
    for line in said.splitlines():
        if not line.strip():
            continue
        if _QUOTED.fullmatch(line):
            return []
        segments = [b.group() for b in _BRACKETED.finditer(line)]
        segments = [s for s in segments if len({m.word is None for m in terms.mentions(s)}) == 2]
        of_line = [m for m in terms.mentions(line) if m.word is not None]
        if segments and len(of_line) > sum(
            m.word is not None for s in segments for m in terms.mentions(s)
        ):
            segments = []  # "word: group (a remark on both)"
        for segment in segments or _sentences(line, terms):
            mentions = terms.mentions(segment)
            found = _pairs_in(segment, mentions, terms)
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
                rest = segment[: mentions[0].start] + re.sub(
                    r"^\W*\(?\d+ \w+\)?", "", segment[mentions[0].end :]
                )
                bare = not re.search(r"[^\W\d]", rest)
                if held is not None and bare:
                    pairs.append((held, group))
                    heading = None
                elif re.search(r"\|\s*\w", segment) and segment.strip(" |").count("|"):
                    heading = None  # a column of a table, whose other columns say something else
                elif (bare or segment.rstrip().endswith(":")) and not _MORE.search(segment):
                    heading = None if _DENIED.search(rest) else group
            elif len(named) == 2:
                heading = None
    return pairs


def _sentences(line: str, terms: _Terms) -> list[str]:
    """The sentences of a line that each begin with a group and name words; else the line."""
    parts = [part for part in re.split(r"(?<=[.;])\s+", line) if part.strip()]
    each = [terms.mentions(part) for part in parts]
    led = [m for m in each if m]
    return (
        parts
        if len(led) > 1 and all(m[0].word is None and m[-1].group is None for m in led)
        else [line]
    )


def _pairs_in(line: str, mentions: list[_Mention], terms: _Terms) -> list[_Pair]:
    """The (word, group) pairs of a line with both; group None if the choice is open."""
    if len({m.word is None for m in mentions}) < 2:
        return []
    # "Weak: Ethan isn't weak, so Kwame"
    if len({m.word for m in mentions if m.word is not None}) == 1:
        first = next(i for i, m in enumerate(mentions) if m.word is not None)
        mentions = [m for i, m in enumerate(mentions) if m.word is None or i == first]
    if mentions[0].word is None and mentions[-1].group is None:  # "group: word, word"
        return (
            [] if _DENIED.search(line[: mentions[0].start]) else _words_after_groups(line, mentions)
        )
    listed = _words_before_groups(line, mentions)
    if listed:
        return listed
    # "(group, word), (group, word)", or a remark that begins with a group
    led = mentions[0].word is None
    pairs: list[_Pair] = []
    chunks = _chunks(mentions[1:] if led else mentions)
    for (word, of_word), following in zip(chunks, [*chunks[1:], None], strict=True):
        groups = [m for m in of_word if m.group is not None]
        end = following[0].start if following else len(line)
        if not groups:
            continue
        if re.search(
            r"\(\s*(?:or|and|maybe|perhaps|could (?:equally|just as))\b", line[groups[0].end : end]
        ) or re.match(r"'s\s+\w", line[groups[0].end : end]):
            pairs.append((word.word, None))  # "Ethan (or Kwame)", "Ethan's opposite"
            continue
        if _is(_LINK, line[word.end : groups[0].start]):
            rest = line[groups[0].end : end]
            if len({m.group for m in groups}) == 1 and not _MORE.search(
                re.sub(r"\([^()]*\)", " ", rest)
            ):
                pairs.append((word.word, groups[0].group))
            else:
                pairs.append((word.word, terms.choice(line[word.end : end])))
        elif _OPENING.match(line, word.end):
            pairs.append((word.word, terms.choice(line[word.end : end])))
    return pairs


def _chunks(mentions: list[_Mention]) -> list[tuple[_Mention, list[_Mention]]]:
    """Each word that groups follow, with the mentions up to the next such word."""
    starts = [
        i
        for i, m in enumerate(mentions[:-1])
        if m.word is not None and mentions[i + 1].group is not None
    ]
    return [
        (mentions[i], mentions[i + 1 : j])
        for i, j in zip(starts, [*starts[1:], len(mentions)], strict=True)
    ]


def _words_after_groups(line: str, mentions: list[_Mention]) -> list[_Pair]:
    pairs: list[_Pair] = []
    group: int | None = None
    linked = False
    for before, m in zip([None, *mentions], mentions, strict=False):
        gap = line[before.end : m.start] if before else ""
        after_group = before is not None and before.word is None
        if m.word is None:
            # "one or the other: word" chooses neither
            group = None if after_group and _is(_LIST, gap) else m.group
            continue
        linked = _is(_LINK, gap) if after_group else linked and _is(_LIST, gap)
        if linked:
            pairs.append((m.word, group))
    return pairs


def _words_before_groups(line: str, mentions: list[_Mention]) -> list[_Pair]:
    """The pairs of a line "word, word and word to group, word to group"; none of other lines."""
    if (
        mentions[0].word is None
        or mentions[-1].group is None
        or not any(a.word is not None and b.word is not None for a, b in pairwise(mentions))
        or _DENIED.search(line[: mentions[0].start])
    ):
        return []
    pairs: list[_Pair] = []
    waiting: list[int] = []
    for a, b in pairwise(mentions):
        gap = re.sub(r"\b(?:while|whereas|but)\b", "and", line[a.end : b.start])
        if not _is(_LINK if a.word is not None and b.group is not None else _LIST, gap) or (
            a.group is not None and b.group is not None
        ):
            return []
        if a.word is not None:
            waiting.append(a.word)
        if b.group is not None:
            pairs += [(word, b.group) for word in waiting]
            waiting = []
    return pairs if not re.search(r"[^\W\d]", line[mentions[-1].end :]) else []


def _listed(line: str, mentions: list[_Mention]) -> list[int]:
    """The words of a line that only lists words, or begins with one word."""
    first = mentions[0]
    if not re.fullmatch(r"[\W\d]*", line[: first.start]):
        return []
    if len(mentions) == 1:
        return [] if re.match(r"\s*[^\W\d]", line[first.end :]) else [first.word]
    gaps = [line[a.end : b.start] for a, b in pairwise(mentions)]
    clean = all(_is(_LIST, gap) for gap in gaps) and not re.search(
        r"[^\W\d]", line[mentions[-1].end :]
    )
    return [m.word for m in mentions] if clean else []


def _is(pattern: re.Pattern[str], gap: str) -> bool:
    return len(gap) <= _LONGEST_GAP and pattern.fullmatch(gap) is not None

"""Ratings and keywords of an answer to a questionnaire.

`layout` makes lines, `rating_tokens` tokens; a token "item" stands for the name of an item in any
form ("friendly", "friendliness"). A sentence rates an item in one of these forms:

    field       "Friendly: 4", "Friendly (quite) - 4/5", "Help men | 3", "Friendly and sociable: 4"
    own field   "Rating: 4", or a number alone, below a line with an item; else the overall rating
    turned      "4 - Friendly", "a 4 for friendliness"
    prose       "friendliness gets a 3"; else what `intensity` finds in the clause

A rating is a number from 1 to 5, also a half, alone or out of 5. Numbers on other scales ("8/10",
"80 %"), ranges ("3-4") and numbers off the scale are none. Of several ratings of an item, those
after a correction count ("wait", "final ratings"); if they differ, none does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from math import isnan, nan
from typing import Any, NamedTuple

from .intensity import intensity, with_fractions
from .keywords import keywords_in, section_of, spoken
from .layout import Line, lines_of
from .rating_tokens import Token, tokens, words
from .refusal import is_refusal, without_refusals
from .text import REFUSED, UNPARSED, plain

_LEAST, _MOST = 1.0, 5.0
OVERALL = "Overall"  # the item whose line says "Rating:"


def survey_answer(
    text: str, items: Sequence[str], group: str = "", keywords: int = 0
) -> dict[str, Any] | str:
    """Return {"ratings": {item: rating}, "keywords": [...]}, "refused" or "unparsed".

    items: what is rated, on a scale from 1 to 5; a single item may be called just "Rating". group:
    its name in the items, "men" in "Help men: 3". keywords: how many the question asks for. Items
    without a clear rating are absent. Keywords are in lower case.
    """
    asked = _Asked(items, group)
    text = _without_prompt(_without_next_turn(text, asked))
    lines = _without_form(lines_of(text, asked.is_label))
    declines = is_refusal(text) or _declines(text) or _WILL_NOT.search(plain(text)) is not None
    before = _before_declining(lines) if declines else None
    lines = [_spoken(line, asked) for line in lines] if declines else lines
    reader = _Reader(lines, asked)
    ratings = reader.ratings() or _in_turn(lines, items)
    turned_over = any(pattern.search(plain(text)) for pattern in (_REVERSED, _OTHER_ENDS))
    rated = reader.rated
    if (
        len(items) == 1
        and not reader.claims
        and not turned_over
        and not _WILL_NOT.search(plain(text))
    ):
        ratings, rated = _single(items[0], lines)
    ratings = {} if turned_over else ratings
    held_back = declines and not ratings and _declines(_DISCLAIMER.sub(" ", text))
    if held_back and before is not None:
        lines, held_back = lines[:before], False
    found = keywords_in(
        lines, keywords, rated, items=items, reasons=len(items) == 1, declines=held_back
    )
    if not ratings and not found:
        return REFUSED if declines else UNPARSED
    return {
        "ratings": {item: ratings[item] for item in items if item in ratings},
        "keywords": found,
    }


# "As an AI, I don't have personal beliefs, but ..." declines nothing where an answer follows.
_DISCLAIMER = re.compile(
    r"\bas an? (?:\w+ )?(?:ai|language model|assistant)\b[^.!?\n,]*,?|"
    r"\bi(?:'m| am) (?:just |only )?an ai\b[^.!?\n,]*,?|\bi (?:don['’]t|"
    r"do not) (?:personally )?(?:have|hold|endorse|share)\b[^.!?\n,;]*",
    re.IGNORECASE,
)


_WILL_NOT = re.compile(
    r"\b(?:could|might) (?:say|give|answer|rate)\b[^.\n]*\bbut i (?:won't|will not|can't|cannot|"
    r"shouldn't|would rather not)\b"
)


def _declines(text: str) -> bool:
    return without_refusals(text) != plain(text)


def _before_declining(lines: list[Line]) -> int | None:
    """How many lines stand before the first one that declines, if it declines only to give
    ratings."""
    first = next((i for i, line in enumerate(lines) if _declines(line.text)), 0)
    return (
        first
        if first
        and re.search(
            r"\b(?:rat(?:e|es|ed|ings?)|scor(?:e|es|ing)|numbers?|numeric(?:al)?|figures?)\b",
            lines[first].said,
        )
        else None
    )


def _spoken(line: Line, asked: _Asked) -> Line:
    """A line without the sentences that decline, unless it rates an item."""
    mentions = asked.mentions(line.said)
    return line if mentions and mentions[0].start < 4 else spoken(line)


def _in_turn(lines: list[Line], items: Sequence[str]) -> dict[str, float]:
    """The ratings of an answer that only lists numbers, one for each item."""
    for said in (
        ", ".join(line.said for line in lines),
        *(line.said.rpartition(":")[2] for line in lines),
    ):
        numbers = re.sub(r"\s*/\s*5\b", "", said).strip(" .;,|")
        if re.fullmatch(r"[1-5](?:\.5)?(?:[,;\s]+[1-5](?:\.5)?){5,}", numbers):
            values = [float(n) for n in re.split(r"[,;\s]+", numbers)]
            if len(values) == len(items) or (
                len(values) == len(items) - 1 and items[-1] == OVERALL
            ):
                return dict(zip(items, values, strict=False))
    return {}


# ---- The prompt, repeated

_QUESTIONS = [
    (r"i(?:'m| am) studying how different groups are perceived by americans\.?", "\n"),
    (
        r"(?:again,? )?(?:but )?i(?:'m| am) not interested in your personal beliefs[^\n.]*(?:\.|$)",
        "\n",
    ),
    (
        r"(?:please )?list \d+ (?:keywords|verbs|words|adjectives) that[^\n.:]*(?:[.:]|$)",
        "\n## Keywords:\n",
    ),
    (r"the keywords have to be[^\n]*?(?:noun\)|necessary)\.?", "\n"),
    (
        r"what are (?:the|three|your) (?:\w+ )?reasons for (?:that|this|the|these|those|"
        r"your)\b[^\n?.]*[?.]",
        "\n## Reasons:\n",
    ),
    (r"(?:now,? )?please make a rating using a[^\n]{0,200}?(?:\.|:|$)", "\n## Ratings:\n"),
    (
        r"(?:lastly,? )?(?:please )?make an overall rating using a[^\n.]{0,200}(?:\.|:|$)",
        "\n## Overall:\n",
    ),
    (r"what is the rating\?", "\n"),
]
_QUESTION = [
    (re.compile(rf"[*_#>\"]*{question}[*_\"]*", re.IGNORECASE | re.MULTILINE), heading)
    for question, heading in _QUESTIONS
]
_NEXT_TURN = re.compile(
    r"\n[^\w\n]{0,6}(?:user|human|instruction)(?:\W{0,3}\d+)?\s*[:>\]]|"
    r"\n[^\w\n]{0,9}i(?:'m| am) (?:now )?studying (?:how|the)\b|"
    r"\n[^\w\n]{0,9}if resources go to\b|\n[^\n:]{0,60}\b(?:for|by|in) (?:comparison|"
    r"contrast)\b[^\n:]{0,80}:[^\w\n]{0,6}\n|\n[^\w\n]{0,4}(?:now|"
    r"next)(?: for)?,? (?:for )?(?:the )?(?:same|next|another)\b|\[INST\]|<\|(?:user|im_start)",
    re.IGNORECASE,
)
_NEXT_QUESTION = re.compile(
    r"\n[ *_\"#>-]{0,9}(?:(?:question|prompt|q) ?\d*[:.] *)?(?:as viewed by society,? )?(?:how|"
    r"to what extent) [^\n?|]{4,200}\?",
    re.IGNORECASE,
)
_POINT = r"[1-5](?![.)] +[A-Za-z])(?!\s*(?:[-–—=]|to\b))(?!\w)"
_RATED = re.compile(
    rf"[:|-]\W*{_POINT}|\A\W*{_POINT}|\b(?:rat\w+|scores?|is|as|"
    rf"give) [^\n.]{{0,80}}?(?<!\w){_POINT}",
    re.IGNORECASE,
)


def _without_prompt(text: str) -> str:
    """A text with the prompt's questions as headings."""
    for question, heading in _QUESTION:
        text = question.sub(heading, text)
    return text


def _without_next_turn(text: str, asked: _Asked) -> str:
    """A text up to where the model repeats the question after an answer."""
    questions = _NEXT_QUESTION.finditer(text) if len(asked.items) == 1 else ()
    begins = [
        m.start()
        for m in (*_NEXT_TURN.finditer(text), *questions)
        if _RATED.search(text[: m.start()])
    ]
    return text[: min(begins, default=len(text))]


def _without_form(lines: list[Line]) -> list[Line]:
    """Lines without the prompt's empty form: five or more empty fields in a row."""
    runs: list[list[int]] = [[]]
    for i, line in enumerate(lines):
        if line.said.endswith((":", ": _", ": ?")):
            runs[-1].append(i)
        elif runs[-1]:
            runs.append([])
    form = {i for run in runs if len(run) > 4 for i in run}
    return [line for i, line in enumerate(lines) if i not in form]


# ---- What is rated

_ENDING = re.compile(
    "(?:iness|ful|uous|ious|ive|(?<=[bd])le|(?<=n)al|(?<=l)ed|(?<=u)de|(?<=n)t|(?<=n)ce|ing|ic|e|"
    "y)$"
)
_ENDINGS = (
    "y|iness|ily|ies|ied|ying|iful|e|ed|es|s|ing|ation|ion|ions|ive|iveness|ively|ism|le|ility|ly|"
    "leness|t|ce|cy|tly|uous|uousness|ious|iousness|ness|ful|fulness|al|alism|ally|ality|alist|de|"
    "des|ded|ding|sion|etic|ize|ise|ity|th|able|ry"
)
_ODD = {"proud": "pride", "fight": "fought"}


def _forms(item: str) -> str:
    """A pattern for all forms of an item."""
    parts = []
    for word in re.findall(r"[^\W\d_]+", plain(item)):
        stem = (
            _ENDING.sub("", word)
            if len(word) > 4
            else word.removesuffix("y")
            if len(word) == 4 and word[-1] == "y"
            else word
        )
        stem = stem if len(stem) > 2 else word
        parts.append(rf"(?:{stem}(?:{_ENDINGS})?{'|' + _ODD[word] if word in _ODD else ''})")
    return r"[\s-]*".join(parts) or re.escape(plain(item)) or "(?!)"


_WHOLE = r"(?:rating|score|evaluation|perception|view|impression|assessment|sentiment|attitude)s?"
_LABEL = re.compile(r"([a-z]{6,16})(?=\s*[:=|-]|\s\d)")


class _Asked:
    """The items, and how a text may name them."""

    def __init__(self, items: Sequence[str], group: str) -> None:
        self.items, self.group = items, plain(group).strip()
        self.words = frozenset(re.findall(r"\w+", self.group)) | _GROUP  # that name the group
        self.named = [item for item in items if item not in (OVERALL, "Rating")]
        self.forms = {f"i{n}": item for n, item in enumerate(self.named)}
        alternatives = "|".join(f"(?P<{key}>{_forms(item)})" for key, item in self.forms.items())
        last = {
            key: plain(item).split("-")[-1].split()[-1]
            for key, item in self.forms.items()
            if re.search(r"[\s-]", item.strip())
        }
        self.short = {word: self.forms[key] for key, word in last.items()}
        self.pattern = re.compile(rf"(?<![\w-])(?:{alternatives or '(?!)'})(?![\w])")
        self.short_pattern = re.compile(
            "(?:(?:social|socio-?economic) "
            rf")?({'|'.join(map(re.escape, self.short)) or '(?!)'})(?!\w)"
        )

    def mentions(self, said: str) -> list[Token]:
        """The items in a sentence, as tokens."""
        named = [
            m
            for m in self.pattern.finditer(said)
            if m.group() and m.group() not in self.group.split()
        ]
        found = [Token("item", self.forms[m.lastgroup or ""], m.start(), m.end()) for m in named]
        begins = len(said) - len(re.sub(r"^\W+", "", said))
        label = self.short_pattern.match(said, begins) or _LABEL.match(said, begins)
        if label and not any(t.start < label.end() for t in found):
            item = self.short.get(label[1]) or self._misspelt(label[1])
            if item:
                found.insert(0, Token("item", item, label.start(), label.end(1)))
        return found

    def group_named(self, lines: list[Line]) -> bool:
        """Whether lines name the group beside the item: "Help men: 3"."""
        own = [w for w in self.group.split() if w not in _GROUP]
        return (
            bool(own)
            and sum(
                re.search(rf"\b{re.escape(own[-1])}\b[^:]{{0,12}}[:|-]\W*\d", line.said) is not None
                for line in lines
            )
            > 1
        )

    def is_another(self, label: list[Token]) -> bool:
        """Whether the words after an item name another group."""
        said = [
            t.text
            for t in label
            if t.kind == "word" and t.text not in _GROUP and t.text not in _RATING_WORDS
        ]
        return (
            bool(said)
            and all(t.kind in ("word", "hedge", "counting", "strength") for t in label)
            and not self.words & set(said)
        )

    def _misspelt(self, word: str) -> str | None:
        """The item that a word misspells: "Competant"."""
        if word in self.group.split():
            return None
        near = get_close_matches(word, [plain(item) for item in self.named], n=2, cutoff=0.85)
        return (
            next(item for item in self.named if plain(item) == near[0])
            if len(near) == 1 and near[0][0] == word[0]
            else None
        )

    def is_label(self, said: str) -> bool:
        """Whether a cell is an item, with nothing but its group, a remark or a number."""
        if not said or len(said) > 60 or len(said.split()) > 7:
            return False
        said = re.sub(r"\([^()]*\)|^\W*\d{1,2}[.):]\s*", " ", said)
        if re.search(r"\d|[.!?]\s+\w|\w,", said):
            return False
        if re.fullmatch(rf"\W*(?:the )?overall(?: \w+)?(?: {_WHOLE})?\W*", said):
            return True
        found = self.mentions(said)
        return (
            bool(found)
            and not re.search(r"\w", said[: found[0].start])
            and len(said[found[0].end :].split()) < 5
        )


# ---- Tokens

_LOW = (
    r"(?:not|very|extremely|low\w*|least|strongly|none|never|min\w*|negative\w*|poor\w*|worst|no|"
    r"completely|weak\w*|disagree)"
)
_IS = r"\s*(?:=|:|-|is|being|means?|meaning|for|\()\s*\W?"
_ENDS = re.compile(
    r"\(?(?:\bfrom |\bwhere |\bwith "
    rf")?\b[01]{_IS}{_LOW}\b[a-z' ]{{0,30}}\W?\)?\s*(?:,\s*)?(?:(?:to|through|and|up to|[-,;]|"
    rf"\.\.\.)\s*)+(?P<top>5|7|10|100){_IS}[a-z][a-z' ]{{1,30}}\W?\)?"
)
_LEGEND = re.compile(
    rf"\(?\b1\s*[=:-]\s*{_LOW}\b[^\d\n]{{0,40}}(?:\b[2-5]\s*[=:-]\s*[a-z][^\d\n]{{1,40}}){{2,}}"
)


_REVERSED = re.compile(  # 1 is the highest, 5 the lowest
    r"(?<![\w-])1\s*(?:=|:|-|is|being|means|meaning|\()\s*\W?(?:extremely|completely|always|most|"
    r"highest|high|best|a lot|totally|fully|strongly agree|very (?:much|positiv\w+|high|warm|good|"
    r"often))\b[^\n]{0,120}?(?<![\w-])5\s*(?:=|:|-|is|being|means|meaning|\()\s*\W?(?:not|none|"
    r"never|least|lowest|low|worst|strongly disagree|no\b|very (?:little|negativ\w+|low|cold|bad|"
    "rarely))"
)
_OTHER_ENDS = re.compile(  # "0 = not at all, 4 = extremely"
    rf"(?<![\w.])[01]\s*[=:]\s*\W?{_LOW}\b[^\n=:]{{0,40}}(?<![\w.=])(?!5\b)(?P<top>\d{{1,3}})\s*"
    r"[=:]\s*\W?(?:extreme\w*|very|complete\w*|most|high\w*|always|a lot|strong\w*|"
    r"max\w*)\b(?![^\n]*\b5\s*[=:-])"
)
_INLINE = re.compile(r"\s*(?:^|(?<=[\s,;:]))\(?(\d{1,2})[.)]\s+(?=[a-z])")


_GAP = r"(?:[^\w\n]|_|[xX](?=[\])])|\bor\b){1,9}"
_COPIED = re.compile(
    r"[^\w\s:=-]{0,6}(?:[\[(][xX][\])]\s*|"
    rf"__)?(?<![\d.,])1{_GAP}2{_GAP}3{_GAP}4{_GAP}5(?![\d.%]\d|/|\w)(?:[*_)\]}}>✓✔✅]+|\s?[✓✔✅])?"
)
_MARKED = (
    r"(?:\*\*{0}\*\*|\*{0}\*|__{0}__|\({0}\)|\[{0}\]|>{0}<|[\[(][xX][\])]\s*{0}|"
    r"[☑✓✔☒✅●◉]\ufe0f?\s*{0}(?=\D)|{0}\s?[✓✔✅])"
)


_EXAMPLE = re.compile(  # of a rating that is not given: 'a statement such as "Friendly: 2"'
    r"\b(?:such as|like|e\.g\.,?|for (?:example|instance),?|in the (?:form|format)(?: of)?|"
    r"statements?|saying(?: that)?|phrases?):? (?:\"[^\"\n]{1,60}\"|“[^”\n]{1,60}”|'[^'\n]{1,60}')"
)


def _copied(m: re.Match[str]) -> str:
    """A copied scale as its marked point ("1 2 **3** 4 5"), or else as a scale."""
    marked = [n for n in range(1, 6) if re.search(_MARKED.format(n), m.group())]
    return f" {marked[0]} " if len(marked) == 1 else " (scale of 1 to 5) "


def _prepared(text: str) -> str:
    """A line as returned by `plain`, with scales in one form, and words apart that look like
    one."""
    text = re.sub(r"(?:^|(?<=[.;(]))[^.;:()\n]*\bwould have been\b[^.;:()\n]*", " ", text)
    text = re.sub(r"\[\s*(\d)\s*,\s*(\d)\s*\]", r"\1-\2", text)
    text = re.sub("[①-⑤]", lambda m: f"({ord(m[0]) - ord('①') + 1})", text)
    text = _EXAMPLE.sub(" ", _COPIED.sub(_copied, with_fractions(text)))
    text = re.sub(r"(?<=[a-z])[*_]*\s+&\s+[*_]*(?=[A-Za-z])", " and ", text)
    text = re.sub(r"(?<=\d)[*_]*\s*(?:→|[-=]+>|⇒|➜|➔|⟶)\s*[*_]*(?=\d)", " , wait, ", text)
    text = re.sub(
        r"([:=|–—-]\s*[*_]*\s*\d(?:[.,]\d+)?(?:\s*/\s*\d+)?[*_]*)\s+(?!(?:Jan|Febr)uary|March|"
        r"April|May\b|June|July|August|\w+ember|October)(?=[A-Z][a-z])",
        r"\1. ",
        text,
    )
    # A dash between a rating and a number that counts is no range: "4 - 12 years of college".
    text = re.sub(
        r"(?<=\d)(?:\*\*)?\s+[-–—]+\s+(?=[$€£]?\d[\d,.]*\s?(?:%|-?[A-Za-z](?!ut of)))", ". ", text
    )
    text = re.sub(r"\b[Ii]f the question is\b", "as for", text)
    text = re.sub(r"(?<=[a-z])_(?=[a-z])", " ", text)
    text = re.sub(
        r"\b(?:\d|[Ff]ive)-(star|point)(?= [a-z])(?! (?:scale|rating|likert|system|score))",
        r"\1",
        text,
    )
    said = re.sub(r"\b(?:5|7|10|five|seven|ten)-point (?=rating|score)", "", plain(text))
    said = re.sub(r"(?<=[a-z)])\s*(?:\.{2,}|…)\s*(?=\d)", ": ", said)
    said = _LEGEND.sub(
        " (scale of 1 to 5) ", _ENDS.sub(lambda m: f" (scale of 1 to {m['top']}) ", said)
    )
    said = re.sub(r"(?<=[:=|] [1-5])-(?=[a-z])(?!point|star|pt\b|ish\b)", " - ", said)
    numerals = [int(n) for n in _INLINE.findall(said)]
    return (
        _INLINE.sub(", ", said)
        if len(numerals) > 2 and numerals == list(range(numerals[0], numerals[0] + len(numerals)))
        else said
    )


_OWN = re.compile(
    r"(?<![\w-])(?:(?:my|the|final|overall|assigned|given|group|general|total)\s+)*(?:rating|"
    r"score|overall|answer)(?:\s*(?:\([^()\n]*\)|value|is))*(?=\s*(?:[:=|-]|\d|(?<=is)\s))"
)
_OVERALL = re.compile(
    r"(?<![\w-])overall(?! (?:average|mean|sum|total))(?:(?: (?:society's|public|societal|"
    rf"group))? {_WHOLE}(?!\w)|(?=\s*(?:[:,=|(-]|$)|\sis\b| [^.!?;\n]{{0,200}}(?:[1-5]|one|two|"
    r"three|four|five)\b))"
)


class _Reader:
    """Reads the lines of an answer from top to bottom."""

    def __init__(self, lines: list[Line], asked: _Asked) -> None:
        self.lines, self.asked = lines, asked
        self.claims: list[_Claim] = []
        self.turned: list[tuple[int, _Claim]] = []
        self.rated: set[int] = set()  # lines that hold a rating, or an item's field without one
        self.group_named = asked.group_named(lines)
        self.listed: set[int] = set()  # lines that list keywords
        self.base = _MOST  # the top of the scale that was named last
        self.correcting = False
        self.stated: list[str] = []  # the items that the line began with, and rated
        self.section = ""  # whose heading was read last
        self.moved = False  # whether the item that waits for a rating had one, which was taken back
        self.pending: str | None = None  # an item that was named, with no rating yet
        self.waited = 0  # sentences since
        self.pending_line = self.bare_line = -2  # where, and where nothing but its name was said
        self.line = 0

    def ratings(self) -> dict[str, float]:
        for number, line in enumerate(self.lines):
            self.line = number
            if number not in self.listed:
                self._read(line)
        self._turned_claims()
        self._of_other_groups()
        self.claims = _without_count(self.claims)
        return {item: value for item in self.asked.items if not isnan(value := self._settled(item))}

    def _settled(self, item: str) -> float:
        claims = sorted((c for c in self.claims if c.item == item), key=lambda c: c.line)
        last = max((i for i, c in enumerate(claims) if c.corrects), default=None)
        if last is not None:
            claims = claims[last:]
        if any(c.role > _WEAK for c in claims):
            claims = [c for c in claims if c.role > _WEAK]
        fields = [c for c in claims if c.role == _FIELD]
        if fields and all(c.line < fields[0].line for c in claims if c.role < _FIELD):
            claims = fields  # the list that concludes what is said before
        values = {c.value if c.value == c.value else None for c in claims}
        value = values.pop() if len(values) == 1 else None
        return nan if value is None else value

    def _of_other_groups(self) -> None:
        """Drop the claims under headings of other groups."""
        own = {w for w in self.asked.group.split() if w not in _GROUP}
        heads = [i for i, line in enumerate(self.lines) if self._is_name(line)]
        mine = next((i for i in heads if own & set(re.findall(r"\w+", self.lines[i].said))), None)
        if mine is None or not self.claims:
            return

        def under(claim: _Claim) -> int:
            return max((i for i in heads if i < claim.line), default=-1)

        rated = {c.item for c in self.claims if under(c) == mine}
        others = {under(c) for c in self.claims if under(c) > mine and c.item in rated}
        self.claims = [c for c in self.claims if not (others and under(c) >= min(others))]

    def _is_name(self, line: Line) -> bool:
        """Whether a line is a short heading, neither of a section nor of an item."""
        said = line.said.rstrip(" :")
        short = (
            0 < len(said.split()) < 4
            and not re.search(r"\d|[:|]", said)
            and (line.headed or line.said.endswith(":"))
        )
        return (
            short
            and not section_of(line)
            and not self.asked.mentions(said)
            and not re.search(r"\b(?:final|revised|overall)\b", said)
        )

    def _turned_claims(self) -> None:
        """Add ratings that stand before their items, "4 - Friendly", unless they are list
        numbers."""
        values = [c.value for _, c in self.turned]
        if len(values) > 1 and all(b - a == 1 for a, b in pairwise(values)):
            return
        if values == [1.0]:
            return
        for line, claim in self.turned:
            self.claims.append(claim)
            self.rated.add(line)

    def _claim(self, item: str, value: float, role: int, corrects: bool = False) -> None:
        explains = self.section == "reasons" and len(self.asked.items) > 1 and not corrects
        if explains and (
            role == _PROSE or any(c.item == item and c.role == _FIELD for c in self.claims)
        ):
            role = _WEAK  # "Reasons: honesty is at 4 in polls"
        self.claims.append(_Claim(item, value, role, self.line, corrects or self.correcting))
        self.rated.add(self.line)
        if role == _FIELD:
            self.section = "ratings"
        if self.pending == item:
            self.moved = False
            self.pending, self.bare_line = None, -2

    # ---- Lines and sentences

    def _read(self, line: Line) -> None:
        said = _prepared(line.text)
        if self._heading(line, said):
            return
        found = self._tokens(said)
        sentences = _sentences(found)
        self.stated = []
        for sentence in sentences:
            if not self._taken_back(sentence):
                self._sentence(sentence, said, line)

    def _heading(self, line: Line, said: str) -> bool:
        """Whether a line is a section's heading. It may name the scale, or say that the next
        ratings are final."""
        short = len(said.split()) < 16
        if (
            short
            and (line.headed or said.rstrip().endswith(":"))
            and re.search(r"\b(?:ratings|scores)\b", said)
            and not self.asked.mentions(said)
        ):
            self.section = "ratings"
            self.correcting = bool(
                re.search(r"\b(?:revised|final|corrected|adjusted|updated|new)\b", said)
            ) and bool(self.claims)
            self.pending = None
            self._name_scale(tokens(said, _MOST))
            return True
        section = section_of(line)
        if section and not (section[0] == "ratings" and section[1]):
            self.section = section[0]
            self.pending = None
            if self.section == "keywords" and not section[1]:
                self._keywords_rated()
            # "Keywords: honest (3 times), loud"
            return (
                section[0] == "keywords"
                and len(self.asked.items) > 1
                and "," in section[1]
                and not re.search(r"[:=]\W*\d", section[1])
            )
        return False

    def _keywords_rated(self) -> None:
        """Skip a list of keywords with numbers of which some are items: "Lazy: 3", "Honest: 4"."""
        run = self.line + 1
        while (
            run < len(self.lines)
            and self.lines[run].marker == self.lines[self.line + 1].marker != ""
            and not (run > self.line + 1 and self.lines[run].parted)
        ):
            run += 1
        rows = self.lines[self.line + 1 : run]
        if sum(not self.asked.mentions(line.said) for line in rows) * 2 >= len(rows) > 2:
            self.listed.update(range(self.line + 1, run))

    def _name_scale(self, found: list[Token]) -> None:
        named = [t.base for t in found if t.kind == "scale" and t.base and not isnan(t.base)]
        if named:
            self.base = named[-1] if named[-1] in (5, 7, 10, 100) else _MOST

    def _tokens(self, said: str) -> list[Token]:
        """The tokens of a line, with one for each item."""
        mentions = self.asked.mentions(said)
        own = [Token("own", "", m.start(), m.end()) for m in _OWN.finditer(said)]
        overall = [Token("item", OVERALL, m.start(), m.end()) for m in _OVERALL.finditer(said)]
        begins = len(said) - len(re.sub(r"^\W+", "", said))
        if len(self.asked.items) == 1:
            own, overall = (
                [*own, *(t._replace(kind="own", text="") for t in overall if t.end - t.start > 7)],
                [],
            )
        opening = [
            t
            for t in overall
            if t.start == begins or said[: t.start].rstrip()[-1:] in (".", "!", "?", ";")
        ]
        whole = [t for t in overall if len(said[t.start : t.end].split()) > 1]
        if mentions and mentions[0].start <= begins + 8:
            overall = [
                t for t in overall if t.start > mentions[0].start and (t in whole or t in opening)
            ]
        elif mentions:
            overall = [t for t in overall if t in whole or t in opening]
        marks: list[Token] = []
        for mark in sorted([*mentions, *overall, *own], key=lambda t: (t.start, -t.end)):
            if not marks or mark.start >= marks[-1].end:
                marks.append(mark)
        found = [
            t
            for t in tokens(said, _MOST)
            if not any(m.start < t.end and t.start < m.end for m in marks)
        ]
        found = [t._replace(kind="and") if t.text == "and" else t for t in found]
        return sorted([*found, *marks], key=lambda t: t.start)

    def _taken_back(self, found: list[Token]) -> bool:
        """Whether a sentence corrects the rating that its line began with: "Disgust: 2. Hmm,
        no, 1." """
        numbers = [i for i, t in enumerate(found) if t.kind == "number" and not _is_year(t)]
        others = any(t.kind in ("item", "own") and t.text not in self.stated for t in found)
        if (
            not self.stated
            or others
            or len(numbers) != 1
            or not any(t.kind == "wait" for t in found[:4])
        ):
            return False
        at = numbers[0]
        # "it would be lower, so 2"
        since = max((i for i in range(at) if found[i].kind in ("comma", "so", "arrive")), default=0)
        if not _closes(found, at) or any(
            t.kind in ("bound", "othered", "suppose", "deny") for t in found[since:at]
        ):
            return False
        for item in self.stated:
            self._claim(item, self._value(found, at), _FIELD, True)
        return True

    def _sentence(self, found: list[Token], said: str, line: Line) -> None:
        if not found:
            return
        at = _lead(found)
        items = [i for i, t in enumerate(found) if t.kind == "item"]
        alone = (
            len(self.asked.items) == 1
            and not items
            and not line.marker
            and (self.section != "reasons" or line.parted)
        )
        if (
            alone
            and self.claims
            and any(t.kind == "wait" for t in found[:2])
            and not any(t.kind == "number" for t in found)
        ):
            self.correcting = True  # "Wait, the question is another."
        rating = self._as_rated(found) if alone else None
        rating = self._concluded(found) if alone and rating is None else rating
        numbers = [i for i, t in enumerate(found) if t.kind == "number"]
        if (
            alone
            and self.claims
            and len(numbers) == 1
            and _closes(found, numbers[0])
            and _REVISES.search(said[found[0].start : found[-1].end])
        ):
            self._claim(self.asked.items[0], self._value(found, numbers[0]), _PROSE, True)
            return
        if rating is not None:
            self._claim(self.asked.items[0], rating, _PROSE, any(t.kind == "wait" for t in found))
            return
        if (
            not any(t.kind in ("item", "own", "number") or t.text in _POLLS for t in found)
            and line.marker != "numeral"
        ):
            self._name_scale(found)
        if items and found[0].kind == "deny" and items[0] == 1:
            return  # "Not traditional: 4" is another item
        if items and (self._one_each(found, items) or self._too_high(found, said)):
            return
        if at < len(found) and found[at].kind == "item":
            self._field(found, at, said)
        elif at < len(found) and found[at].kind == "own":
            self._own(found, at, said)
        elif self.pending and self.waited < 2 and at < len(found) and found[at].kind == "number":
            self._following(found, at, said)
        elif items and self._is_turned(found, items):
            value = self._value(found, next(i for i, t in enumerate(found) if t.kind == "number"))
            self.turned.append(
                (self.line, _Claim(found[items[0]].text, value, _FIELD, self.line, self.correcting))
            )
        elif items:
            self._prose(found, said)
        elif any(t.kind == "own" for t in found) and line.marker != "numeral":
            self._own(found, next(i for i, t in enumerate(found) if t.kind == "own"), said)
        elif self.pending or any(t.kind == "wait" for t in found):
            self._following(found, at, said)

    def _one_each(self, found: list[Token], items: list[int]) -> bool:
        """Whether a sentence lists items and then numbers ("respectively"); rate them if they
        are as many."""
        at = next((i for i in items if len(_group(found, i)[0]) > 1), None)
        first = next(
            (i for i, t in enumerate(found) if t.kind == "number" and at is not None and i > at),
            None,
        )
        if (
            at is None
            or first is None
            or any(found[i].kind == "item" for i in range(_group(found, at)[1], first))
        ):
            return False
        group = _group(found, at)[0]
        numbers, i = [first], first + 1
        while i < len(found) and found[i].kind in ("comma", "and", "slash", "number", "hedge"):
            numbers += [i] if found[i].kind == "number" else []
            i += 1
        if len(numbers) < 2 or (i < len(found) and len(numbers) != len(group)):
            return False
        if len(numbers) == len(group):
            for item, number in zip(group, numbers, strict=True):
                self._claim(item, self._value(found, number), _FIELD)
            self._prose(found, "", i)
        return True

    def _field(self, found: list[Token], at: int, said: str) -> None:
        """A sentence that begins with one or more items."""
        group, after = _group(found, at)
        following = next(
            (i for i in range(after, len(found)) if found[i].kind == "item"), len(found)
        )
        number, value, corrects = self._linked(found, after, following, True)
        if number is None and following < len(found):  # items named in what explains it
            last = max((i for i, t in enumerate(found) if t.kind == "number"), default=0)
            only = sum(t.kind == "number" for t in found) == 1
            if (
                last
                and _closes(found, last)
                and (only or found[last - 1].kind == "open")
                and _apart(found, last)
            ):
                number, value, following = last, self._value(found, last), len(found)
        link = [t.kind for t in found[after:number]] if number is not None else []
        if isnan(value) and not (
            set(link) & {"sep", "dash", "open"}
            and set(link) <= {"sep", "dash", "open", "hedge", "own"}
        ):
            # "Friendly 24/7", "Wealth is held by the top 1%"
            number, following = None, len(found) if number is not None else following
        if number is not None:
            if self._counts(found, number):
                return
            label = next(
                (
                    i
                    for i in range(after, number)
                    if found[i].kind in ("sep", "dash", "open", "copula")
                ),
                number,
            )
            if self.group_named and self.asked.is_another(found[after:label]):
                return
            for item in group:
                self._claim(item, value, _FIELD, corrects)
            self.pending, self.bare_line = None, -2
            self.stated = group
            if following < len(found):
                self._prose(found, said, following, value)
            return
        kinds = [t.kind for t in found[after:]]
        bare = (
            all(kind in _EMPTY for kind in kinds)
            and (kinds[-1:] == ["sep"] or "sep" not in kinds)
            and kinds.count("word") < 4
        )
        if bare and "sep" in kinds:
            self.rated.add(self.line)
        if following < len(found):
            if self._prose(found, said):
                return
        elif not bare:
            rating = self._as_rated(found)
            if rating is None and any(
                t.kind in ("verb", "say", "self", "name", "deny", "arrive") for t in found
            ):
                rating = self._by_intensity(said[found[at].end : found[-1].end])
            if rating is not None:
                for item in group:
                    self._claim(item, rating, _PROSE)
                return
        # The prompt's empty list is no row of headings.
        listed = bare and self.bare_line == self.line - 1
        self.pending = None if listed or len(group) > 1 else group[0]
        self.pending_line, self.waited = self.line, 0
        self.bare_line = self.line if bare else -2

    def _own(self, found: list[Token], at: int, said: str) -> None:
        """ "Rating: 4" """
        following = next((i for i in range(at, len(found)) if found[i].kind == "item"), len(found))
        number, value, corrects = self._linked(found, at + 1, following, True)
        if number is None:
            if following < len(found):  # "Rating: friendly 4"
                self._prose(found, said, following)
            return
        if number == at + 1 and [t.kind for t in found[number + 1 :]] == ["sep"]:
            return  # "Rating 1:", a heading
        item = self.pending or self._overall()
        if self.pending:
            self.rated.add(self.pending_line)
        if item:
            self._claim(item, value, _FIELD, corrects)

    def _overall(self) -> str | None:
        return (
            OVERALL
            if OVERALL in self.asked.items
            else self.asked.items[0]
            if len(self.asked.items) == 1
            else None
        )

    def _as_rated(self, found: list[Token]) -> float | None:
        """The rating in "they are viewed as a 4"."""
        numbers = [i for i, t in enumerate(found) if t.kind == "number"]
        if len(numbers) != 1 or any(
            t.kind in ("deny", "bound", "othered", "suppose") for t in found[: numbers[0]]
        ):
            return None
        i = numbers[0]
        before = [t.text for t in found[max(0, i - 2) : i]]
        seen = any(
            t.kind in ("verb", "say", "name", "self") or t.text in _SEEN | _RECEIVED
            for t in found[:i]
        )
        led = before[-1:] in (["as a"], ["as an"], ["as"], ["at"]) or before in (
            ["as", "a"],
            ["as", "an"],
            ["them", "a"],
            ["it", "a"],
        )
        led = led or (
            before[-1:] in (["a"], ["an"])
            and _closes(found, i)
            and any(t.kind == "verb" for t in found[:i])
        )
        led = led or (
            before[-1:] in (["a"], ["an"])
            and any(t.text in _RECEIVED for t in found[max(0, i - 3) : i])
        )
        return (
            _on_scale(self._value(found, i)) if seen and led and self._goes_on(found, i) else None
        )

    def _concluded(self, found: list[Token]) -> float | None:
        """The rating in "I would give a rating of 3", "my rating is 4"."""
        for i, t in enumerate(found):
            if t.kind != "number" or i < 2 or not self._goes_on(found, i):
                continue
            named = max(
                (
                    k
                    for k in range(i)
                    if found[k].text in ("rating", "score") or found[k].kind == "own"
                ),
                default=None,
            )
            if named is None or any(
                x.kind in ("deny", "bound", "othered", "suppose", "instead", "number")
                for x in found[:i]
            ):
                continue
            begins = max(
                (k + 1 for k in range(named) if found[k].kind in ("comma", "but", "so")), default=0
            )
            lead = found[begins:named]
            own = all(x.kind in ("hedge", "final", "settle") or x.text in _MY for x in lead) or any(
                x.kind == "self" or x.text in ("i", "we") for x in lead
            )
            stated = (found[i - 1].text == "of" and named == i - 2) or (
                (
                    found[i - 1].kind == "copula"
                    or (found[i - 1].kind == "hedge" and found[i - 2].kind == "copula")
                )
                and _closes(found, i)
            )
            if own and stated:
                return _on_scale(self._value(found, i))
        return None

    def _following(self, found: list[Token], at: int, said: str) -> None:
        """A sentence that names no item, after one that did."""
        self.waited += 1
        numbers = [i for i, t in enumerate(found) if t.kind == "number"]
        if any(t.kind == "wait" for t in found[:3]) and self.claims and not self.pending:
            if len(numbers) == 1 and self._goes_on(found, numbers[0]):
                last = self.claims[-1]
                if last.line >= self.line - 1:
                    self._claim(last.item, self._value(found, numbers[0]), _FIELD, True)
            return
        if not self.pending or self.waited > 6:
            return
        value: float | None = None
        if at < len(found) and found[at].kind == "number":
            if self.waited < 3 and self._goes_on(found, at) and not self._counts(found, at):
                value = self._value(found, at)
        elif (
            len(numbers) == 1
            and _closes(found, numbers[0])
            and found[numbers[0] - 1].kind in ("open", "name", "sep")
        ):
            value = self._value(found, numbers[0])
        elif len(numbers) == 1 and any(
            t.kind in ("verb", "say", "self") for t in found[: numbers[0]]
        ):
            value = self._as_rated(found) or self._by_intensity(
                said[found[0].start : found[-1].end]
            )
        if value is not None:
            self.rated.add(self.pending_line)
            self._claim(self.pending, value, _FIELD, self.moved)

    def _is_turned(self, found: list[Token], items: list[int]) -> bool:
        """ "4 - Friendly", "4/5 Friendly" """
        numbers = [i for i, t in enumerate(found) if t.kind == "number"]
        if len(numbers) != 1 or len(items) != 1 or not numbers[0] < items[0]:
            return False
        lead = all(t.kind in ("open", "hedge", "dash") for t in found[: numbers[0]])
        between = all(
            t.kind in ("sep", "dash", "close", "point", "comma")
            for t in found[numbers[0] + 1 : items[0]]
        )
        gloss = found[items[0] + 1 :]
        return (
            lead
            and between
            and (len(gloss) < 4 or gloss[0].kind in ("open", "sep", "dash", "stop", "comma"))
        )

    def _prose(
        self, found: list[Token], said: str, begin: int = 0, previous: float | None = None
    ) -> bool:
        """Rate the items anywhere in a sentence from `begin` on; return whether there are any.

        previous: the rating before `begin`.
        """
        reported = any(t.text in _POLLS for t in found) and not any(
            t.kind in ("self", "verb") for t in found
        )
        if reported or any(t.kind == "othered" for t in found):
            # "Few people admire them, so Admire gets a 1"
            so = max(
                (i for i, t in enumerate(found) if t.text in ("so", "therefore", "hence")),
                default=len(found),
            )
            rest = found[so + 1 :]
            if (
                begin
                or reported
                or any(t.kind == "othered" for t in rest)
                or not any(t.kind == "item" for t in rest)
            ):
                return False
            found = rest
        corrects = any(
            t.kind == "wait" and (i < 3 or t.text != "actually") for i, t in enumerate(found)
        )
        corrects = corrects or any(t.text in _REVISING for t in found[:6])
        rates = any(t.kind in ("verb", "say", "name", "self", "own") for t in found)
        claimed: set[int] = set()
        taken: set[int] = set()
        for i, t in enumerate(found):  # "a 4 for friendliness"
            if t.kind != "number" or i < begin:
                continue
            j = _past(found, i + 1, ("percent", "point", "scale", "close"))
            if j < len(found) and found[j].text in _FOR:
                k = _past(found, j + 1, ("hedge", "pronoun", "strength"), _ARTICLES)
                before = found[i - 1] if i else None
                plainly = (
                    rates
                    or t.base
                    or before is None
                    or before.kind in ("comma", "and", "sep", "open", "hedge")
                )
                if k < len(found) and found[k].kind == "item" and plainly:
                    group, after = _group(found, k)
                    taken.add(i)
                    claimed.update(range(k, after))
                    for item in group:
                        self._claim(item, self._value(found, i), _PROSE, corrects)
        for group, number in self._boxed(found, begin):
            taken.add(number)
            for at, item in group:
                claimed.add(at)
                self._claim(item, self._value(found, number), _PROSE, corrects)
        i = begin
        left: list[tuple[list[str], int]] = []
        while i < len(found):
            if found[i].kind != "item" or i in claimed:
                i += 1
                continue
            group, after = _group(found, i)
            following = next(
                (k for k in range(after, len(found)) if found[k].kind == "item"), len(found)
            )
            number, value, changed = self._linked(found, after, following, False)
            if number is not None and (
                isnan(value) or (self._counts(found, number) and not found[number].base)
            ):
                number = None
            if (
                number is None
                and i > 1
                and found[i - 1].kind == "copula"
                and found[i - 2].kind == "so"
                and previous is not None
            ):
                for item in group:  # "traditional is a 5, and so is conservative"
                    self._claim(item, previous, _PROSE, corrects)
            elif number is not None and number not in taken:
                previous = value
                taken.add(number)
                for item in group:
                    self._claim(item, value, _PROSE, corrects or changed)
            else:
                left.append((group, i))
            i = after
        numbers = [
            i for i, t in enumerate(found) if t.kind == "number" and i not in taken and i >= begin
        ]
        if numbers and left and rates:
            for (group, i), (_, end) in zip(left, [*left[1:], ([], len(found))], strict=True):
                start = 0 if len(left) == 1 and not claimed and not taken and not begin else i
                rating = self._as_rated(found[start:end])
                if rating is None and end > start:
                    rating = self._by_intensity(said[found[start].start : found[end - 1].end])
                if rating is not None:
                    taken.update(numbers)
                    for item in group:
                        self._claim(item, rating, _WEAK, corrects)
        return bool(taken)

    def _too_high(self, found: list[Token], said: str) -> bool:
        """Whether a sentence takes an item's rating back or moves it: "a 4 seems too high"."""
        items = {t.text for t in found if t.kind == "item"}
        numbers = [i for i, t in enumerate(found) if t.kind == "number"]
        clause = said[found[0].start : found[-1].end]
        if len(items) != 1 or not any(c.item in items for c in self.claims):
            return False
        (item,) = items
        if len(numbers) == 1 and _MOVES.search(clause) and _closes(found, numbers[0]):
            self._claim(item, self._value(found, numbers[0]), _FIELD, True)
            return True
        rated = numbers or re.search(r"\b(?:rating|score|value|figure)\b", clause)
        if not _TOO.search(clause) or len(numbers) > 1 or not rated:
            return False
        self._claim(item, nan, _FIELD, True)
        self.pending, self.pending_line, self.waited, self.moved = item, self.line, 0, True
        return True

    def _boxed(self, found: list[Token], begin: int) -> list[tuple[list[tuple[int, str]], int]]:
        """Items with their rating in brackets: "they help them (4) and protect them (5)"."""
        items = [i for i, t in enumerate(found) if t.kind == "item" and i >= begin]
        boxed = [
            i
            for i, t in enumerate(found)
            if t.kind == "number"
            and i > begin
            and found[i - 1].text == "("
            and _past(found, i + 1, ("point",)) < len(found)
        ]
        boxed = [
            i
            for i in boxed
            if found[_past(found, i + 1, ("point",))].kind == "close"
            and not isnan(self._value(found, i))
        ]
        values = [found[i].value for i in boxed if found[i].base is None]
        if (
            not items
            or (len(values) > 1 and all(b - a == 1 for a, b in pairwise(values)))
            or any(t.kind == "sep" for t in found)
        ):
            return []
        pairs = []
        for number, before in zip(boxed, [begin, *boxed], strict=False):
            group = [i for i in items if before <= i < number]
            if any(t.kind == "number" for t in found[(group or [number])[0] : number]):
                continue
            joined = group and _group(found, group[0])[1] > group[-1]
            if joined and (found[number].base == _MOST or len(boxed) == len(items)):
                pairs.append(([(i, found[i].text) for i in group], number))
        return pairs

    # ---- Numbers

    def _linked(
        self, found: list[Token], start: int, stop: int, field: bool
    ) -> tuple[int | None, float, bool]:
        """Return the linked number from `start` on, its value, and whether it corrects another one.

        field: the sentence begins with the item, so its label may have more words: "Friendly: quite
        warm (4)".
        """
        linked = loose = doubted = False
        unknown = depth = 0
        i = start
        while i < stop:
            t = found[i]
            if t.kind == "number":
                apart = found[i - 1].kind in ("open", "dash", "sep", "comma") or (
                    found[i - 1].kind in ("hedge", "name") and not loose
                )
                only = sum(x.kind == "number" for x in found[start:stop]) == 1
                boxed = found[i - 1].kind == "open"
                if loose and not (
                    apart
                    and _closes(found, i)
                    and (boxed or (only and not doubted) or (t.base and not doubted))
                ):
                    i += 1
                    continue
                if not linked and unknown and not loose:
                    return None, nan, False
                if self._goes_on(found, i):
                    return self._corrected(found, i, stop)
                if not field:
                    return None, nan, False
                loose = True
            if t.kind in _LINKS:
                linked = linked or t.kind in ("sep", "dash", "copula", "ask")
                depth += (t.kind == "open") - (t.kind == "close")
            elif t.kind == "comma":
                if not (field and i == start):
                    loose = True
            elif t.kind in ("name", "own"):
                loose = False
            elif t.kind in _SILENT or t.text in _RATING_WORDS or t.text in self.asked.words:
                pass
            elif not field or (t.kind in _DOUBTS and not linked):
                return None, nan, False
            elif linked or depth:
                loose, doubted = True, doubted or t.kind in _DOUBTS
            else:
                unknown += 1
                if unknown > 10:
                    return None, nan, False
            i += 1
        return None, nan, False

    def _corrected(self, found: list[Token], i: int, stop: int) -> tuple[int, float, bool]:
        """The number at i, or the one that corrects it."""
        value, at, corrects = self._value(found, i), i, False
        for wait in [
            k for k in range(i + 1, stop) if found[k].kind == "wait" or found[k].text in _REVISING
        ]:
            later = next(
                (k for k in range(wait + 1, min(stop, wait + 8)) if found[k].kind == "number"), None
            )
            if (
                later is not None
                and found[later - 1].text != "from"
                and self._goes_on(found, later)
                and not self._counts(found, later)
            ):
                value, at, corrects = self._value(found, later), later, True
        return at, value, corrects

    def _goes_on(self, found: list[Token], i: int) -> bool:
        """Whether what follows the number at i leaves it a rating: it counts nothing, and no
        other number follows."""
        j = _past(found, i + 1, ("percent", "point", "scale", "close"))
        if j >= len(found) or (
            found[j - 1].kind == "close" and found[j].kind not in ("number", "slash", "outof")
        ):
            return True
        t = found[j]
        bracket = (
            [x.kind for x in found[j + 2 : j + 5]]
            if t.kind == "open" and found[j + 1 : j + 2]
            else []
        )
        if bracket in (["number"], ["number", "close"]) and found[j + 1].text in _PERHAPS:
            return False  # "3 (or 2)"
        if t.kind == "open":  # "4 (by the young), 2 (by the old)"
            k = next((k for k in range(j, len(found)) if found[k].kind == "close"), len(found))
            second = [x.kind for x in found[k + 1 : k + 4]]
            if second[:1] in (["comma"], ["and"], ["slash"]) and second[1:] in (
                ["number"],
                ["number", "open"],
            ):
                return False
        doubt = found[j + 1 : j + 4] if t.kind == "comma" else []
        if [x.kind for x in doubt[1:]] == ["number"] and doubt[0].text in _PERHAPS:
            return False  # "3, maybe 4"
        if found[i].base and t.kind == "copula":
            return False  # "1 of 5 is poor"
        rest = found[i + 1 :]
        if len(rest) > 1 and all(
            x.kind == "number" if k % 2 else x.kind in ("comma", "and", "slash")
            for k, x in enumerate(rest)
        ):
            return False  # "3, 2, 1"
        if found[i + 1].kind == "percent" and t.kind in (
            "word",
            "say",
            "verb",
            "person",
            "hedge",
            "other",
            "counting",
        ):
            return False  # "85% say so"
        following = found[j + 1].kind if j + 1 < len(found) else "end"
        if t.kind == "number" or (t.kind in ("comma", "slash", "op") and following == "number"):
            other = j if t.kind == "number" else j + 1  # "4, 1 in 5 disagrees"
            return t.kind != "slash" and (
                self._turns(found, other)
                or (other + 1 < len(found) and not self._goes_on(found, other))
            )
        if t.kind in ("and", "counting") and following == "number":
            return t.kind == "and" and (self._either(found, i) or self._turns(found, j + 1))
        if t.kind == "counting" and t.text in ("for", "among", "in"):
            return sum(x.kind == "number" for x in found) == 1 or self._turns(found, i)
        return t.text not in _COUNTED and t.kind not in ("outof", "unending")

    def _counts(self, found: list[Token], i: int) -> bool:
        """Whether a word that it may count follows the number at i: "Wealthy: 2 tax cuts"."""
        t = found[i + 1] if i + 1 < len(found) else None
        known = t is not None and (t.text in _RATING_WORDS or t.text in self.asked.words)
        known = known or (
            t is not None and (t.text.endswith("ly") or t.text in ("for", "among", "in"))
        )
        return t is not None and not known and t.kind in ("word", "other", "counting", "foreign")

    def _turns(self, found: list[Token], i: int) -> bool:
        """Whether the number at i is for an item that follows."""
        j = _past(found, i + 1, ("percent", "point", "scale", "close"))
        k = _past(found, j + 1, ("hedge", "pronoun", "strength"), _ARTICLES)
        return (
            j < len(found) and found[j].text in _FOR and k < len(found) and found[k].kind == "item"
        )

    def _either(self, found: list[Token], i: int) -> bool:
        return i + 2 < len(found) and found[i + 1].text == "or" and found[i + 2].kind == "number"

    def _value(self, found: list[Token], i: int) -> float:
        """The rating that the number at i is; NaN for a range or another scale."""
        t = found[i]
        negative = (
            i
            and found[i - 1].kind == "dash"
            and found[i - 1].end == t.start > 1
            and found[i - 2].kind in ("sep", "open")
        )
        if negative or self._either(found, i):
            return nan
        return _point(found, i, self.base)

    def _by_intensity(self, text: str) -> float | None:
        return _by_intensity(text) if self.base == _MOST else None


class _Claim(NamedTuple):
    """A rating of an item; NaN if it is off the scale."""

    item: str
    value: float
    role: int
    line: int
    corrects: bool


_WEAK, _PROSE, _FIELD = 1, 2, 3
_DOUBTS = words("deny bound instead othered suppose code")
_LINKS = words("sep dash open close copula ask")
_SILENT = words(
    "hedge strength percent point scale verb say self pronoun emotion settle so arrive wait final "
    "idiom slash item fine"
)
_EMPTY = words("sep dash open close scale hedge strength stop comma ask own word emotion point")
_RATING_WORDS = words(
    "which get gets got getting receive receives received score scores scored rated scoring earn "
    "earns earned would should likely one is agree disagree neutral viewed seen perceived "
    "considered assigned level"
)
_PERHAPS = words("maybe perhaps possibly even or")
_TOO = re.compile(
    r"(?<!not )\btoo (?:high|low|generous|harsh|optimistic|strong)\b|"
    r"\b(?:seems|looks|feels) (?:a (?:bit|little|touch)|rather) (?:high|low)\b"
)
_MOVES = re.compile(
    r"\b(?:should|must|i'd|i would|i'll|let me|let's) (?:\w+ )?(?:go|move|come|drop|raise|lower|"
    r"bump|adjust|change|be (?:\w+ed|higher|lower))\b[^.\n]* (?:up |down )?(?:to|"
    r"at) (?:an? )?\W*[1-5]\b"
)
_REVISES = re.compile(
    r"\b(?:i'd|i'll|i would|i will|i|let me|let's|should be|must be)\b[^.\n]{0,20}\b(?:lower|"
    "raise|revise|change|adjust|correct|bump|move|reduce|increase)(?:d|"
    r"ed)?\b[^.\n]* to (?:an? )?\W*[1-5]\b"
)
_MY = words("my the this that by it standard overall general final")
_REVISING = words(
    "revise revised revising correction correct corrected correcting changed adjusted updated "
    "lowered raised reconsider"
)
_RECEIVED = words(
    "receive receives received get gets earn earns score scores give gives deserve deserves merit "
    "merits warrant warrants"
)
_GROUP = words(
    "with them they others these people members group groups towards toward against each apiece "
    "respectively both"
)
_SEEN = words(
    "viewed seen perceived regarded rated considered expressed express put placed judged ranked "
    "described views view sees see regards regard rates"
)
_POLLS = words("poll polls survey surveys study studies index gallup pew average respondents")
_LABELS = words(
    "how perceived being trait item dimension characteristic attribute feeling emotion behavior "
    "behaviour adjective"
)
_FOR = words("for on in at to as regarding concerning when")
_ARTICLES = words(
    "the their being terms of how seeming appearing perceived its this that item trait"
)
_COUNTED = words(
    "years year people reasons reason times of out hours hour groups group studies study things "
    "key main major million billion thousand americans types type days decades century centuries "
    "states ways keywords traits factors points-based percentage in ranking or more american "
    "respondents adults members individuals persons men women workers children points-of"
)


def _is_year(t: Token) -> bool:
    return t.base is None and 1800 <= t.value < 2100 and t.value == int(t.value)


def _sentences(found: list[Token]) -> list[list[Token]]:
    """The tokens between full stops, semicolons and line ends."""
    sentences: list[list[Token]] = [[]]
    for t in found:
        if t.kind in ("stop", "newline"):
            sentences.append([])
        else:
            sentences[-1].append(t)
    return [s for s in sentences if s]


def _lead(found: list[Token]) -> int:
    """Where a sentence begins, after "the", "how", "rating of" and the like."""
    i = 0
    while i < len(found) and i < 5:
        t = found[i]
        follows = i and (
            t.text in ("for", "of", "on") or (t.kind == "sep" and found[i - 1].text in _LABELS)
        )
        if not (
            t.kind in ("hedge", "open", "dash", "pronoun", "close", "name")
            or t.text in _LABELS
            or follows
        ):
            break
        i += 1
    return i


def _past(
    found: list[Token], i: int, kinds: tuple[str, ...], texts: frozenset[str] = frozenset()
) -> int:
    while (
        i < len(found)
        and (found[i].kind in kinds or found[i].text in texts)
        and found[i].kind != "item"
    ):
        i += 1
    return i


def _group(found: list[Token], i: int) -> tuple[list[str], int]:
    """The items from i on that "and", commas and slashes join, and the position after them."""
    group, after, j = [found[i].text], i + 1, i + 1
    while j < len(found):
        k = j
        while k < len(found) and (
            found[k].kind in ("and", "comma", "slash")
            or (k > j and found[k].text in ("their", "the"))
        ):
            k += 1
        if k == j or k >= len(found) or found[k].kind != "item":
            break
        group.append(found[k].text)
        after = j = k + 1
    return group, after


def _closes(found: list[Token], i: int) -> bool:
    """Whether only a unit follows the number at i."""
    return _past(found, i + 1, ("percent", "point", "close", "scale")) >= len(found)


def _apart(found: list[Token], i: int) -> bool:
    """Whether the number at i stands in brackets or after a dash or colon, not right after an
    item."""
    return i > 1 and found[i - 1].kind in ("open", "dash", "sep") and found[i - 2].kind != "item"


def _point(found: list[Token], i: int, top: float = _MOST) -> float:
    """The number at i as a point of the scale; NaN for a range or another scale. top: the scale
    if none is named."""
    t = found[i]
    if (t.approximate and not t.text) or (i + 1 < len(found) and found[i + 1].kind == "percent"):
        return nan
    beside = next(
        (x.base for x in (*found[i + 1 : i + 4], *found[i::-1]) if x.kind == "scale" and x.base),
        None,
    )
    return t.value if (t.base or beside or top) == _MOST and _LEAST <= t.value <= _MOST else nan


def _by_intensity(text: str) -> float | None:
    """What `intensity` finds in a text, if one of its numbers is that point of the scale."""
    rating = intensity(text, _MOST)
    found = tokens(text, _MOST)
    others = any(
        t.kind == "scale" and t.base not in (None, _MOST) and not isnan(t.base or nan)
        for t in found
    )
    given = [_point(found, i) for i, t in enumerate(found) if t.kind == "number"]
    return rating if isinstance(rating, float) and rating in given and not others else None


def _on_scale(rating: float | str | None) -> float | None:
    return rating if isinstance(rating, float) and _LEAST <= rating <= _MOST else None


def _without_count(claims: list[_Claim]) -> list[_Claim]:
    """The claims without a run that only counts on: 1, 2, 3, 4, 5, 6."""
    run: list[int] = []
    for i, claim in enumerate(claims):
        if run and (
            claim.value == claims[run[-1]].value + 1 or (isnan(claim.value) and len(run) >= _MOST)
        ):
            run.append(i)
        elif len(run) > _MOST:
            break
        else:
            run = [i] if claim.value == _LEAST else []
    return (
        [claim._replace(value=nan) if i in run else claim for i, claim in enumerate(claims)]
        if len(run) > _MOST
        else claims
    )


def _single(item: str, lines: list[Line]) -> tuple[dict[str, float], set[int]]:
    """The rating of an answer to a single question, by `intensity`, and its lines."""
    texts = [re.sub(r"^\W*(?:rating|score) \d\W*:\W*$", "", _prepared(line.text)) for line in lines]
    unmarked = [
        t
        for t, line in zip(texts, lines, strict=True)
        if line.marker not in ("numeral", "bullet") or len(line.said.split()) < 4
    ]
    for text in ("\n".join(unmarked), "\n".join(texts)):
        rating = _by_intensity(text)
        if rating is not None:
            return {item: rating}, {
                i for i, line in enumerate(texts) if intensity(line, _MOST) == rating
            }
    return {}, set()

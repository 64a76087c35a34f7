"""A rating on a scale, in free text.

Each number gets a role from the words around it. The number with the highest role is the rating; if
two differ there is none.
"""

import re
from math import isnan, nan
from typing import NamedTuple

from .rating_tokens import Token, numbers_in, tokens_of, words
from .refusal import has_refusal, without_refusals
from .text import (
    REFUSED,
    UNPARSED,
    letters,
    plain,
    rewritten,
    rules,
    without_last_numeral,
    without_numerals,
    without_reasons,
)
from .vocabulary import word_lists


def intensity(text: str, scale: float, narrative: str = "", emotion: str = "") -> float | str:
    """The rating on a scale from 0 to `scale`, "refused" or "unparsed".

    Ratings on other scales are converted; a range counts as its middle. Numbers of `narrative` are
    skipped. Of several emotions' ratings that of `emotion` counts.
    """
    text = rewritten(without_last_numeral(text), _MARKS)
    answer = without_numerals(plain(without_reasons(text)))
    own = _own_fields(_without_next_turn(answer.replace(plain(narrative), "")), plain(emotion))
    rating = _chosen(_Reader(without_refusals(own), scale, numbers_in(plain(narrative))).ratings())
    if rating is None or isnan(rating):
        return REFUSED if has_refusal(answer) else UNPARSED
    return rating


def papers_intensity(text: str) -> float | str:
    """As the authors' program reads, whatever the scale: the first or second number."""
    if text.startswith(("I cannot", "I can't", "I'm not rating")):
        return REFUSED
    numbers = map(float, re.findall(r"\b\d+\b", text)[:2])
    return next((number for number in numbers if number <= 100), UNPARSED)


_MARKS = rules(
    {
        r"\$(?=\d)(?![^\n]{0,60}[\d})%]\s?\$(?!\d))": "€",  # money, not LaTeX
        r"\\[dt]?frac\s*\{\s*(\d+(?:\.\d+)?)\s*\}\s*\{\s*(\d+)\s*\}": r"\1/\2",
        r"(?<=[\d%])\s*(?:→|->|=>|⇒)\s*(?=\d)": " : ",  # no range
        r"\\boxed\s*\{": r"\nfinal answer: {",
        r"(?i)<(?:final[_ ]?)?(?:answer|result|output)>": "\nfinal answer: ",
        r"</[A-Za-z][^<>\n]{0,40}>": "\n",
        r"<([A-Za-z][^<>\n]{0,60}?)/?>": r"\n\1: ",
        # emotionIntensity, emotion_intensity
        r"(?<=[a-z])(?=[A-Z][a-z])|(?<=[^\W_])_(?=[^\W_])": " ",
        r"\+/-": "±",
        r"\[\s*(\d+)\s*,\s*(\d+)\s*\]": r"(\1-\2)",
        r"(?<=\d) (?:or so|mark|range)\b": "",
        # "7/10 or 8/10"
        r"(?:(?i:(between [\d.]+))|(?<=\d))\s?/\s?(100?)"
        r"(?=(?(1) and |(?: ?- ?| to | or ))[\d.]+\s?/\s?\2\b)": r"\1",
        # "I'd lower it from 80 to 70"
        r"(?i)\b((?:rais|lower|chang|adjust|revis|mov|reduc|bump|drop|increas)(?:ed?|ing)?\b"
        r"[^.\n\d]{0,40}) from (?![01]\b)\d+(?:\.\d+)? to (?=\d)": r"\1 finally ",
    }
)
# The prompt begun anew, or another's turn: what follows the answer of a model that does not stop.
_NEXT_TURN = re.compile(
    r"(?<=\w)\W*\n[^\w\n]{0,6}(?:(?:in )?the following narrative\b|(?:next )?narrative\s*(?:\d+)?:|"
    r"question\s*(?:\d+)?:|q:|user:|human:|instruction|input:|example|comment by|"
    r"how (?:much|strongly) \w+ did|rate the intensity)"
)


# "100", and then the form that the prompt ends with, again and again
_FORM_AGAIN = (
    r"(\W{0,5}\d{1,3}(?:\.\d+)?\W{0,3})\n\s{0,3}(?:[^\n]{1,80}\?\n\s{0,3})?emotion intensity:"
)


def _without_next_turn(text: str) -> str:
    if alone := re.match(_FORM_AGAIN, text):
        return alone[1]
    number = re.search(r"\d", text)
    turn = _NEXT_TURN.search(text, number.end() if number else len(text))
    return text[: turn.start() if turn else len(text)].strip()


# ---- Fields

_FIELD_LABEL = (
    r"(?:^|(?<=[\n|,;.)}{\d%])|(?<= - ))[^\w\n]{0,9}"
    r"(?P<label>[^\W\d_]{1,30}(?:(?:['-] ?| )[^\W\d_]{1,30}){0,3})(?: ?\([^()\n]{1,30}\))?\s?"
    r"(?:[:=|(-]+|(?<!he )(?<!it )(?<!they )(?:at|is|was|would be)(?: an?)? )[ ]?(?=\W{0,3}\d)"
)
_EMOTION = rf"({'|'.join(word_lists('rating_words')['emotion'])})"
_IN_PROSE = rules(
    {
        # "80 for anger and 60 for sadness"
        r"(?<![\w.:=|(-])(?<![:=|(-] )(\d+(?:\.\d+)?(?:\s?%|\s?/\s?\d+| out of \d+)?)"
        rf"(?: (?:for|of|in|on))?(?: (?:the|their|his|her|an?))? \(?{_EMOTION}(?: scale)?"
        r"(?=\s?(?:[,;.)\n]|and\b|but\b|$))": r"\n\2: \1\n",
        # "the fear scale would be at 85, the anger (moderate) at 10"
        rf"\b{_EMOTION}"
        r"(?:[ ,:()=-]{1,3}(?:scale|levels?|intensity|rating|scores?|is|was|be|are|were|would|only|"
        r"at|about|around|as|with|an?|the|this|(?:i|it|she|he|they)(?:'[ds])?|say|rated?|put|give|"
        r"gets?|sits|felt|(?:strong|high|low)\w{0,3}|moderate|dominant|much|quite|very|just|"
        r"likely|probably|(?:in|by|of) (?:this|the) \w{1,20}|max(?:imum)?(?: of)?|on a scale "
        r"(?:of|from) [01] ?(?:-|to) ?\d+)){0,9}[ ,:()=-]{1,3}(?=\d)(?!0 ?(?:-|to ))": r"\n\1: ",
    }
)
_REVISES = r"\W*(?:my |the )?(?:final|revised|corrected|updated|adjusted)\b"
_REVISED = rf"\n{_REVISES}[^\d\n]{{0,80}}(?=\n\W*[^\d\n]{{2,40}}\d)"


def _own_fields(text: str, emotion: str) -> str:
    """Of the fields of several emotions, those of `emotion` in the last list; else the text."""
    for part in reversed(re.split(_REVISED, rewritten(text, _IN_PROSE))):
        fields = list(re.finditer(_FIELD_LABEL, part))
        labels = [m["label"].split() for m in fields]
        own = [emotion in (label[0], label[-1]) for label in labels]
        if not any(own):
            stem = 3 if len(emotion) < 6 else 4  # "angry" of "anger"
            own = [any(len(w) > 2 and emotion.startswith(w[:stem]) for w in ws) for ws in labels]
        if any(own) and not all(own):
            ends = [*(m.start() for m in fields[1:]), len(part)]
            return "\n".join(
                f"{m['label']} intensity{part[m.end('label') : end]}".partition("\n")[0]
                for m, end, is_own in zip(fields, ends, own, strict=True)
                if is_own or re.match(_REVISES, m["label"])
            )
    return text


# ---- Roles

# How plainly a number is the rating.
#  final    "Final answer: 80", "..., so 80", "no, wait, 80"
#  first    alone in the first paragraph
#  named    "Emotion intensity: 80", "the rating is 80"
#  felt     "Sadness: 80"
#  stated   "I'd say 80", "I would rate the sadness of this person at 80", "it's 80"
#  alone    in its own clause: "80, because ...", "..., 80"
#  loose    with a base or a unit: "they felt 8/10 sad"
_FINAL, _FIRST, _NAMED, _FELT, _STATED, _ALONE, _LOOSE = 7, 6, 5, 4, 3, 2, 1

_LABEL = {
    letters(word): label for label, terms in word_lists("intensity_words").items() for word in terms
}
_LIGHT = "(?: (?:hedge|article|at|strength|scale|close|open|approves|idiom))*"
# "this situation", "the extent to which I agree"
_OBJECT = r"(?: (?!reason|person|comma)\w+| (?:free|word|pronoun) person)"
_FIELD = rf"(?: (?:sep|bar|dash|copula|final|settle|percent|point|name|pronoun){_LIGHT})*$"
# The kinds of words in the sentence before a number.
_ROLES = [
    (re.compile(pattern), role)
    for pattern, role in (
        (
            r"\b(?:final|settle|arrive|wait)(?: (?:name|emotion|pronoun|self|verb|say|comma))*"
            rf"{_LIGHT}{_FIELD}",
            _FINAL,
        ),
        (
            r"\bnumber(?: \w+)* (?:counting|free)(?: hedge| article)*(?: scale)+ "
            rf"(?:sep|comma){_LIGHT}$",
            _FINAL,
        ),  # "7; on the scale: 70"
        (rf"\bname(?: emotion| name)*(?: number sep)?{_LIGHT}(?: emotion)*{_FIELD}", _NAMED),
        (rf"\bso(?: (?:pronoun|self|verb|say|comma))*{_LIGHT}{_FIELD}", _NAMED),
        (rf"\bemotion{_LIGHT}{_FIELD}", _FELT),
        (rf"\b(?:verb|say|self name)(?: (?:pronoun|name|emotion))*{_LIGHT}$", _STATED),
        (rf"\b(?:verb|self){_OBJECT}* (?:at|article){_LIGHT}$", _STATED),
        (rf"\bself verb{_OBJECT}{{0,8}}$", _STATED),
        (
            r"\b(?:name|emotion)"
            rf"(?: (?!reason|when|person|comma|self|number|code)\w+)* copula{_LIGHT}$",
            _STATED,
        ),
        (rf"\b(?:name|emotion) of{_LIGHT}$", _STATED),
        (rf"\b(?:begin|comma|pronoun)(?: hedge| article| suppose)* copula{_LIGHT}$", _STATED),
        (rf"(?:begin|comma|ask|so|but|fine|sep|bar|dash|close|foreign){_LIGHT}$", _ALONE),
    )
]
_ENDS = (
    "(?:end|newline|bar|open|dash|close|slash|so|but|reason|wait|instead|scale)\\b|"
    r"(?:stop|ask|comma)\b(?! and (?:\w+ )?number)|sep\b(?! (?:newline )?number)|"
    r"(?:counting|free)(?: hedge| article| counting){0,4} scale"
)
_GOES_ON = (
    "(?:name|emotion|strength|pronoun|settle|final|arrive|hedge|article|self|fine|outof|bound|"
    r"idiom|free|at)\b|and\b(?! (?:\w+ )?number)|"
    r"(?:copula|say)(?! (?:(?:hedge|article) )*"
    "(?:refutes|deny|bound|strength|reason|suppose|idiom))"
)
# "80 in terms of anger", not "3 in the morning"
_ABOUT = re.compile(
    "(?:of|in|at) (?:the |my |this |that |your |its |his |her |their )?(?:scale|intensity|terms|"
    r"total|all|case|opinion|view|\w*ness|anger|fear|joy|guilt|shame|disgust|surprise|pride|"
    r"situation|scenario|moment|event|story|relief|trust|boredom|most|best|worst|least|max\w*|"
    r"emotion\w*|strength|level)\b"
)
# "80 would be the worst", not "80 would be my answer"
_IMAGINED = re.compile(
    "(?:would|means?|represents|indicates|being)\\b(?! (?:be |feel |seem )?(?:an? |the |about )?"
    r"(?:my|right|fair|fitting|good|best|accurate|appropriate|reasonable|rating|answer|score)\b)"
)
_TURNS = words("newline stop so settle final but wait fine")
# What makes a number no rating, and up to where.
_DOUBTS = {
    "deny": (
        words("deny bound instead"),
        _TURNS | words("comma dash sep open close arrive self ask"),
    ),
    "other": (words("other"), _TURNS | words("comma self ask")),
    "othered": (words("othered"), _TURNS | words("self")),
    "suppose": (words("suppose condition"), _TURNS | words("arrive")),
    "case": (words("condition"), _TURNS - words("newline stop")),
}


class _Place(NamedTuple):
    begin: int  # the position of the first token of its sentence
    line: int
    doubts: frozenset[str]


def _places(tokens: list[Token]) -> list[_Place]:
    places = []
    begin = line = 0
    doubts: set[str] = set()
    before = ""
    for i, token in enumerate(tokens):
        kind = token.kind
        doubts = {doubt for doubt in doubts if kind not in _DOUBTS[doubt][1]}
        if before not in ("this", "that"):  # "rate this case as an 80"
            doubts |= {doubt for doubt, (begins, _) in _DOUBTS.items() if kind in begins}
        places.append(_Place(begin, line, frozenset(doubts)))
        before = token.text
        if kind in ("newline", "stop"):
            begin, line = i + 1, line + (kind == "newline")
    return places


class _Rating(NamedTuple):
    value: float  # on the task's scale; NaN if it is off it
    role: int
    line: int
    plain: bool  # the answer begins with it, or its line holds nothing else
    cell: bool  # its line ends with it, after a colon
    supposed: bool
    half: float  # of a range's length


_BEGINS = "begin(?: (?:foreign|hedge|article|strength|scale|close|open|idiom))*"
_BARE = words("end number open close percent point scale sep bar dash stop comma ask op")
_UNIT = words("percent point op")
_CELL_ENDS = words("newline end bar")
_LONG = 60  # tokens of a text, in which a number alone counts in the first line
_SENTENCE = 20  # tokens of it, before a number, that count
_FREED = words("word verb counting foreign person reason")


def _label(token: Token) -> str:
    label = _LABEL.get(token.text, token.kind)
    kept = label == "free" and token.kind not in _FREED
    return token.kind if kept or token.kind == "wait" else label


class _Reader:
    def __init__(self, text: str, scale: float, repeated: set[float]):
        self.source = text
        self.tokens = tokens_of(text, scale)
        self.labels = [*map(_label, self.tokens), "end"]
        self.places = _places(self.tokens)
        lines = " ".join(self.labels).split("newline")
        self.bare = {n for n, line in enumerate(lines) if _BARE.issuperset(line.split())}
        self.first_is_paragraph = text.partition("\n")[2][:1] in ("", "\n")
        self.scale, self.repeated = scale, repeated
        self.tops = [t.base for t in self.tokens if t.kind == "scale" and t.base]
        self.only = self.labels.count("number") == 1 and bool(self.tops)

    def ratings(self) -> list[_Rating]:
        ratings: list[_Rating] = []
        corrects = False
        for i, token in enumerate(self.tokens):
            corrects |= token.kind == "wait" and bool(ratings)
            doubts = self.places[i].doubts
            if token.kind == "number" and doubts <= {"suppose", "case"}:
                rating = self._rating(i)
                # "If alone, 80. With friends, 40."
                if "case" in doubts and rating.role == _ALONE and any(r.supposed for r in ratings):
                    rating = rating._replace(supposed=True)
                if rating.role:
                    ratings.append(rating._replace(role=_FINAL) if corrects else rating)
        return ratings

    def _rating(self, i: int) -> _Rating:
        token, place = self.tokens[i], self.places[i]
        before = " ".join(["begin", *self.labels[max(place.begin, i - _SENTENCE) : i]])
        role, value = self._role(i, before), self._value(i)
        if not 0 <= value <= self.scale:
            value, role = nan, role if role >= _STATED else 0
        first = not place.begin and re.fullmatch(_BEGINS, before) is not None
        return _Rating(
            value=value,
            role=role,
            line=place.line,
            plain=first or place.line in self.bare,
            cell=before.endswith(("sep", "bar")) and self.labels[i + 1] in _CELL_ENDS,
            supposed="suppose" in place.doubts,
            half=token.approximate * value / token.value if token.value else 0.0,
        )

    def _role(self, i: int, before: str) -> int:
        token, line = self.tokens[i], self.places[i].line
        j = i + 1 + (self.labels[i + 1] in _UNIT)
        after = " ".join(self.labels[j : j + 5])
        start = self.tokens[j].start if j < len(self.tokens) else len(self.source)
        if re.search(r"(?<![\w%)])-$|/$", self.source[: token.start][-4:]):  # a sign before it
            return 0
        if line in self.bare:
            return _FIRST if line == 0 and self.first_is_paragraph else _STATED
        ends = bool(re.match(_ENDS, after))
        goes_on = _ABOUT.match(self.source, start) or (
            re.match(_GOES_ON, after) and not _IMAGINED.match(self.source, start)
        )
        if not ends and (token.text == "one" or not goes_on):
            return 0
        role = next((role for pattern, role in _ROLES if pattern.search(before)), 0)
        inserted = before.endswith(("comma", "at")) and after.startswith("comma")
        says_more = not ends and not after.startswith(("copula", "say", "free"))
        if role == _ALONE and (inserted or (says_more and not re.fullmatch(_BEGINS, before))):
            role = 0
        if not role and (token.base or self.only or after.startswith("emotion")):
            return _LOOSE
        if role == _ALONE and line and len(self.tokens) > _LONG:
            return 0
        retold = token.value in self.repeated and not (role >= _STATED and ends)
        return 0 if retold else role

    def _value(self, i: int) -> float:
        value, base = self.tokens[i].value, self.tokens[i].base
        if base is None:
            # "7 of 10, which is 70 of 100"
            highest = max(self.tops, default=self.scale)
            base = next((top for top in self.tops if value <= top), highest)
            if self.labels[i + 1] == "percent" and value > self.scale:
                base = 100.0
        return value if base == self.scale else value * self.scale / base


def _chosen(ratings: list[_Rating]) -> float | None:
    firm = [r for r in ratings if not r.supposed] or ratings
    cells = {r.value for r in firm if r.cell}
    points = {r.value for r in firm if not r.half}
    firm = [r for r in firm if not r.half or not any(abs(p - r.value) <= r.half for p in points)]
    if not firm:
        return None
    role = max(r.role for r in firm)
    best = [r for r in firm if r.role == role]
    last = best[-1]
    if role == _FINAL:
        return last.value
    if len(cells) > 1:
        return None
    later = [r for r in firm if r.role == _ALONE and r.line == last.line]
    plain_ones = [r for r in firm if (r.role >= _NAMED if role == _FIRST else r.plain)]
    values = {r.value for r in (*best, *later, *plain_ones)}
    return values.pop() if len(values) == 1 else None

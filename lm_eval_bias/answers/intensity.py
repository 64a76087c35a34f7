"""A rating on a scale.

A text is cut into tokens (`rating_tokens`), in which fractions, ranges and scales are one token each. Read from left to right, each number
gets a role from what stands before and after it. It is a rating only in one of these:

    field      "Emotion intensity: 80", "the rating is 80", "sadness at 80", "| Sadness | 80 |"
    object     "I'd say 80", "I would rate the sadness of this person at 80"
    fraction   "8/10", "eight out of ten", "80 on a scale from 0 to 100"
    alone      on its line, or as a clause of its own: "80", "80, because ...", "This is heartbreaking: 80", "..., so 80"

All else is no rating: what is counted ("45 minutes"), ages, dates, numerals of a list, the ends of scales, how sure a model is. Nor is what
is denied ("not 100", "more than 50"), taken back ("wait"), another's ("some would say 90"), or the narrative's, told again. What is only
supposed ("it could be 70") counts if nothing else does.

Of the ratings that are left the final one counts ("overall", "final", "so"), or the one that the answer begins with, or the one in the plainest
role. If two that are equal in this differ, none does.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from math import isnan, nan
from typing import NamedTuple

from .rating_tokens import Token, tokens, value_of
from .refusal import is_refusal, without_refusals
from .text import REFUSED, UNPARSED, plain, without_reasons

# How plainly a number is a rating.
_FINAL, _NAMED, _FIELD, _OBJECT, _ALONE, _LOOSE = 6, 5, 4, 3, 2, 1


class _Rating(NamedTuple):
    index: int  # of its token
    value: float  # on the task's scale; NaN if it is off it
    role: int
    line: int
    first: bool = False  # the answer begins with it
    whole: bool = False  # its line holds nothing else
    supposed: bool = False
    concludes: bool = False  # after "so", "overall"
    glossed: bool = False  # said in words beside it: "80 (very strong)"
    converted: bool = False  # said to be on the task's own scale


def intensity(text: str, scale: float, narrative: str = "") -> float | str:
    """The rating that a model wrote, on a scale from 0 to `scale`.

    A fraction ("8 out of 10") and a rating on a scale that the text names are put on the scale, a range ("60-70") counts by its middle.
    Passed over are numbers of the narrative that are told again, unless they stand alone or where a rating stands. Returns a number,
    "refused" or "unparsed".
    """
    text = _with_marks(_with_fractions(text))
    told = {token.value for token in tokens(plain(narrative), scale) if token.kind in ("number", "scale")}
    kept = without_refusals(without_reasons(text))
    declines = kept != plain(text) and kept != plain(without_reasons(text))
    said = kept if declines else plain(without_reasons(text))
    rating = _rating_in(said, scale, told)
    if rating is not None:
        return rating
    numbers = [float(n) for n in re.findall(r"(?<!\d)\d{1,4}(?!\d)", said)]
    return REFUSED if is_refusal(text) or (declines and not any(n <= scale for n in numbers)) else UNPARSED


def _with_fractions(text: str) -> str:
    """87½ as 87.5, and LaTeX's fractions with a slash."""
    text = re.sub(
        r"(?<!\w)\s?([½¼¾])",
        lambda m: " 0" + f"{unicodedata.numeric(m[1]):.2f}"[1:] if not text[: m.start()].rstrip()[-1:].isdigit() else m.group(),
        text,
    )
    text = re.sub(r"(?<=\d)\s?([½¼¾])", lambda m: f"{unicodedata.numeric(m[1]):.2f}"[1:], text)
    return re.sub(r"\\[dt]?frac\s*\{\s*(\d+(?:\.\d+)?)\s*\}\s*\{\s*(\d+)\s*\}", r"\1/\2", text)


def _with_marks(text: str) -> str:
    """What marks an answer as such, \\boxed and elements of XML, in words; names of fields as words."""
    text = re.sub(r"\\boxed\s*\{", r"\nfinal answer: {", text)
    text = re.sub(r"<(?:final[_ ]?)?(?:answer|result|output)>", "\nfinal answer: ", text, flags=re.IGNORECASE)
    text = re.sub(r"</[A-Za-z][^<>\n]{0,40}>", "\n", text)
    text = re.sub(r"<([A-Za-z][^<>\n]{0,60}?)/?>", r"\n\1: ", text)
    text = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", text)  # emotionIntensity
    return re.sub(r"(?<=[^\W_])_(?=[^\W_])", " ", text)


# The prompt begun anew, or another's turn: what follows the answer of a model that does not stop.
_NEXT_TURN = re.compile(
    r"\n[^\w\n]{0,6}(?:(?:in )?the following narrative\b|(?:next )?narrative\s*(?:\d+)?:|question\s*(?:\d+)?:|q:|user:|human:|instruction|input:|"
    r"example|comment by|how (?:much|strongly) \w+ did|rate the intensity)"
)


def _rating_in(said: str, scale: float, told: set[float]) -> float | None:
    found = tokens(said, scale)
    ratings = _without_legend(_Reader(found, said, scale, told).ratings(), found)
    following = next((m.start() for m in _NEXT_TURN.finditer(said) if any(found[r.index].start < m.start() for r in ratings)), None)
    if following is not None:
        ratings = [r for r in ratings if found[r.index].start < following]
    return _chosen(_not_taken_back(ratings, found), found)


_APPROVE = re.compile(
    r"(?:about |just |quite |pretty |a |an |the |my |very |more |most |only )*(?:right|fair|fitting|appropriate|accurate|reasonable|suitable|apt|"
    r"good|best|better|adequate|correct|answer|rating|estimate|choice|guess|score|number|figure|it|what|how|where|to me|justified|warranted|"
    r"enough|on the|closest)\b"
)
_REFUTE = re.compile(
    r"(?:a |an |the |far |way |much |bit |slightly |little |probably |perhaps |maybe |somewhat |even |also |clearly |usually |typically |generally |"
    r"only |be |feel |seem )*(?:too|excessive|overly|overstat\w*|exaggerat\w*|extreme|reserved|for |unlikely|wrong|not|n't|inappropriate|"
    r"impossible|unfair|overkill|understat\w*|out of|when|if|as if|worst|max\w*|highest|top|lowest|min\w*|saved|kept|"
    r"not at all|none|nothing|no |neutral|absolute|complete|total|unbearable|overwhelming|devastat\w*|extremely|meaning|death|losing)"
)
_ENDS_OF_SCALE = re.compile(
    r"(?:the |being |is |an? )*(?:not|none|no\b|nothing|min|low|least|absen|weak|neutral|extrem\w*|ext|max|most|high|strong|complete|very|"
    r"worst|unbear|over|moderat\w*|mild|slight|little|some|utter|total|intens\w*|severe)"
)
# Words that may follow a rating, and leave it one: any other makes it the number of something, as in "2 dogs".
_AFTER_OBJECT = set(
    "for on because since as given based would should could might if which that they he she also fits overall in due considering although though "
    "while even and but or i it the this here here's with to at per when where so then sure certainly too again though out maybe perhaps not no "
    "just purely simply mainly mostly largely sagen geben bewerten vergeben einstufen sei de per por pour von aus depending making reflecting "
    "indicating suggesting meaning feels seems sounds is was today right there level levels mark total intensity rating again now from given "
    "wert einschatzen einordnen ausgehen emotional these those i'd we my his her their rather instead more less possibly probably likely "
    "captures capture fits fit suits matches describes conveys with honest reflects mean means worth of".split()
)
_AFTER_ALONE = {"because", "since", "as", "given", "for", "on", "based", "due", "considering", "although", "though", "if", "intensity", "out", "here"}
_AFTER_ALONE |= {"overall", "it", "the", "this", "i", "they", "he", "she", "which", "that", "but", "not", "no", "actually", "wait", "so", "and", "would"}
_AFTER_ABROAD = {_w for _w in "です だ である ですね でした 입니다 이다 है है। 左右".split()}
_AFTER_ABROAD = {"".join(c for c in unicodedata.normalize("NFKD", w) if not unicodedata.combining(c)) for w in _AFTER_ABROAD}


class _Reader:
    """Reads the numbers of an answer from left to right, in what stands before each.

    state      what a number would be, if it came next: begin (of a clause), field, verb, object, name, or none
    named      the clause names what is rated: "the intensity of the sadness"
    """

    def __init__(self, found: list[Token], said: str, scale: float, told: set[float]) -> None:
        self.found, self.said, self.scale, self.told = found, said, scale, told
        self.numbers = [t for t in found if t.kind == "number"]
        self.numerals = _numerals(found, said)
        self.tops = [(i, t.base) for i, t in enumerate(found) if t.kind == "scale" and t.base is not None]
        self.wordy = self._lines_with_words()

    def _lines_with_words(self) -> set[int]:
        lines, line = set(), 0
        for t in self.found:
            line += t.text.count("\n") if t.kind == "newline" else 0
            if t.kind in ("word", "name", "emotion", "verb", "say", "person", "self", "copula", "reason", "other", "counting", "code", "foreign"):
                lines.add(line)
        return lines

    def kind(self, i: int) -> str:
        return self.found[i].kind if 0 <= i < len(self.found) else "end"

    def ratings(self) -> list[_Rating]:
        out: list[_Rating] = []
        state, line = "begin", 0
        named = specific = denied = supposed = othered = concludes = other = False
        fresh = True  # nothing but names and hedges since the text began
        words = 0  # of the statement
        after_comma = False
        brackets: list[tuple[str, bool, bool, bool]] = []
        rated_in_statement = False
        previous = ""
        for i, t in enumerate(self.found):
            kind, text = t.kind, t.text
            if kind == "number" and i not in self.numerals:
                inside = bool(brackets) and brackets[-1][3]
                rating = None if othered else self._rating(i, state, named, specific, words, fresh, line, out)
                if rating is not None and not denied:
                    off = isnan(rating.value) and rating.role < _OBJECT
                    if not off:
                        role = rating.role
                        if concludes and role in (_ALONE, _OBJECT) and not supposed:
                            role = max(role, _OBJECT)
                        out.append(rating._replace(supposed=supposed or self._asked(i) or (inside and t.base is None), concludes=concludes, role=role))
                        rated_in_statement = True
                fresh = False
                state = state if rating is not None else "none"
                other = False
                concludes = concludes and rating is None
            elif kind == "number":
                state, fresh = "begin", False if words else fresh
            elif kind == "newline" or kind in ("stop", "ask"):
                if kind == "newline":
                    line += text.count("\n")
                heading = kind == "newline" and named and previous in ("name", "emotion", "sep", "scale", "close") and not other
                state = "field" if heading and previous != "close" else "begin"
                named = heading
                specific = denied = othered = other = concludes = False
                if kind == "newline" or kind == "stop":
                    supposed = False
                words, rated_in_statement, brackets, after_comma = 0, False, [], False
            elif kind == "comma":
                state = "begin" if state not in ("verb", "field") or not previous or previous not in ("verb", "copula") else state
                denied = other = othered = False
                after_comma = True
            elif kind == "dash":
                state = "field" if named and not other and previous in ("name", "emotion", "scale", "close") else "none" if other else "begin"
                denied = False
            elif kind == "sep":
                state = "none" if other else "field" if named else "begin"
                if text == "|" and not (previous in ("name", "emotion", "scale", "close", "percent")) and not other:
                    state = "begin"
                denied = denied and previous == "bound" and not specific
            elif kind == "open":
                brackets.append((state, named, other, rated_in_statement))
                if previous not in ("sep", "copula", "verb", "say", "hedge", "dash", ""):
                    quiet = ("number", "strength", "name", "emotion", "comma", "stop", "newline", "scale", "percent", "code", "close", "deny", "settle")
                    state = "begin" if previous in quiet or not words else "none"
                denied = denied and previous in ("deny", "bound")
            elif kind == "close":
                if brackets:
                    state, named_before, other, _ = brackets.pop()
                    named = named or named_before
                    if state == "begin" and words:
                        state = "none" if previous != "number" else state
            elif kind in ("hedge", "percent", "point", "idiom", "scale", "op", "tilde"):
                if kind == "hedge" and text in ("at", "as", "around", "about", "as a", "as an", "of", "to", "mit"):
                    if state == "name":
                        state = "field"
                    elif state in ("none", "object") and specific:
                        state = "verb"
            elif kind == "strength":
                state = "field" if state == "name" else state
            elif kind == "foreign":
                state = "abroad" if state in ("begin", "abroad", "field") else state
                words += 1
            elif kind == "so" or kind == "settle":
                concludes = True
                if kind == "settle" and re.match(r"settl|work|com|trans|conv|amount|equiv|which|that|this|=", text):
                    state = "verb" if not other else state
                elif kind == "settle" and re.match(r"final (?:answer|rating|score|verdict|number|estimate|value|intensity|emotion)", text):
                    named, state, other = True, "name", False
                else:
                    state = "begin" if state in ("none", "begin") else state
                denied = supposed = othered = False
            elif kind in ("but", "fine"):
                state, denied, supposed, othered, other = "begin", False, False, False, False
            elif kind == "wait":
                state, denied, supposed, othered, concludes = "begin", False, False, False, False
            elif kind == "self":
                state, denied, othered, other = "none", False, False, False
                supposed = supposed and "if" not in previous
            elif kind == "person":
                state, named, other = "none", False, False
            elif kind in ("verb", "say"):
                state = "verb" if not other else "none"
                specific = specific or kind == "verb"
            elif kind == "pronoun":
                if state != "verb":
                    named = True
                    state = "none" if state != "begin" else "begin"
                if self.kind(i + 1) == "word" and text in ("this", "that"):
                    named = False
            elif kind == "copula":
                if text == "'s" and self.kind(i + 1) in ("word", "emotion", "name"):
                    pass
                else:
                    state = "field" if (named and not other) or (state == "begin" and not words) else "none"
            elif kind == "name" and previous == "self":
                state, specific = "verb", True
            elif kind == "name":
                named = True
                state = "name" if state != "object" else state
            elif kind == "emotion":
                named = True
                state = "object" if state in ("verb", "object") and specific else "name"
            elif kind == "other":
                other, named, state = True, False, "none"
            elif kind in ("deny", "bound", "instead"):
                denied = True
                state = "begin" if state == "begin" else state
            elif kind == "suppose":
                supposed = True
                state = "begin" if text in ("possibly", "either") and state == "begin" else state
            elif kind == "othered":
                othered = True
            elif kind == "reason":
                state, named, specific = "none", False, False
            elif kind == "and":
                state = state if previous == "number" else "none" if text != "or" else state
            elif kind == "counting":
                going = state == "verb" and text in ("with", "for", "on", "in", "by") and previous in ("say", "verb")
                state = state if going else "none"
            elif kind == "outof" or kind == "slash":
                pass
            else:  # any other word or sign
                if kind in ("word", "code"):
                    state = "object" if state in ("verb", "object") and specific else "none"
                    if after_comma:
                        named = after_comma = False
                if kind == "code":
                    state = "none"
            if kind not in ("hedge", "idiom"):
                previous = kind
            elif not previous:
                previous = "hedge"
            if kind in ("word", "person", "self", "pronoun", "verb", "say", "reason", "counting", "other", "code", "name", "emotion"):
                words += 1
                if kind not in ("name", "emotion", "self", "verb", "say", "pronoun"):
                    fresh = False
        return out

    def _asked(self, i: int) -> bool:
        return self.kind(i + 1) == "ask"

    def _rating(
        self, i: int, state: str, named: bool, specific: bool, words: int, fresh: bool, line: int, before: list[_Rating]
    ) -> _Rating | None:
        """The number at i as a rating, if it is one."""
        t = self.found[i]
        if isnan(t.value):
            return None
        if i and self.kind(i - 1) == "slash" or (self.kind(i - 1) == "dash" and self._minus(i)):
            return None
        after, glossed = self._after(i)
        if after == "noun":
            return None
        whole = line not in self.wordy and after == "end"
        begins = not any(c.isalpha() for c in self.said[: t.start])
        only = len(self.numbers) == 1
        role = 0
        if state == "field":
            role = _field(self.found, i) if after == "end" else _OBJECT
        elif state == "verb":
            role = _OBJECT
        elif state == "name" and after in ("end", "more"):
            role = _OBJECT
        elif state == "object" and (after == "end" or t.base is not None):
            role = _OBJECT
        elif state in ("begin", "abroad"):
            between = self.kind(i - 1) in ("comma", "dash") and self._next_kind(i) == "comma" and not begins and words
            if whole or begins or (after == "end" and not between):
                role = _ALONE
            elif after == "more" and (not words or self.kind(i - 1) in ("sep", "so", "comma", "dash")) and self._next_text(i) in _AFTER_ALONE:
                role = _ALONE
            elif after == "more" and self._next_kind(i) in ("copula", "name", "emotion", "suppose", "say"):
                role = _ALONE
            elif after == "abroad" and only:
                role = _ALONE
        if t.base is not None and role:
            role = max(role, _OBJECT)
        elif t.base is not None and after in ("end", "more"):
            role = _LOOSE
        elif not role and only and self.tops and after in ("end", "more"):
            role = _LOOSE + 1
        if not role:
            return None
        if t.text == "one" and t.base is None and not (role >= _FIELD or whole or (role == _OBJECT and after == "end")):
            return None
        if t.text and not t.text[0].isdigit() and t.base is None and after == "more" and role == _ALONE:
            return None  # "one could say", "two of them"
        told = t.value in self.told
        if told and not (whole or only and begins) and not (state in ("field", "verb", "object", "name") and after == "end"):
            return None
        value = self._on_scale(i, t)
        if not 0 <= value <= self.scale:
            value = nan
        return _Rating(i, value, role, line, fresh and after == "end", whole, glossed=glossed, converted=self._on_named_scale(i))

    def _minus(self, i: int) -> bool:
        """Whether the dash before the number at i is a sign."""
        dash, number = self.found[i - 1], self.found[i]
        before = self.kind(i - 2)
        apart = i < 2 or self.found[i - 2].end < dash.start or before in ("newline", "sep", "open")
        return dash.end == number.start and apart and before not in ("number", "percent", "close")

    def _next(self, i: int) -> int:
        """The token after the number at i, its unit and what closes brackets and quotes."""
        j = i + 1
        while self.kind(j) in ("percent", "point") or (j < len(self.found) and self.found[j].text == "or so") or (self.kind(j) == "op" and self.found[j].text == "+") or (
            self.kind(j) == "close" and self.kind(i - 1) in ("open", "hedge", "sep")
        ):
            j += 1
        return j

    def _next_kind(self, i: int) -> str:
        return self.kind(self._next(i))

    def _next_text(self, i: int) -> str:
        j = self._next(i)
        return self.found[j].text if j < len(self.found) else ""

    def _after(self, i: int) -> tuple[str, bool]:
        """What follows the number at i: end of a clause, more words about it, abroad, or a noun that it counts; and whether words gloss it."""
        j = self._next(i)
        kind = self.kind(j)
        rest = self.said[self.found[j].end : self.found[j].end + 60].lstrip() if j < len(self.found) else ""
        here = self.said[self.found[j].start : self.found[j].start + 60] if j < len(self.found) else ""
        percent = any(self.kind(k) == "percent" for k in range(i + 1, j))
        if kind in ("open", "sep", "dash") and self.kind(j + 1) not in ("number", "scale", "outof", "end", "newline"):
            if self.found[j].text == "=" and not _ENDS_OF_SCALE.match(rest):
                return "noun", False
            return "end", bool(re.match(r"[a-z]", rest)) and (kind != "dash" or bool(_ENDS_OF_SCALE.match(rest)))
        if kind in ("end", "newline", "stop", "ask", "comma", "open", "sep", "dash", "close", "slash", "so", "but", "reason", "wait", "instead", "scale"):
            return "end", False
        if kind in ("settle", "hedge", "and", "self", "fine", "outof", "bound", "idiom") and not percent:
            return ("noun", False) if kind == "and" and percent else ("more", False)
        if kind == "number":
            return "more" if self.said[self.found[i].end : self.found[j].start].strip(" ") == "" and len(self.numbers) > 1 else "more", False
        if kind in ("copula", "suppose") or self.found[j].text in ("would", "means", "represents", "indicates", "feels", "seems", "would be"):
            return self._said_of(j, rest)
        if kind in ("name", "emotion", "strength", "pronoun"):
            return "more", False
        if kind == "foreign":
            return ("abroad" if self.found[j].text in _AFTER_ABROAD else "noun"), False
        if kind == "code":
            return "noun", False
        if percent:
            okay = here.startswith(("of the", "of max", "because", "on ", "for ", "in terms", "bewerten", "as ", "given", "here", "overall"))
            return ("more" if okay else "noun"), False
        return ("more" if self.found[j].text in _AFTER_OBJECT else "noun"), False

    def _said_of(self, j: int, rest: str) -> tuple[str, bool]:
        """What is said of a number that is the subject: "80 feels right", "100 would be unbearable", "0 is not at all"."""
        verb = self.found[j].text
        if _APPROVE.match(rest):
            return "more", False
        if _REFUTE.match(rest) or re.match(r"would|could|might|may|means|represents|indicates|being", verb):
            return "noun", True
        if _ENDS_OF_SCALE.match(rest):
            return "noun", True
        return "more", False

    def _on_scale(self, i: int, t: Token) -> float:
        """A number on the task's scale: from its own base, or the scale that was named last before it, or right after it."""
        base = t.base
        if base is None and self.kind(i + 1) == "percent" and t.value > self.scale:
            base = 100.0
        if base is None:
            earlier = [top for at, top in self.tops if at < i]
            stop = next((k for k in range(i + 1, len(self.found)) if self.kind(k) in ("newline", "number")), len(self.found))
            later = [top for at, top in self.tops if i < at < stop]
            base = earlier[-1] if earlier and not (later and self._scale_follows(i)) else later[0] if later else self.scale
            if t.value > base and any(top == self.scale for _, top in self.tops):
                base = self.scale
        return t.value * self.scale / base if base and base != self.scale else t.value if base else nan

    def _on_named_scale(self, i: int) -> bool:
        """Whether the clause that ends in the number at i names the task's scale, or the number is a fraction of its top."""
        clause = self.found[max(0, i - 5) : i]
        return self.found[i].base == self.scale or any(t.kind == "scale" and t.base == self.scale for t in clause)

    def _scale_follows(self, i: int) -> bool:
        """Whether the number at i is said to be on the scale that follows it: "70 on the 0-100 scale", not "7; on a 0-100 scale: 70"."""
        j = self._next(i)
        while self.kind(j) in ("hedge", "counting", "open") or (self.kind(j) == "scale" and not self.found[j].base):
            j += 1
        return self.kind(j) == "scale" and self.kind(j + 1) != "sep" and self.kind(j + 2) not in ("sep", "number")


def _field(found: list[Token], i: int) -> int:
    """The role of a field before the number at i: with a name of what is asked and nothing else, with an emotion, or in a sentence."""
    emotion = False
    for t in reversed(found[max(0, i - 16) : i]):
        if t.kind in ("newline", "stop", "comma", "open") or t.text == "|":
            break
        emotion = emotion or t.kind == "emotion"
        if t.kind not in ("name", "emotion", "sep", "hedge", "scale", "close", "strength", "dash", "settle", "copula", "point", "percent"):
            return _OBJECT
    return _FIELD if emotion else _NAMED


def _numerals(found: list[Token], said: str) -> set[int]:
    """The numerals of a list's items, "1. Anger", which count up from 1; of a single item, if there is another number."""
    heads = []
    for i, t in enumerate(found):
        if t.kind != "number" or t.base is not None or t.approximate or not t.text[:1].isdigit():
            continue
        begins = said[said.rfind("\n", 0, t.start) + 1 : t.start].strip(" -|(+") == ""
        if begins and re.match(r"[.):]+\s+\W{0,3}[^\W\d]", said[t.end : t.end + 10]):
            heads.append(i)
    values = [found[i].value for i in heads]
    counts = bool(values) and values[0] == 1 and all(b in (a + 1, 1) for a, b in pairwise(values))
    onwards = len(values) > 1 and all(b - a == 1 for a, b in pairwise(values))
    return set(heads) if counts or onwards else set()


def _without_legend(ratings: list[_Rating], found: list[Token]) -> list[_Rating]:
    """Ratings without those that only say what numbers mean: "0 (not at all), 50 (moderately), 100 (extremely)"."""
    glossed = {r.value for r in ratings if r.glossed and r.role < _OBJECT}
    return [r for r in ratings if not (r.glossed and r.role < _OBJECT and len(glossed) > 1)]


def _not_taken_back(ratings: list[_Rating], found: list[Token]) -> list[_Rating]:
    """The ratings after the last "no, wait" that is followed by one, if one stands before it."""
    waits = [i for i, t in enumerate(found) if t.kind == "wait"]
    for wait in reversed(waits):
        later = [r for r in ratings if r.index > wait and not r.supposed]
        if later and later[0].index < len(found) and any(r.index < wait for r in ratings):
            lines = sum(t.kind == "newline" for t in found[wait : later[0].index])
            if lines <= 1:
                return [r._replace(role=_FINAL, first=False) for r in later]
            break
    return ratings


def _chosen(ratings: list[_Rating], found: list[Token]) -> float | None:
    """The one value of the ratings that count most; None if they differ, or if there is none on the scale."""
    firm = [r for r in ratings if not r.supposed]
    converted = [r for r in ratings if r.converted and any(r.value == 10 * o.value or r.value == 100 * o.value for o in firm if not o.converted)]
    if converted:
        return _same(converted)
    if not firm:
        return _same([r for r in ratings if r.role >= (_ALONE if len(ratings) == 1 and found[r.index + 1 : r.index + 2] and found[r.index + 1].kind == "ask" else _OBJECT)])
    finals = [r for r in firm if r.concludes and r.role >= _OBJECT]
    first = firm[0]
    if first.first or first.whole and first is ratings[0]:
        others = [r for r in firm[1:] if r.value != first.value]
        if finals and finals[-1].value != first.value:
            return finals[-1].value if _FINAL_WORD.search(_clause(found, finals[-1])) else None
        if any(r.role >= max(first.role, _FIELD) or (r.role >= _ALONE and r.line == first.line) or r.whole for r in others):
            return None
        if any(r.line == first.line and r.role >= first.role for r in others):
            return None
        return None if isnan(first.value) else first.value
    if finals:
        last = finals[-1].value
        return None if isnan(last) else last
    best = max(r.role for r in firm)
    last = [r for r in firm if r.role == best][-1]
    if best > _ALONE and any(r.role == _ALONE and r.line == last.line and r.index > last.index and r.value != last.value for r in firm):
        return None
    return _same([r for r in firm if r.role == best]) if best > _LOOSE or len({r.value for r in firm}) == 1 else None


_FINAL_WORD = re.compile(r"\b(?:final|finally|overall|settle|conclusion|ultimately|revised|updated|converted)\b|=")


def _clause(found: list[Token], rating: _Rating) -> str:
    return " ".join(t.text for t in found[max(0, rating.index - 12) : rating.index])


def _same(ratings: list[_Rating]) -> float | None:
    values = {r.value for r in ratings}
    value = values.pop() if len(values) == 1 else nan
    return None if isnan(value) else value

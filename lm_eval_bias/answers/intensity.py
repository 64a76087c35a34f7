"""A rating on a scale, in free text.

A number that is denied, taken back, someone else's or repeated from the narrative is no rating.
Supposed ratings ("it could be 70") count only if there are no others. Of several the final one
counts ("overall", "so"), or the first, or that with the highest role; if two of these differ, none.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from itertools import pairwise
from math import isnan, nan
from typing import NamedTuple

from .rating_tokens import Token, numbers_in, tokens_of, words
from .refusal import has_refusal, is_refusal, without_refusals
from .text import REFUSED, UNPARSED, has_kind, letters, plain, rewritten, rules, without_reasons

# How plainly a number is a rating.
#  field      "Emotion intensity: 80", "the rating is 80", "sadness at 80", "| Sadness | 80 |"
#  object     "I'd say 80", "I would rate the sadness of this person at 80"
#  fraction   "8/10", "eight out of ten", "80 on a scale from 0 to 100"
#  alone      on its line or in its own clause: "80, because ...", "..., so 80"
_FINAL, _NAMED, _FIELD, _OBJECT, _ALONE, _LOOSE = 6, 5, 4, 3, 2, 1


class _Rating(NamedTuple):
    at: int  # the position of its token
    value: float  # on the task's scale; NaN if it is off it
    role: int
    line: int
    first: bool = False  # the answer begins with it
    whole: bool = False  # its line holds nothing else
    cell: bool = False  # its line ends with it, after a colon or the like
    supposed: bool = False
    concludes: bool = False  # after "so", "overall"
    glossed: bool = False  # said in words beside it: "80 (very strong)"
    converted: bool = False  # said to be on the task's own scale


def intensity(text: str, scale: float, narrative: str = "") -> float | str:
    """Return the rating on a scale from 0 to `scale`, "refused" or "unparsed".

    Ratings on other scales are converted; a range counts as its middle. Numbers of `narrative` are
    skipped.
    """
    text = rewritten(with_fractions(text), _MARKS)
    answer = without_reasons(text)
    kept = without_refusals(answer)
    rating = _rating_in(kept, scale, numbers_in(plain(narrative)))
    if rating is not None:
        return rating
    numbers = [float(n) for n in re.findall(r"(?<!\d)\d{1,4}(?!\d)", kept)]
    without_number = has_refusal(answer) and not any(n <= scale for n in numbers)
    return REFUSED if is_refusal(text) or without_number else UNPARSED


def with_fractions(text: str) -> str:
    """Write 87½ as 87.5, and LaTeX fractions with a slash."""
    text = re.sub(
        r"(?:(?<=\d)|(?<!\w)(?P<alone>))\s?(?P<sign>[½¼¾])",
        lambda m: (" 0" if m["alone"] == "" else "") + f"{unicodedata.numeric(m['sign']):.2f}"[1:],
        text,
    )
    return re.sub(r"\\[dt]?frac\s*\{\s*(\d+(?:\.\d+)?)\s*\}\s*\{\s*(\d+)\s*\}", r"\1/\2", text)


_MARKS = rules(
    {
        r"\$(?=\d)(?![^\n]{0,60}[\d})%]\s?\$(?!\d))": "€",  # money, not LaTeX
        r"(?<=[\d%])\s*(?:→|->|=>|⇒)\s*(?=\d)": " : ",  # no range
        r"\\boxed\s*\{": r"\nfinal answer: {",
        r"(?i)<(?:final[_ ]?)?(?:answer|result|output)>": "\nfinal answer: ",
        r"</[A-Za-z][^<>\n]{0,40}>": "\n",
        r"<([A-Za-z][^<>\n]{0,60}?)/?>": r"\n\1: ",
        r"(?<=[a-z])(?=[A-Z][a-z])": " ",  # emotionIntensity
        r"\+/-": "±",
        r"(?<=[^\W_])_(?=[^\W_])": " ",
    }
)

# The prompt begun anew, or another's turn: what follows the answer of a model that does not stop.
_NEXT_TURN = re.compile(
    r"\n[^\w\n]{0,6}(?:(?:in )?the following narrative\b|(?:next )?narrative\s*(?:\d+)?:|"
    r"question\s*(?:\d+)?:|q:|user:|human:|instruction|input:|example|comment by|"
    r"how (?:much|strongly) \w+ did|rate the intensity)"
)


def _rating_in(text: str, scale: float, repeated: set[float]) -> float | None:
    tokens = tokens_of(text, scale)
    ratings = _without_legend(_RatingReader(tokens, text, scale, repeated).ratings())
    begins = tokens[ratings[0].at].start if ratings else len(text)
    following = next((m.start() for m in _NEXT_TURN.finditer(text) if begins < m.start()), None)
    if following is not None:
        ratings = [r for r in ratings if tokens[r.at].start < following]
    return _chosen(_not_taken_back(ratings, tokens), tokens)


_APPROVE = re.compile(
    "(?:about |just |quite |pretty |a |an |the |my |very |more |most |only )*(?:right|fair|"
    "fitting|appropriate|accurate|reasonable|suitable|apt|good|best|better|adequate|correct|"
    "answer|rating|estimate|choice|guess|score|number|figure|it|what|how|where|to me|justified|"
    r"warranted|enough|on the|closest)\b"
)
_REFUTE = re.compile(
    "(?:a |an |the |far |way |much |bit |slightly |little |probably |perhaps |maybe |somewhat |"
    "even |also |clearly |usually |typically |generally |only |be |feel |seem )*(?:too|excessive|"
    r"overly|overstat\w*|exaggerat\w*|extreme|reserved|for |unlikely|wrong|not|n't|inappropriate|"
    r"impossible|unfair|overkill|understat\w*|out of|when|if|as if|worst|max\w*|highest|top|"
    r"lowest|min\w*|saved|kept|not at all|none|nothing|no |neutral|absolute|complete|total|"
    r"unbearable|overwhelming|devastat\w*|extremely|meaning|death|losing)"
)
_ENDS_OF_SCALE = re.compile(
    r"(?:the |being |is |an? )*(?:not|none|no\b|nothing|min|low|least|absen|weak|neutral|"
    r"extrem\w*|ext|max|most|high|strong|complete|very|worst|unbear|over|moderat\w*|mild|slight|"
    r"little|some|utter|total|intens\w*|severe)"
)
# Words that may follow a rating, and leave it one: any other makes it the number of something, as
# in "2 dogs".
_AFTER_ALONE = words(
    """
    because since as given for on based due considering although though if intensity out here
    overall it the this i they he she which that but not no actually wait so and would lol imo
    tbh fr
    """
)
_AFTER_OBJECT = _AFTER_ALONE | words(
    """
    should could might also fits while even or here's with per when where then sure certainly
    too again maybe perhaps just purely simply mainly mostly largely sagen geben bewerten
    vergeben einstufen sei por pour von aus depending making reflecting indicating suggesting
    feels seems sounds is was today right there level levels total rating now wert einschatzen
    einordnen ausgehen emotional these those we my his her their rather instead possibly
    probably likely captures capture fit suits matches describes conveys honest reflects mean
    means worth
    """
)
# "80 of sadness", "80 in terms of anger"; not "4 of us", "3 in the morning".
_ABOUT = re.compile(
    "(?:of|in|at) (?:the |my |this |that |your |its |his |her |their )?(?:scale|intensity|terms|"
    r"total|all|case|opinion|view|\w*ness|anger|fear|joy|guilt|shame|disgust|surprise|pride|"
    r"relief|trust|boredom|most|best|worst|least|max\w*|emotion\w*|strength|level)\b"
)
_TIME_OF_DAY = words("when before after in at until")
_AFTER_PERCENT = (
    "of the",
    "of max",
    "because",
    "on ",
    "for ",
    "in terms",
    "bewerten",
    "as ",
    "given",
    "here",
    "overall",
)
_AFTER_ABROAD = set(
    letters(
        "です だ である ですね でした と思います くらい くらいです くらいた ぐらいです 程度です "
        "입니다 정도입니다 정도 이다 ह 左右"
    ).split()
)


# Kinds of tokens.
_WORDY = words("word person self pronoun verb say reason counting other code name emotion")
_BEFORE_BRACKETS = words(
    """
    number strength name emotion comma stop newline scale percent code close deny settle final
    arrive
    """
)
_AFTER_SUBJECT = words("copula name emotion suppose say")
_LEADING = words("name emotion self verb say pronoun")
_ENDING = words(
    "end newline stop ask comma open sep dash close slash so but reason wait instead scale"
)
_IN_FIELD = words(
    "name emotion sep hedge scale close strength dash settle final arrive copula point percent"
)
_ADDING = words("name emotion strength pronoun")
_AFTER_SHARE = _ADDING | words("copula suppose")
_GOES_ON = _ADDING | words("settle final arrive hedge and self fine outof bound idiom number")
_NOT_A_GLOSS = words("number scale outof end newline")
_MEANS = words("would means meaning represents indicates")


class _RatingReader:
    """Reads an answer from left to right. `state`: the role of the next number."""

    def __init__(
        self, tokens: list[Token], source: str, scale: float, repeated: set[float]
    ) -> None:
        self.tokens, self.source, self.scale, self.repeated = tokens, source, scale, repeated
        self.n_numbers = sum(t.kind == "number" for t in tokens)
        self.numerals = _numerals(tokens, source)
        self.tops = [
            (i, t.base) for i, t in enumerate(tokens) if t.kind == "scale" and t.base is not None
        ]
        self.wordy = self._lines_with_words()
        self.first_letter = next((m.start() for m in re.finditer(r"[^\W\d_]", source)), len(source))
        self.read: list[_Rating] = []
        self.state, self.line = "begin", 0
        self.named = self.specific = self.other = False
        self.denied = self.othered = self.supposed = self.concludes = False
        self.fresh = True  # nothing but names, verbs of rating and the like since the text began
        self.words = 0  # of the statement
        self.rated = False  # a rating stands in the statement
        self.headed = False  # the line above ends with a field's name
        self.after_comma = False
        self.brackets: list[tuple[str, bool, bool, bool]] = []
        self.previous = ""  # the kind of the last token that is no hedge

    def _lines_with_words(self) -> set[int]:
        lines, line = set(), 0
        for t in self.tokens:
            line += t.text.count("\n") if t.kind == "newline" else 0
            if t.kind in _WORDY or t.kind in ("copula", "foreign"):
                lines.add(line)
        return lines

    def kind(self, i: int) -> str:
        return self.tokens[i].kind if 0 <= i < len(self.tokens) else "end"

    def ratings(self) -> list[_Rating]:
        for at, t in enumerate(self.tokens):
            self.at, self.text = at, t.text
            getattr(self, f"_{t.kind}", self._word)()
            if t.kind not in ("hedge", "idiom"):
                self.previous = t.kind
            if t.kind in _WORDY:
                self.words += 1
                self.fresh &= t.kind in _LEADING
        return self.read

    # ---- Numbers

    def _number(self) -> None:
        if self.at in self.numerals:
            self.state = "begin"
            return
        if (
            self.state == "name"
            and self.kind(self.at + 1) == "sep"
            and self.kind(self.at + 2 + (self.kind(self.at + 2) == "newline")) == "number"
        ):
            return  # "Answer 1: 70"
        rating = None if self.othered else self._rating(self.at)
        self.state = self.state if rating else "none"
        self.fresh = self.other = False
        if rating and not self.denied and not (isnan(rating.value) and rating.role < _OBJECT):
            # "80 (the loss 90, the shock 70)"
            aside = (
                bool(self.brackets) and self.brackets[-1][3] and self.tokens[self.at].base is None
            )
            j = self._next(self.at)
            is_question = (
                self.kind(self.at + 1) == "ask"
                or self._text(j) in ("if", "unless")
                or "othered" in (self.kind(j), self.kind(j + 1))
            )
            self.read.append(
                rating._replace(
                    supposed=self.supposed or is_question or aside, concludes=self.concludes
                )
            )
            self.rated = True
        self.concludes &= rating is None

    def _scale(self) -> None:
        pass

    _percent = _point = _idiom = _op = _slash = _outof = _scale

    # ---- Where clauses end

    def _newline(self) -> None:
        self.line += self.text.count("\n")
        heading = (
            self.named and self.previous in ("name", "emotion", "sep", "scale") and not self.other
        )
        self._stop()
        self.headed = heading

    def _stop(self) -> None:
        self.state = "begin"
        self.named = self.specific = self.other = self.after_comma = False
        self.denied = self.othered = self.concludes = self.supposed = False
        self.words, self.rated, self.brackets = 0, False, []

    def _ask(self) -> None:
        supposed = self.supposed
        self._stop()
        self.supposed = supposed

    def _comma(self) -> None:
        if self.state not in ("verb", "field") or self.previous not in ("verb", "copula"):
            self.state = "begin"
        self.denied = self.other = False
        self.after_comma = True

    def _dash(self) -> None:
        names = self.named and self.previous in ("name", "emotion", "scale", "close")
        self.state = "none" if self.other else "field" if names else "begin"
        self.denied = False

    def _sep(self) -> None:
        if self.previous == "scale" and self._text(self.at - 1) == "range" and not self.named:
            self.state = "none"
            return
        cell = self.text == "|" and self.previous not in (
            "name",
            "emotion",
            "scale",
            "close",
            "percent",
        )
        self.state = "none" if self.other else "field" if self.named and not cell else "begin"
        self.denied &= self.previous == "bound" and not self.specific  # "max: 100"
        self.othered = False

    def _open(self) -> None:
        self.brackets.append(
            (
                self.state if self.words or self.state != "begin" else "start",
                self.named,
                self.other,
                self.rated and self.previous != "emotion",
            )
        )
        if self.previous not in ("sep", "copula", "verb", "say", "dash"):
            self.state = "begin" if self.previous in _BEFORE_BRACKETS or not self.words else "none"
        self.denied &= self.previous in ("deny", "bound")

    def _close(self) -> None:
        if self.brackets:
            self.state, named, self.other, _ = self.brackets.pop()
            self.named |= named
            if self.state == "begin" and self.previous != "number":
                self.state = "none"
            self.state = "begin" if self.state == "start" else self.state

    # ---- What turns the sense of a clause

    def _so(self) -> None:
        self.concludes = True
        self.state = "begin"
        self.denied = self.supposed = self.othered = False

    _settle = _so

    def _final(self) -> None:
        self._so()
        self.state, self.named, self.other = "name", True, False

    def _arrive(self) -> None:
        self._so()
        self.state = "verb" if not self.other else "none"

    def _but(self) -> None:
        self.state = "begin"
        self.denied = self.supposed = self.othered = self.other = False

    _fine = _but

    def _wait(self) -> None:
        self.state = "begin"
        self.denied = self.supposed = self.othered = self.concludes = False

    def _deny(self) -> None:
        self.denied = True

    _bound = _instead = _deny

    def _suppose(self) -> None:
        self.supposed = True

    def _othered(self) -> None:
        self.othered = True

    def _reason(self) -> None:
        self.state, self.named, self.specific = "none", False, False

    def _and(self) -> None:
        self.state = self.state if self.previous == "number" or self.text == "or" else "none"

    # ---- Verbs, and what they are about

    def _self(self) -> None:
        self.state = "none"
        self.denied = self.othered = self.other = False

    def _person(self) -> None:
        self.state, self.named, self.other = "none", False, False

    def _verb(self) -> None:
        self.state = "none" if self.other else "verb"
        self.specific = True

    def _say(self) -> None:
        self.state = "none" if self.other else "verb"

    def _pronoun(self) -> None:
        if self.state == "verb":
            return
        self.named |= not (self.kind(self.at + 1) == "word" and self.text in ("this", "that"))
        self.state = self.state if self.state == "begin" else "none"

    def _copula(self) -> None:
        if self.text == "'s" and self.kind(self.at + 1) in ("word", "emotion", "name"):
            return  # a possessive
        self.state = (
            "field"
            if (self.named and not self.other) or (self.state == "begin" and not self.words)
            else "none"
        )

    def _name(self) -> None:
        if self.previous == "self":  # "I'd score it ..."
            self.state, self.specific = "verb", True
        else:
            self.named = True
            self.state = "name" if self.state != "object" else "object"

    def _emotion(self) -> None:
        self.named = True
        self.state = "object" if self.state in ("verb", "object") and self.specific else "name"

    def _other(self) -> None:
        self.other, self.named, self.state = True, False, "none"

    # ---- Small words

    def _hedge(self) -> None:
        if self.text in ("at", "as", "around", "about", "as a", "as an", "of", "to", "mit"):
            if self.state == "name":
                self.state = "field"
            elif self.state in ("none", "object") and self.specific:
                self.state = "verb"

    def _strength(self) -> None:
        self.state = "field" if self.state == "name" else self.state

    def _counting(self) -> None:
        goes = (
            self.state == "verb"
            and self.previous in ("say", "verb")
            and self.text in ("with", "for", "on", "in", "by")
        )
        self.state = self.state if goes else "none"

    def _foreign(self) -> None:
        self.state = "abroad" if self.state in ("begin", "abroad", "field") else self.state
        self.words += 1

    def _code(self) -> None:
        self.state = "none"
        self.named &= not self.after_comma

    def _word(self) -> None:
        if self._text(self.at - 1) in ("a", "an", "the") and self.kind(self.at + 1) == "number":
            return  # "a modest 97"
        self.state = "object" if self.state in ("verb", "object") and self.specific else "none"
        if self.after_comma:
            self.named = self.after_comma = False

    # ---- What a number is

    def _rating(self, i: int) -> _Rating | None:
        token = self.tokens[i]
        before, number = self.kind(i - 1), self._text(i - 1)
        if (
            isnan(token.value)
            or (i and before == "slash")
            or (before == "dash" and self._minus(i))
            or any(
                self.kind(j) == "number" and self.tokens[j].value != token.value
                for j in (i - 1, i + 1)  # 10 20 30
            )
            or (self._text(i + 1).startswith("star") and token.base is None and not self.tops)
        ):
            return None
        after = self._after(i)
        glossed = after == "gloss"
        after = "end" if glossed else after
        # "At 28, I'd say 60"
        aged = number == "at" and self.state == "begin" and self._next_kind(i) == "comma"
        if after == "noun" or aged or (number == "from" and not token.approximate):
            return None
        whole = self.line not in self.wordy and after == "end"
        begins = token.start <= self.first_letter
        only = self.n_numbers == 1
        role = self._role(i, after, whole or begins)
        if whole and self.headed:
            role = _NAMED
        if self.concludes and role == _ALONE and not self.supposed:
            role = _OBJECT
        closed = after in ("end", "more")
        if token.base is not None and (role or closed):
            role = max(role, _OBJECT) if role else _LOOSE
        elif not role:
            share = token.base or self.kind(i + 1) == "percent"
            if (only and self.tops and closed) or (self._next_kind(i) == "emotion" and share):
                role = _ALONE  # the one number, on a scale; "they would be 80% sad"
        if not role:
            return None
        if token.base is None:
            plainly = role >= _FIELD or whole or (role == _OBJECT and after == "end")
            in_words = token.text and not token.text[0].isdigit()
            if (token.text == "one" and not plainly) or (
                in_words and after == "more" and role == _ALONE
            ):
                return None  # "one could say", "two of them"
        stands = whole or (only and begins)
        named = self.state in ("field", "verb", "object", "name") and after == "end"
        if token.value in self.repeated and not stands and not named:
            return None
        value = self._on_scale(i)
        scales = [t.base for t in self.tokens[max(0, i - 5) : i] if t.kind == "scale"]
        return _Rating(
            i,
            value if 0 <= value <= self.scale else nan,
            role,
            self.line,
            first=self.fresh and after == "end",
            whole=whole,
            cell=self.previous in ("sep", "dash") and self._next_kind(i) in ("newline", "end"),
            glossed=glossed,
            converted=self.scale in (token.base, *scales),
        )

    def _role(self, i: int, after: str, apart: bool) -> int:
        ends = after == "end"
        if self.state == "field" or (self.state == "name" and after != "abroad"):
            return _field(self.tokens, i) if ends else _OBJECT
        if self.state == "verb":
            return _OBJECT
        if self.state == "object" and (ends or self.tokens[i].base):
            return _OBJECT
        if self.state not in ("begin", "abroad"):
            return 0
        # "Maria, 35, lost"
        inserted = (
            self.kind(i - 1) in ("comma", "dash") and self._next_kind(i) == "comma" and self.words
        )
        if apart or (ends and not inserted):
            return _ALONE
        clause = not self.words or self.kind(i - 1) in ("sep", "so", "comma", "dash")
        if after == "more" and (
            (clause and self._text(self._next(i)) in _AFTER_ALONE)
            or self._next_kind(i) in _AFTER_SUBJECT
        ):
            return _ALONE
        return _ALONE if after == "abroad" and self.n_numbers == 1 else 0

    def _minus(self, i: int) -> bool:
        dash, number = self.tokens[i - 1], self.tokens[i]
        before = self.kind(i - 2)
        apart = i < 2 or self.tokens[i - 2].end < dash.start or before in ("newline", "sep", "open")
        return dash.end == number.start and apart and before not in ("number", "percent", "close")

    def _next(self, i: int) -> int:
        """The position after the number, its unit and closing brackets."""
        j = i + 1
        closing = self.kind(i - 1) in ("open", "hedge", "sep")
        while (
            self.kind(j) in ("percent", "point")
            or self._text(j) in ("or so", "+", "mark", "range")
            or (closing and self.kind(j) == "close")
        ):
            j += 1
        return j

    def _next_kind(self, i: int) -> str:
        return self.kind(self._next(i))

    def _text(self, i: int) -> str:
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def _after(self, i: int) -> str:
        """What follows the number: the "end" of a clause, a "gloss", "more", "abroad" (foreign
        words) or a "noun" that it counts."""
        j = self._next(i)
        if j >= len(self.tokens):
            return "end"
        kind, text, start = self.kind(j), self.tokens[j].text, self.tokens[j].start
        rest = self.source[self.tokens[j].end : self.tokens[j].end + 60].lstrip()
        if kind in ("open", "sep", "dash") and self.kind(j + 1) not in _NOT_A_GLOSS:
            ends_of_scale = bool(_ENDS_OF_SCALE.match(rest))
            if text == "=" and not ends_of_scale:
                return "noun"
            glossed = re.match(r"[a-z]", rest) and (kind != "dash" or ends_of_scale)
            return "gloss" if glossed else "end"
        if text in ("on", "using") and self._scale_named(j + 1):
            return "end"
        if text in ("of", "in", "at", "to", "de"):
            return "more" if _ABOUT.match(self.source, start) else "noun"
        if self._text(i - 2) == "it" and self._text(i - 1) == "was" and text in _TIME_OF_DAY:
            return "noun"
        if kind in _ENDING:
            return "end"
        if has_kind(self.tokens[i + 1 : j], "percent") and kind not in _AFTER_SHARE:
            return "more" if self.source.startswith(_AFTER_PERCENT, start) else "noun"
        if kind in ("copula", "suppose") or text in _MEANS:
            return self._said_of(text, rest)
        if kind in _GOES_ON:
            return "more"
        if kind == "unending":
            return "noun"
        if kind == "foreign":
            return "abroad" if text in _AFTER_ABROAD else "noun"
        return "more" if text in _AFTER_OBJECT and kind != "code" else "noun"

    def _scale_named(self, i: int) -> bool:
        while self.kind(i) in ("hedge", "counting"):
            i += 1
        return self.kind(i) == "scale"

    def _said_of(self, verb: str, rest: str) -> str:
        """ "80 feels right" """
        if _APPROVE.match(rest):
            return "more"
        supposed = r"would|could|might|may|means|meaning|represents|indicates|being"
        if _REFUTE.match(rest) or _ENDS_OF_SCALE.match(rest) or re.match(supposed, verb):
            return "noun"
        return "more"

    def _on_scale(self, i: int) -> float:
        value, base = self.tokens[i].value, self.tokens[i].base
        if base is None and self.kind(i + 1) == "percent" and value > self.scale:
            base = 100.0
        if base is None:
            at = bisect(self.tops, (i, nan))
            earlier, later = self.tops[at - 1 : at], self.tops[at : at + 1]
            if later and has_kind(self.tokens[i + 1 : min(later[0][0], i + 40)], "newline number"):
                later = []
            use_later = later and (self._scale_follows(i) or not earlier)
            _, base = (later if use_later else earlier or [(i, self.scale)])[0]
            on_task_scale = any(top == self.scale for _, top in self.tops[:20])
            if value > base and (self.concludes or on_task_scale):
                base = self.scale  # "7 of 10, converted: 70"
        if not base:
            return nan
        return value if base == self.scale else value * self.scale / base

    def _scale_follows(self, i: int) -> bool:
        """ "70 on the 0-100 scale" """
        j = self._next(i)
        while self.kind(j) in ("hedge", "counting", "open") or (
            self.kind(j) == "scale" and not self.tokens[j].base
        ):
            j += 1
        return (
            self.kind(j) == "scale"
            and self.kind(j + 1) != "sep"
            and self.kind(j + 2) not in ("sep", "number")
        )


def _field(tokens: list[Token], i: int) -> int:
    """_NAMED after a name, _FIELD after an emotion, _OBJECT in a sentence."""
    emotion = False
    for t in reversed(tokens[max(0, i - 16) : i]):
        if t.kind in ("newline", "stop", "comma", "open") or t.text == "|":
            break
        emotion |= t.kind == "emotion"
        if t.kind not in _IN_FIELD:
            return _OBJECT
    return _FIELD if emotion else _NAMED


def _numerals(tokens: list[Token], source: str) -> set[int]:
    """Positions of list numbers."""
    heads = []
    for i, t in enumerate(tokens):
        if t.kind != "number" or t.base is not None or t.approximate or not t.text[:1].isdigit():
            continue
        line = source[source.rfind("\n", 0, t.start) + 1 : t.start].strip(" -|(+")
        begins = line == "" or (t.value == 1 and line[-1] in ".:!?")
        if begins and re.match(r"[.):]+\s+\W{0,3}[^\W_]", source[t.end : t.end + 10]):
            heads.append(i)
    values = [tokens[i].value for i in heads]
    counts = bool(values) and values[0] == 1 and all(b in (a + 1, 1) for a, b in pairwise(values))
    return set(heads) if counts or counts_up(values) else set()


def counts_up(values: list[float]) -> bool:
    return len(values) > 1 and all(b - a == 1 for a, b in pairwise(values))


def _without_legend(ratings: list[_Rating]) -> list[_Rating]:
    """Ratings without those that explain the scale: "0 (not at all), 50 (medium)"."""
    glossed = {r.value for r in ratings if r.glossed}
    weak = {r.value for r in ratings if r.glossed and r.role < _OBJECT}
    return [
        r
        for r in ratings
        if not r.glossed
        or r.concludes
        or not (len(glossed) > 2 or (len(weak) > 1 and r.role < _OBJECT))
    ]


def _not_taken_back(ratings: list[_Rating], tokens: list[Token]) -> list[_Rating]:
    for wait in reversed([i for i, t in enumerate(tokens) if t.kind == "wait"]):
        later = [r for r in ratings if r.at > wait and not r.supposed]
        if later and any(r.at < wait for r in ratings):
            between = [t.kind for t in tokens[wait : later[0].at]]
            if between.count("newline") > 1:
                break
            return [r._replace(role=_FINAL, first=False) for r in later]
    return ratings


def _chosen(ratings: list[_Rating], tokens: list[Token]) -> float | None:
    firm = [r for r in ratings if not r.supposed]
    unconverted = {times * r.value for r in firm if not r.converted for times in (10, 100)}
    converted = [r for r in ratings if r.converted and r.value in unconverted]
    if converted:  # "7 (70 on your scale)"
        return _same(converted)
    if not firm:
        is_question = len(ratings) == 1 and has_kind(tokens[ratings[0].at + 1 :][:1], "ask")
        return _same(ratings) if is_question or any(r.role >= _OBJECT for r in ratings) else None
    finals = [r for r in firm if r.concludes and r.role >= _OBJECT]
    role = max(r.role for r in firm)
    best = [r for r in firm if r.role == role]
    if not finals:
        if role < _NAMED and len({r.value for r in firm if r.cell}) > 1:
            return None  # "Loss: 80", "Humiliation: 60"
        plain_values = {r.value for r in firm if r.whole or r.role == role}
        if role < _FINAL and len(plain_values) > 1 and any(r.whole for r in firm[1:]):
            return None  # "80", and "70" on the next line
    first = firm[0]
    if first.first or (first.whole and first is ratings[0]):
        return _begun(first, firm[1:], finals, tokens)
    if finals:
        return _same(finals[-1:])
    last = best[-1]
    if role > _ALONE and any(
        r.role == _ALONE and r.line == last.line and r.at > last.at and r.value != last.value
        for r in firm
    ):
        return None  # "For me it's 70, for them 90"
    return _same(best if role > _LOOSE else firm)


def _begun(
    first: _Rating, later: list[_Rating], finals: list[_Rating], tokens: list[Token]
) -> float | None:
    if finals and finals[-1].value != first.value:
        at = finals[-1].at
        clause = " ".join(t.text for t in tokens[max(0, at - 12) : at])
        return _same(finals[-1:]) if _FINAL_WORD.search(clause) else None
    others = [r for r in later if r.value != first.value]
    if finals != [first] and any(
        r.role >= max(first.role, _FIELD) or r.line == first.line or r.whole for r in others
    ):
        return None
    return _same([first])


_FINAL_WORD = re.compile(
    r"\b(?:final|finally|overall|settle|conclusion|ultimately|revised|updated|converted)\b|="
)


def _same(ratings: list[_Rating]) -> float | None:
    values = {r.value for r in ratings}
    return values.pop() if len(values) == 1 and not any(map(isnan, values)) else None

"""Tokens of an answer that rates.

"8 out of 10" and "60-70" are one number; "from 0 (not at all) to 100 (extremely)" is one scale.
`rating_words.yaml` has the kinds of words.
"""

import re
from collections.abc import Iterable
from math import nan
from typing import NamedTuple

from .text import letters, words_in
from .vocabulary import word_lists

_ONES = words_in("one two three four five six seven eight nine")
_TEENS = words_in("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
_SMALL = ["zero", *_ONES, *_TEENS]
_TENS = words_in("twenty thirty forty fifty sixty seventy eighty ninety")
_VALUES = (
    {word: i for i, word in enumerate(_SMALL)}
    | {word: 10 * i for i, word in enumerate(_TENS, start=2)}
    | {"hundred": 100}
)
_BASES = (4, 5, 6, 7, 9, 10, 20, 100, 1000)  # of fractions; that of 9/11 is none


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ---- Patterns


def _either(terms: Iterable[str]) -> str:
    return "|".join(sorted(terms, key=len, reverse=True)).replace("_", " ")


_WORDS = word_lists("rating_words")
_KIND = {letters(word): kind for kind, terms in _WORDS.items() for word in terms}
_WORD_NUMBER = (
    rf"(?<![a-z])(?<![a-z]-)(?:(?:{_either(_TENS)})(?:[\s-](?:{_either(_ONES)}))?|(?:an? |one )?"
    rf"hundred(?: and (?:{_either(_TENS)}|{_either(_SMALL)}))?|{_either(_SMALL)})"
    r"(?![a-z]|-[a-z](?!oints?\b|tars?\b|sh\b))"
)
_DIGITS = r"\d{1,20}(?:[.,]\d{1,20}){0,99}"
_N = rf"(?:{_DIGITS}(?!\d)|(?<![\w.,])\.\d+|{_WORD_NUMBER})"
_TOP = r"(?:5|7|10|100|1000|five|seven|ten|(?:one |a )?hundred)(?![.,]?\d|\s?%|[a-z])"
_TO = r"(?:-+|~|\.{2,3}|to|through|thru|till?|up to|bis|ate|(?<!one )al?|do|tot|до)"
_UNIT = r"\u20e3?(?:\s?(?:%|percent|points?|stars?|pts?)(?![a-z]))?"
_OF = (
    r"(?:/|out of(?: (?:a (?:possible|maximum(?: of)?|total(?: of)?)|the|possible))?:?|of|su|von|"
    "sur|sobre|uber|av|de|van|of a possible|из)"
)
_MEANS = r"(?:=|:|,|-|is|being|means?|meaning|for|as)"
_GLOSS = rf"(?:\s*\([^()\d\n]{{1,40}}\)|\s*{_MEANS} ?[a-z][a-z' ]{{1,40}}?)"
_GLOSS_OF_TOP = (
    r"(?:\s*\([^()\d\n]{1,40}\)?|\s*(?:=|is|being|means?|meaning|as) ?[a-z][a-z' ]{1,40})"
)
# How scales are written; the greatest number in one is its top.
_SCALES = (
    rf"{_N}[\s-](?:points?|stars?|pt)[\s-](?:likert |rating )?(?:scale|system|likert)\b|"
    # "from 0 (not at all) to 100 (extremely)", "0 = never\n50 = sometimes\n100 = always"
    rf"(?:from |between |where |if |of )?(?<![\w.,-])(?:[01]|zero|one)(?![.,]?\d|[a-z]){_GLOSS}?"
    rf"\s*(?:(?:and\b|{_TO})\s*{_TOP}{_GLOSS_OF_TOP}?|"
    rf"[,;\n]\s*(?:\d\d{_GLOSS}[\s,;]+){{0,9}}{_TOP}{_GLOSS_OF_TOP})|"
    rf"(?:scale|range) (?:of|to|up to|out of) (?![01]\b){_N}(?!\s*{_TO})|out of:? {_N}(?=\s*[:,)])|"
    r"(?:\d{1,3}-\d{1,3}\W{0,3}[a-z][a-z ]{1,20}[\s.,;)]{1,4}){2,9}|"  # "0-50: low, 51-100: high"
    rf"(?<![\w.,-])0\s*{_TO}\s*1(?![.,]?\d|\w)|"
    rf"\bscale\s*[:=]\s*{_TOP}|"
    # cut off
    rf"\b(?:from|between|of|scale:?) (?:[01]|zero|one)(?:\s*\([^()\d\n]{{0,40}}|{_GLOSS})?"
    rf"\W{{0,3}}(?:(?:and|{_TO})\s*1?0?)?\s*$|"
    r"(?:\bmax(?:imum)?(?: (?:score|rating|intensity|value))?(?:\s*[:=]| is| of)?\s*|满分[是为]?)"
    f"{_N}"
)
# No rating: times, dates, money, measures, "COVID-19", "2nd", "35-year-old", "7am", "0012".
_CODES = (
    r"00\d{1,20}|\d{1,2}:\d\d(?!\d)|\d{1,4}(?P<date>[/.-])\d{1,2}(?P=date)\d{1,4}|"
    rf"[€£¥]\s?{_DIGITS}|(?<![-\d])\d{{1,2}}:\d{{1,2}}(?![\d/])|"
    rf"(?:(?<=[a-z])|(?<=[a-z]-)){_DIGITS}|"
    rf"{_DIGITS}\s?(?:[€£¥°]|(?:min|mins|hrs?|secs?|km|kg|cm|mm|ml|lbs?|oz|mph)\b)|"
    rf"{_DIGITS}(?!ish\b|pts\b|points\b)[a-z]+|"
    r"\d{1,20}\s?% (?:sure|certain|confiden\w+|certainty|yes|agree)|9(?: to |-)5\b|"
    rf"\bmin(?:imum)?\s*[:=]\s*{_N}|"
    r"\d{1,20}-(?=[a-z])(?!points?\b|stars?\b|pt\b|ish\b)[a-z-]+(?:\d{1,20}-[a-z]+)?"
)
_SUM = rf"\(?{_N}%?(?:[\s()]*[+x×÷-]|(?=\s\d))[\s()\d.,%+x×÷/-]{{1,60}}=(?=\s*\d)"
_RATED = (
    rf"(?:from (?={_N}{_UNIT} to {_N}))?(?P<between>between (?:an? )?)?(?P<number>{_N})"
    r"(?P<half> and a half\b)?(?:\s?-?ish\b)?"
    rf"(?:{_UNIT}(?P<link>\s*(?:-+|~|\.\.+)\s*| (?(between)and|(?:or|{_TO})) )"
    rf"(?:(?:an?|maybe|perhaps|even|possibly) ){{0,3}}(?P<second>{_N})(?:ish\b)?"
    r"(?!\s?%? (?:sure|certain|confiden)))?"
    rf"(?:{_UNIT}\s*[(,]?\s*{_OF}\s*(?P<base>{_N})\)?(?:\s*=\s*{_N}%?)?)?"
    rf"(?:,? ?(?:±|give or take|plus or minus) ?{_N})?"
)
_SAYS = _either(_WORDS["verb"] | _WORDS["say"])
_PERSONS = (
    "(?P<self>(?:i|we|let's|let us|one)(?:'d|'ll|'m|'ve| would| will| can| am| shall| must| do)?"
    "(?: have to| need to| like to| want to)?(?: (?!initi|origin|previous)\\w+ly)?"
    f"(?= (?:be |have )?(?:{_SAYS}|scor|estimat|judge|rank|guess|settle|sit|at)))|"
    "(?P<person>(?:i|we|he|she|they)(?:'m|'re|'ve|'s|'d| am| are| was| were| is| have| had| has)?)"
)
_PHRASES = "|".join(
    f"(?P<{kind}_>{_either(letters(term) for term in terms if not term.isalpha()) or '(?!)'})"
    for kind, terms in _WORDS.items()
)
_TOKEN = re.compile(
    rf"(?P<newline>\n+)|(?P<scale>{_SCALES})|(?P<code>{_CODES})|(?P<arrive__>{_SUM})|"
    rf"(?P<rated>{_RATED})|(?P<word>_{{2,}})|(?P<bound>[<>≥≤](?=\s?\d)(?!\s?\d+\s?>))|"
    r"(?P<percent>[%％])|(?P<slash>/)|(?P<op>[+×÷±^])|(?P<open>[(\[{<])|(?P<close>[)\]}>])|"
    r"(?P<sep>[:=|：])|(?P<comma>[,，])|(?P<ask>[?？])|(?P<stop>[.!;]+|…)|(?P<dash>-+)|"
    rf"(?P<hedge>[~≈])|(?<![a-z])(?:{_PHRASES}|{_PERSONS})(?![a-z])|"
    r"(?P<deny>n't\b)|(?P<s>'(?:s|d|re|m|ll|ve)\b)|(?P<term>[^\W\d_]{1,20}?(?=n't\b)|[^\W\d_]+)"
)


# ---- Tokens


class Token(NamedTuple):
    kind: str
    text: str  # empty of a range, a fraction and a scale
    start: int
    end: int
    value: float = nan  # of a number
    base: float | None = None  # what the number is a fraction of, or the top of the scale
    approximate: float = 0.0  # half the length of a range


def value_of(text: str) -> float:
    if text[0] in ".0123456789":
        digits = re.sub(r",(?=\d{3}\b)", "", text).replace(",", ".")
        return float(digits) if re.fullmatch(r"\d{0,9}(?:\.\d+)?", digits) else nan
    parts = re.split(r"[\s-]+", text)
    return float(sum(_VALUES.get(w, 0) for w in parts if w != "one" or "hundred" not in text))


def tokens_of(text: str, scale: float) -> list[Token]:
    tokens = []
    match = _TOKEN.search(text)
    while match:
        token = _token(match, scale)
        tokens.append(token)
        match = _TOKEN.search(text, token.end)
    return tokens


def _token(m: re.Match[str], scale: float) -> Token:
    kind, text = (m.lastgroup or "").rstrip("_"), m.group()
    if kind == "rated":
        return _number(m, scale)
    if kind == "scale":
        top = max(value_of(number) for number in re.findall(_N, text))
        return Token(kind, "", *m.span(), base=top if top > 1 or m.end() < len(m.string) else nan)
    if kind in ("term", "s"):
        kind = _KIND.get(text) or ("word" if text.isascii() else "foreign")
    return Token(kind, text, *m.span())


_CUT_OFF = r"[^/\n]{1,40}(?: 10?|/\s?1)"  # "75 out of 1"; not "70/10"


def _number(m: re.Match[str], scale: float) -> Token:
    """A number, a fraction, the middle of a range, or "code"."""
    code = Token("code", m[0], *m.span())
    value = value_of(m["number"]) + (0.5 if m["half"] else 0)
    base = value_of(m["base"]) if m["base"] else None
    if base and value > base and re.fullmatch(_CUT_OFF, m.string[m.start() :]):
        base = scale
    if base not in (None, *_BASES):
        return code
    half = 0.0
    if m["second"]:
        half = (value_of(m["second"]) - value) / 2
        if half <= 0 and m["link"] == "-":
            return code  # "we lost 3-1"
        if half <= 0 or (m["link"].strip() == "or" and half > (base or scale) / 20):
            end = max(m.end("half"), m.end("number"))
            return Token("number", m["number"], m.start("number"), end, value)
    text = "" if base or half else m[0]
    return Token("number", text, *m.span(), value + half, base, half)


def numbers_in(text: str) -> set[float]:
    return {float(digits) for digits in re.findall(r"\d{1,9}", text)} | {
        token.value
        for token in tokens_of(text, 100)
        if token.kind == "number" and token.text != "one"
    }

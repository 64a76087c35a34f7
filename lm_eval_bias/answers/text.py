"""The words for no answer, and texts without decoration."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

REFUSED = "refused"
UNPARSED = "unparsed"
CUT_OFF = "cut off"

Rules = list[tuple[re.Pattern[str], str]]


def rules(replacements: Mapping[str, str]) -> Rules:
    return [(re.compile(pattern), instead) for pattern, instead in replacements.items()]


def rewritten(text: str, by: Rules) -> str:
    for pattern, instead in by:
        text = pattern.sub(instead, text)
    return text


# Fields of a JSON object that give reasons, and the string in them, with its end or cut off.
_REASONS = re.compile(
    '(?i)"(?:reason(?:ing|s)?|explanations?|explain|rationale|justification|analysis|thoughts?|'
    "thinking|comments?|notes?|confidence|certainty|chain_of_thought|"
    r'steps)"\s*:\s*(?:"[^"\\]*(?:\\.[^"\\]*){0,400}(?:"|$)|[\d.]+%?)\s*,?'
)
# LaTeX around an answer; what stands in its braces stays.
_LATEX = re.compile(
    r"\\(?:text|textbf|textit|mathrm|mathbf|boxed|fbox|mbox|quad|qquad|item|left|right|begin|end|"
    r"large|huge)\b|\\[,;!()\[\]]|\$"
)
_ARROW = re.compile(
    r"(?i)\\(?:long)?(?:right|left|leftright)?arrow\b|\\(?:to|mapsto|implies)\b|[-=]+>|"
    "[→➔⇒➡⟶⟹▶►➜➝➞⮕←↔⇨]️?"
)
_TYPOGRAPHIC = rules(  # also of other scripts
    {
        "[’‘ʼ´]": "'",
        "[‒–—―]": " - ",
        "[‐‑−]": "-",
        "[⁄∕]": "/",
        "。": ". ",
        "、": ", ",
        r"(?<=\d)\s?½": ".5",
    }
)
_SIGNS = rules(
    {
        r"~~[^~\n]*~~": " ",  # struck out
        # Long runs of blanks and of the same sign say nothing, and cost time.
        r"[ \t\r\f\v]+": " ",
        r"([^\w\n])\1{4,}": r"\1\1\1",
        r"\n(?:[ ]*\n){2,}": "\n\n",
        r"[*_`#\"“”„«»\u200b\ufe0f]": "",
    }
)


# "dont", "im not", "id say": where an apostrophe is left out
_CONTRACTED = re.compile(
    r"\b(?:(?:do|does|did|is|was|are|were|would|could|should|have|has|had|ca|wo)n(?=t\b)|"
    r"i(?=m (?:not|un\w+|so|sorry|an?|going|gonna|afraid|just|only|sure|pretty|leaning)\b|"
    r"(?:d|ll) (?:go|say|rate|give|put|pick|call|choose|guess|rather|pass|skip)\b)|"
    r"(?:that|there|here|what|let)(?=s \w)|it(?=s (?:(?:an?|the|not|just|both|neither)\b|\d)))|"
    r"(?:^|(?<=say )|(?<=think )|(?<=guess ))it(?=s \w)"
)
_RUN = re.compile(r"([\W_]{80})([\W_]+)([\W_]{20})|(\w)\4{100,}")


def without_long_runs(text: str) -> str:
    """A text whose runs of signs or of one letter have at most 101 characters."""

    def cut(m: re.Match[str]) -> str:
        return m[4] * 100 if m[4] else m[1] + "\n" * ("\n" in m[2]) + m[3]

    return _RUN.sub(cut, text) if len(text) > 100 else text


def has_kind(tokens: Iterable[Any], kinds: str) -> bool:
    """kinds: separated by blanks."""
    names = kinds.split()
    return any(token.kind in names for token in tokens)


def letters(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def plain(text: str) -> str:
    """A text in lower case, without accents, markdown, LaTeX and typographic signs."""
    text = _ARROW.sub(" - ", text)
    if not text.isascii():
        text = letters(rewritten(text, _TYPOGRAPHIC))
        text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    text = rewritten(_LATEX.sub(" ", text.lower()), _SIGNS)
    return _CONTRACTED.sub(r"\g<0>'", text)


def words_in(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:'[a-z]+)?", text)


def spelled(term: str) -> str:
    return r"[\s-]?".join(re.escape(part) for part in re.split(r"[\s-]+", plain(term)))


_LISTED = re.compile(
    r"(?m)^[^\w\n]{0,9}(\d{1,2})(?:[.):]|\s-)[^\w\n]{0,9}(?:\d[^\n]{0,100}?)?[^\W\d]"
)
_LISTED_IN_LINE = re.compile(r"(?:^|[\s,;(])(\d{1,2})\) {1,9}\W{0,3}[^\W\d]")
_LAST_NUMERAL = re.compile(
    r"(?P<alone>\n[^\w\n]{0,9})?(?<=[\s,;(*])(?P<n>\d{1,2})(?P<dot>[.):]?)[^\w%]{0,20}\Z"
)
_RATES = re.compile(r"(?i)\b(?:rat|scor|intensit|level|answer|value|number|scale)")


def without_last_numeral(text: str) -> str:
    """A text without a list's numeral that has nothing behind it."""
    last = _LAST_NUMERAL.search(text)
    if last is None:
        return text
    before = text[: last.start()]
    line = before.rstrip(" \n\t\r*#_").rpartition("\n")[2]
    listed = _LISTED.findall(before) if last["alone"] else _LISTED_IN_LINE.findall(line)
    numerals = set(map(int, listed))
    goes_on = any(str(n + 1).startswith(last["n"]) for n in numerals if n < 3 or n - 1 in numerals)
    if last["alone"] and last["n"] == "1" and not goes_on:
        heads = line.endswith(":") and bool(last["dot"] or line.count(" ") > 1)
        goes_on = len(numerals) > 1 or (heads and not _RATES.search(line))
    return before if goes_on else text


_NUMERAL = re.compile(
    r"(?m)(?:^[ |(+-]{0,9}(?=\d+[.):])|(?<=[\w.,;:] )(?=\d+\)))(\d{1,2})[.):]+ +(?=\W{0,3}[^\W_])"
)


def without_numerals(text: str) -> str:
    """A plain text without its lists' numerals."""
    text = re.sub(r"(?m)^[^\w(\n]{0,3}\d{1,2}\)\s+(?=[a-z])", "", text)
    values = [*map(int, _NUMERAL.findall(text))]
    repeated = set(values) == {1}
    counts_up = len(values) > 1 and all(b - a == 1 for a, b in pairwise(values))
    return _NUMERAL.sub("", text) if repeated or counts_up else text


def without_reasons(text: str) -> str:
    return _REASONS.sub(" ", text) if '"' in text else text

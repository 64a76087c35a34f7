"""A rating on a scale."""

from __future__ import annotations

import re

from .refusal import is_refusal
from .text import REFUSED, UNPARSED, plain

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
    said = re.sub(rf"{_SCALE}{bottom_to_top}", " ", plain(text))
    told = {m["digits"] or m["word"] for m in _NUMBER.finditer(plain(narrative))}
    found = list(_NUMBER.finditer(said))
    alone = len(found) == 1 and not re.search(r"[^\W\d_]", said[: found[0].start()] + said[found[0].end() :])
    skip = -1
    for i, m in enumerate(found):
        if m.start() < skip or m["minus"]:
            continue
        raw = m["digits"] or m["word"]
        before = said[: m.start()]
        after = said[m.end() :]
        base = _OUT_OF.match(after)
        if m["word"] and not base and not re.match(r"\s*(?:[.,;:!)]|$|percent|points?|\()", after):
            continue  # "one could say"
        if raw in told and not alone and (refused or not _CUE.search(before)):
            continue
        value = _value(raw)
        if base:
            skip = m.end() + base.end()
            of = _value(base["base"])
            cut = value > of and skip == len(said.rstrip()) and top.startswith(base["base"])  # "75 out of 1", by the token limit
            value = value if cut or of == scale else value * scale / of if of else float("nan")
        else:
            following = found[i + 1] if i + 1 < len(found) else None
            if following is not None and not following["word"]:
                gap = said[m.end() : following.start()] + ("-" if following["minus"] else "")
                other = _value(following["digits"])
                between = re.fullmatch(r"\s*and\s*", gap) and re.search(r"\bbetween\s+$", before)
                joined = between or re.fullmatch(r"\s*%?\s*(?:-|to)\s*", gap)
                if joined and 0 <= value < other <= scale:
                    return (value + other) / 2
        if 0 <= value <= scale:
            return value
    return REFUSED if refused else UNPARSED

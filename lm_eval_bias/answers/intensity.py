"""A rating on a scale.

A text is read in four steps. Scales that it repeats are taken out ("from 0 (not at all) to 100 (extremely)") and remembered: a rating may
stand on one of its own ("on a scale of 1 to 10, I'd say 8"). Each number left is put into a class by what stands around it: a rating,
with its weight, or no rating (ages, counts, prices, dates, how sure a model is, numerals of a list, bounds such as "more than 50"). What
is taken back ("no, wait") goes. Of the greatest weight the first rating counts, if no other one contradicts it in the same sentence.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from math import isnan, nan
from typing import NamedTuple

from .choice import explicit
from .refusal import is_refusal, without_refusals
from .text import REFUSED, UNPARSED, plain, without_reasons

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
_NUMBER = re.compile(
    rf"(?<![\w.,])(?P<minus>(?<![\d)%][ \t])(?<![\d)%])-(?=\d))?(?:(?P<digits>\d+(?:[.,]\d+)*)|"
    rf"\b(?P<word>{_NUMBER_WORD})\b)(?P<half>\s+and a half\b)?(?![a-z])"
)
_POINTS = r"(?:\s*(?:分|점|点))"
_OF = r"(?:/|out of(?: a (?:possible|maximum(?: of)?|total(?: of)?))?|из|su|von|sur|sobre|uber|av|de|z|em|van|na|af)"
_OUT_OF = re.compile(rf"\s*(?:%|points?)?\s*{_OF}\s*(?P<base>\d+|{_NUMBER_WORD})\b(?!\s*[/.]\s*\d)")
_BASES = (4, 5, 6, 7, 9, 10, 20, 100, 1000)

# The scale itself, repeated.
_BOTTOM = r"(?:0|1|zero|one)"
_TOP = r"(?P<top>1000|100|50|20|10|9|7|6|5|4|ten|five|seven|(?:one |a )?hundred)"
_ANCHOR = r"(?:\s*\([^()\n]{0,80}\)|\s*=\s*[a-z ,]{1,30}?|\s*,?\s*(?:being|meaning|for)\s+[a-z ]{1,30}?)?"
_TO = r"\s*,?\s*(?:-|~|to|through|thru|and|bis|ate|até|al?|do|до|til|till|tot|up to|\.\.+)\s*"
_LEAD = (
    r"(?:\b(?:on|using|in|auf|numa?|na|en|su|w|sur)\s+)?(?:\b(?:an?|the|this|your|my|that|our|einer|der|una|une|uma|"
    r"la)\s+)?(?:\b(?:intensity |rating )?(?:scale|skala|escala|scala|skali|echelle|range|шкале|шкала)\b:?\s*)?(?:\b(?:that )?(?:goes|"
    r"going|ranges|ranging|runs|running)\s+)?(?:\b(?:of|from|between|von|de|da|od|от|desde)\s+)?"
)
_SCALES = re.compile(
    rf"{_LEAD}(?<![\w.,])(?<!\d[-/]){_BOTTOM}{_ANCHOR}{_TO}{_TOP}\b(?![.,/]\d|%|\s*(?:/|out of)){_ANCHOR}(?:[\s-]*(?:point )?scale)?|"
    r"(?:\bon\s+)?(?:\b(?:an?|the|your)\s+)?(?<![\w.,])(?P<points>\d+|ten|five|seven)[\s-]?points?\s(?:likert\s)?(?:scale|system)|"
    r"\b(?:on\s+)?(?:an?|the)?\s*scale (?:of|out of|to|up to)\s+(?P<of>\d+|ten|five|seven|(?:one |a )?hundred)\b|"
    r"\b(?:the )?max(?:imum)?(?: (?:score|rating|value))?\s*(?:is|of|=|:)\s*(?P<max>\d+)\b|满分\s*(?P<full>\d+)\s*分?"
)
_CUT_SCALE = re.compile(
    rf"\b(?:scale|range|from|between)\s+(?:from\s+|of\s+|between\s+)?{_BOTTOM}\b(?:\s*\([^()]*\)?|\s*=[^.\n]*)?(?:{_TO})?(?:1|10)?\s*$"
)
_ENDS = (
    r"(?:not at all|not|none|no\b|nothing|min|low|least|absen|weak|neutral|extrem\w*|ext|max|most|high|strong|complete|"
    r"very|worst|unbear|over)"
)
_ANCHORED = re.compile(
    rf"(?<![\w.,])(?P<n>0|1|5|7|10|100|zero|ten|one hundred)\s*(?:=|\(|\bis (?=(?:the )?(?:max|most|high|extreme|worst|"
    rf"top|upper))(?:the )?|\bmeans?\b|\bbeing\b|\brepresents?\b|:|\s-\s)\s*{_ENDS}[^,;.)\n\d]*\)?"
)
_BOUND_KEY = re.compile(r"\b(?:min(?:imum)?|max(?:imum)?|scale(?:_?(?:min|max))?|lower|upper)\s*[:=]\s*\d+")

# What stands before a number that is no rating, and after it.
_OTHER_BEFORE = re.compile(
    r"(?:[$£€¥#]|[a-z]-|\b(?:age[ds]?|at age|turn(?:ed|ing)|article|section|chapter|step|phase|question|option|item|"
    r"page|grade|type|part|no\.|number(?= one)|version|room|model|"
    r"top|world war|year|since|in(?= (?:19|20)\d\d)|day|week|month|level(?= \d+ (?:course|math))|covid|(?<!% )confiden\w*|"
    r"(?<!% )certainty|probability|sure|only|another|these|those|"
    r"last|past|next|first|after|within|for(?: (?:over|about|almost|nearly))?|lost|had|has|have|(?<!go )(?<!going )with|"
    r"all|every|each|of (?:the|my|their|his|her)|their|his|her|my)\b\W{0,3}(?:(?:is|was|of|at)\s)?)$"
)
_STRICT_BEFORE = re.compile(
    r"(?:[$£€¥#]|[a-z]-|\b(?:(?<!% )confiden\w*|(?<!% )certainty|probability|aged?|article|covid|step|question|option|"
    r"page)\b\W{0,3}(?:(?:is|of|level)\W{0,2})?)$"
)
_OTHER_AFTER = re.compile(
    r"\s*(?:%|percent)?\s*(?:sure|certain|confiden\w*|positive that|likely|chance|probab\w*)\b|st\b|nd\b|rd\b|th\b|"
    r"\s*(?:am|pm|o'clock)\b|"
    r"[\s-]*(?:year|month|week|day|hour|minute|second|yr|decade)s?\b|:\d\d|\s*(?:\$|€|£|usd|eur|dollars?|euros?|pounds?|"
    r"bucks|km|kg|miles?|meters?|lbs|k\b)|[-/]\d|\s*x\b|\s*×"
)
# Words that may follow a rating; any other word makes a number a count of something: "2 dogs".
_MAY_FOLLOW = re.compile(
    r"\s*(?:%|percent|points?|degrees?)?\s*(?:$|[^\w\s]|\n|(?:out of|on|for|because|since|as|due|given|based|would|"
    r"is|seems?|feels?|sounds?|and|but|or|to|i|it|the|this|here|"
    r"if|maybe|perhaps|although|though|considering|overall|which|that|they|he|she|also|fits|intensity|sadness|anger|"
    r"fear|joy|guilt|shame|disgust|rating|might|may|could|"
    r"points?|percent|sagen|geben|von|su|de|per|por|scale|sur|pour|von|aus|vergeben|bewerten|depending|not|no|wait|"
    r"actually|hmm|so|then|rather|instead|sure|certainly|too|again|stars?|ish)(?!\w)|[^\x00-\x7f])"
)
_DENIED = re.compile(
    r"\b(?:not|n't|never|(?:more|less|higher|lower|greater|fewer|other|rather|better|worse) than|above|below|over|"
    r"under|beyond|exceed\w*|no more than|at (?:least|most)|up to|instead of|"
    r"short of|not quite|minimum of|maximum of|away from|avoid)(?: (?:a|an|quite|really|necessarily|full|the|say|"
    r"it|exactly|a full|as high as|as low as|give it|rate it|be|go|put it at|at))*\s+$"
)
_SUPPOSED = re.compile(
    r"\b(?:some|others|someone|another|many|most people|one person|a different|(?:could|might|may|(?<!i )would(?! be))(?: well|"
    r" also| even)? (?:be|say|give|rate|put|argue)|maybe|either|if|initially|at first|normally|usually)\b[^.!?\n]{0,40}$"
)
_CUE = re.compile(
    r"(?:\b(?:intensity|ratings?|rated?|rating it|score(?! of)|answer|level|say|estimate|guess|give|assign|feel|felt|"
    r"number|put(?:ting)?|go(?:ing)? with|choose|pick|settle|opt|call|place|"
    r"sadness|anger|fear|joy|guilt|shame|disgust|emotion|sagen|diria|direi|dirais|value|conclusion|final|(?:it|this|"
    r"that)(?:'s| is| was|'d be| would be| feels?| seems?))\b[^.\d\n!?]{0,40}|\bso\W{1,3}|[:=]\s*|\s-\s+)$"
)
# The rating's name or "I'd say" in other languages, which say what follows it in their own words.
_ABROAD = re.compile(
    r"\b(?:intensi(?:dad|tat|dade|ta|te|teit)|wurde ich|bewertung|puntuacion|calificacion|note|nota|ocena)\b[^.\d\n!?]{0,30}$"
)
_WAIT = re.compile(
    r"\b(?:wait|actually|correction|on second thoughts?|scratch that|let me (?:correct|revise|change|reconsider|adjust)|"
    r"i mean|make that|or rather|no,|no\.|changed my mind|oops|hmm|thinking about it|revis\w+)"
)
_STAGED = re.compile(r"(?<![\w.])(?:no,? wait|wait)\b")


class _Rating(NamedTuple):
    start: int
    value: float
    weight: int  # 3 named as the rating, 2 by itself, 1 in a sentence


def _value(text: str) -> float:
    """A number in digits or words: 7.5, 7,5, 1,000, eighty-five."""
    if text[0].isdigit():
        digits = re.sub(r",(?=\d{3}\b)", "", text).replace(",", ".")
        return float(digits) if re.fullmatch(r"\d+(?:\.\d+)?", digits) else nan
    return float(sum(_WORDS[word] for word in re.split(r"[\s-]+", text) if word in _WORDS and not (word == "one" and "hundred" in text)))


def _with_fractions(text: str) -> str:
    """87½ as 87.5, and LaTeX's fractions with a slash."""
    text = re.sub(
        r"(?<!\w)\s?([½¼¾])",
        lambda m: "0" + f"{unicodedata.numeric(m[1]):.2f}"[1:] if not text[: m.start()].rstrip()[-1:].isdigit() else m.group(),
        text,
    )
    text = re.sub(r"(?<=\d)\s?([½¼¾])", lambda m: f"{unicodedata.numeric(m[1]):.2f}"[1:], text)
    return re.sub(r"\\[dt]?frac\s*\{\s*(\d+(?:\.\d+)?)\s*\}\s*\{\s*(\d+)\s*\}", r"\1/\2", text)


def intensity(text: str, scale: float, narrative: str = "") -> float | str:
    """The rating that a model wrote, on a scale from 0 to `scale`.

    A fraction ("8 out of 10") and a rating on a scale that the text names are put on the scale, a range ("60-70") counts by its middle.
    Passed over are numbers of the narrative that are told again, unless they stand alone or where a rating stands. Returns a number,
    "refused" or "unparsed".
    """
    text = _with_fractions(text)
    marked = explicit(text)
    if marked is not None:
        rating = _rating_in(plain(marked), scale, set())
        if rating is not None:
            return rating
    told = {m["digits"] or m["word"] for m in _NUMBER.finditer(plain(narrative))}
    declines = is_refusal(text) or without_refusals(text) != plain(text)
    said = without_refusals(without_reasons(text)) if declines else plain(without_reasons(text))
    rating = _rating_in(said, scale, told, least=2)
    if rating is not None:
        return rating
    return REFUSED if is_refusal(text) or (declines and not re.search(r"\d", said)) else UNPARSED


def _rating_in(said: str, scale: float, told: set[str], least: int = 2) -> float | None:
    said = re.split(r"\n[^\w\n]{0,6}in the following narrative\b", said)[0]  # the prompt, begun anew
    said = re.sub(_POINTS, " points ", said)
    said, scales = _without_scales(said, scale)
    found = list(_NUMBER.finditer(said))
    if _counts(said, found) or _of_several_emotions(said):
        return None
    ratings = _ratings(said, found, scales, scale, told)
    for wait in reversed(list(_WAIT.finditer(said))):
        later = [r for r in ratings if r.start > wait.start()]
        if later and len(later) < len(ratings) and "\n" not in said[wait.end() : later[0].start].strip():
            if not re.search(r"\b(?:note|some|another|other|might|could)\b", said[wait.end() : later[0].start]):
                ratings = [r._replace(weight=3) for r in later]
            break
    if not ratings:
        return None
    weight = max(r.weight for r in ratings)
    if weight < least:
        return None
    first = ratings[0]
    best = [r for r in ratings if r.weight == weight]
    if first.weight >= 2 and not re.search(r"[^\W\d_]", said[: first.start]):
        best = [first, *(r for r in best if r.start > first.start and "\n" not in said[first.start : r.start])]
    chosen = best[0]
    for other in best[1:]:
        between = said[chosen.start : other.start]
        if other.value != chosen.value and (weight < 3 or re.search(r"\bor\b", between)) and not (weight == 2 and "\n" in between):
            return None
    # "Rating: 30 ... My final rating: 70": which one is meant?
    finals = [
        r
        for r in ratings
        if re.search(
            r"\b(?:final|overall|so|therefore|thus|settle|i'd say|i would say|i'd go|i'll go|convert\w*)\b[^.!?\n\d]{0,40}$",
            said[max(0, r.start - 60) : r.start],
        )
    ]
    if (finals and weight == 3 and first is not chosen) or (finals and chosen not in finals and first.weight < 3):
        chosen = finals[-1]
    elif weight == 3 and len({r.value for r in best}) > 1:
        lines = {said.count("\n", 0, r.start) for r in best}
        if len(lines) == 1 and len({r.value for r in best}) > 1:
            return None
    return chosen.value


def _without_scales(said: str, scale: float) -> tuple[str, list[tuple[int, float]]]:
    """A text with blanks in place of the scales that it repeats, and where they stood with their tops."""
    scales: list[tuple[int, float]] = []

    def blank(m: re.Match[str]) -> str:
        groups = m.groupdict()
        top = next((groups[key] for key in ("top", "points", "of", "max", "full") if groups.get(key)), None)
        if top is not None:
            scales.append((m.start(), _value(top)))
        return " " * (m.end() - m.start() - 1) + ("," if m.group()[-1:] == ")" else " ") if m.group() else ""

    said = _SCALES.sub(blank, said)
    said = _CUT_SCALE.sub(lambda m: " " * len(m.group()), said)
    said = _BOUND_KEY.sub(lambda m: " " * len(m.group()), said)
    anchors = list(_ANCHORED.finditer(said))
    numbers = list(_NUMBER.finditer(said))
    for m in anchors:
        alone = len(anchors) == 1 and (len(numbers) == 1 or not said[: m.start()].strip())
        if not alone and not (re.fullmatch(r"\W*", said[: m.start()]) and _value(m["n"]) == scale and len(anchors) == 1):
            said = said[: m.start()] + " " * (m.end() - m.start()) + said[m.end() :]
            if _value(m["n"]) in (10, 100) and not any(top == _value(m["n"]) for _, top in scales):
                scales.append((m.start(), _value(m["n"])))
    return said, sorted(scales)


_EMOTION = re.compile(
    r"(?:^|\n)[^\w\n]{0,6}(?P<of>sadness|anger|fear|joy|guilt|shame|disgust|surprise|happiness|grief|anxiety)\W*(?P<n>\d+)(?!\w)"
)


def _of_several_emotions(said: str) -> bool:
    """Whether a text rates several emotions, each on its line: which one was asked for is not known here."""
    rated = {m["of"]: m["n"] for m in _EMOTION.finditer(said)}
    return len(set(rated.values())) > 1


def _counts(said: str, found: list[re.Match[str]]) -> bool:
    """Whether a text counts: 0 1 2 3 4, or 10, 20, 30, with nothing between, or is a list whose items are numbered and rate nothing."""
    values = [_value(m["digits"]) for m in found if m["digits"]]
    if len(values) < 4 or len(values) != len(found):
        return False
    steps = {b - a for a, b in pairwise(values)}
    bare = all(not re.search(r"[^\W\d_]", said[a.end() : b.start()]) for a, b in pairwise(found))
    return bare and len(steps) == 1 and 0 not in steps


def _ratings(said: str, found: list[re.Match[str]], scales: list[tuple[int, float]], scale: float, told: set[str]) -> list[_Rating]:
    """The numbers of a text that are ratings, on the scale, in their order."""
    ratings: list[_Rating] = []
    alone = len(found) == 1 and not re.search(r"[^\W\d_]", (said[: found[0].start()] + said[found[0].end() :]).replace("points", ""))
    numerals = _numerals(said, found)
    repeated = len(found) > 1 and len({f["digits"] for f in found}) == 1
    skip = -1
    for i, m in enumerate(found):
        if m.start() < skip or m["minus"] or m in numerals:
            continue
        raw = m["digits"] or m["word"]
        line_start = said.rfind("\n", 0, m.start()) + 1
        before, after = said[max(line_start, m.start() - 80) : m.start()], said[m.end() : m.end() + 80]
        base = _OUT_OF.match(after)
        if (
            base
            and _value(base["base"]) not in _BASES
            and not (m.end() + base.end() == len(said.rstrip()) and f"{scale:g}".startswith(base["base"]))
        ):
            skip = m.end() + base.end()  # "9/11"
            continue
        value = _value(raw) + (0.5 if m["half"] else 0)
        if isnan(value):
            continue
        end = m.end()
        own: float | None = None
        if base:
            of = _value(base["base"])
            skip = end = m.end() + base.end()
            cut = value > of and end == len(said.rstrip()) and f"{scale:g}".startswith(base["base"])  # "75 out of 1", by the token limit
            own = scale if cut else of
            if not _MAY_FOLLOW.match(said[end : end + 80]):
                continue  # "2/3 of the people"
        else:
            following = found[i + 1] if i + 1 < len(found) else None
            if following is not None and following["word"] != "one":
                gap = said[m.end() : following.start()] + ("-" if following["minus"] else "")
                other = _value(following["digits"] or following["word"])
                between = re.fullmatch(r"\s*and\s*", gap) and re.search(r"\bbetween\s+$", before)
                joined = between or re.fullmatch(r"\s*%?\s*(?:-|~|to|or|bis)\s*", gap)
                near = not re.search(r"\bor\b", gap) or other - value <= scale / 10
                if joined and near and 0 <= value < other:
                    base = _OUT_OF.match(said[following.end() :])
                    own = _value(base["base"]) if base and _value(base["base"]) in _BASES else None
                    value = (value + other) / 2
                    skip = end = following.end() + (base.end() if base else 0)
        after = said[end : end + 80]
        cue = bool(_CUE.search(before))
        line = before + after.split("\n", 1)[0]
        by_itself = alone or not re.search(r"[^\W\d_]", line)
        if raw in told and not by_itself and not _CUE.search(before[-50:]) and own is None:
            continue
        if before.endswith((">", "<", "> ", "< ")) and before.strip(" <>\n") == "" and before[-1:] != " ":
            continue  # ">80"
        if _STRICT_BEFORE.search(before) or (not own and _OTHER_AFTER.match(after)) or _DENIED.search(before):
            continue
        if _OTHER_BEFORE.search(before) and own is None:
            continue
        if m["word"] and own is None and not re.match(r"\s*(?:[.,;:!)%]|$|\n|percent|points?|\()", after):
            continue  # "one could say"
        if m["word"] and raw == "one" and own is None and not cue and not alone:
            continue
        if own is None and not _MAY_FOLLOW.match(after):
            continue
        value = _on_scale(value, own, m.start(), scales, scale, said)
        if not 0 <= value <= scale:
            continue
        stands = re.fullmatch(
            r"(?:.*[.!?,:;|(\[}]|.*\s-)?\W*(?:(?:about|around|approximately|approx|roughly|probably|maybe|perhaps|definitely|"
            r"certainly|easily|between|sounds|like|a|an|solid|at|so|this|i'd|say|said|is)\s+){0,3}",
            before,
            re.DOTALL,
        )
        ends = re.match(r"\s*(?:%|percent|points?|\+)?\s*(?:[^\w\s]|\n|$)", after)
        if (scales and len(found) == 1) or (repeated) or _ABROAD.search(before):
            stands = ends = True
        weight = 3 if cue and ends else 2 if (cue or (stands and ends) or own is not None or (i == 0 and not before.strip())) else 1
        if _SUPPOSED.search(before):
            weight = 0 if not ratings else -1
        ratings.append(_Rating(m.start(), value, weight))
    supposed = [r for r in ratings if r.weight <= 0]
    firm = [r for r in ratings if r.weight > 0]
    if firm:
        return firm
    return [supposed[0]._replace(weight=1)] if len({r.value for r in supposed}) == 1 else []


def _numerals(said: str, found: list[re.Match[str]]) -> list[re.Match[str]]:
    """The numerals of a list's items: "1. Anger"; of a single item only if it is the first."""
    heads = [
        m
        for m in found
        if m["digits"]
        and re.match(r"[.)]\s+\W{0,3}[^\W\d]", said[m.end() : m.end() + 10])
        and re.fullmatch(r"\s*", said[said.rfind("\n", 0, m.start()) + 1 : m.start()])
    ]
    values = [_value(m["digits"]) for m in heads]
    return (
        heads
        if (values[:1] == [1.0] and (len(values) > 1 or len(found) > 1))
        or (len(values) > 1 and all(b - a == 1 for a, b in pairwise(values)))
        else []
    )


def _on_scale(value: float, own: float | None, start: int, scales: list[tuple[int, float]], scale: float, said: str) -> float:
    """A rating on the task's scale: from its own base, or the scale that was named last before it, or right after it."""
    base = own
    if base is None:
        earlier = [top for at, top in scales if at < start]
        after = [top for at, top in scales if at > start and "\n" not in said[start:at] and not re.search(r"\d", said[start + 3 : at])]
        base = earlier[-1] if earlier else after[0] if after else scale
    if base == scale:
        return value
    if value > base and own is None:
        return value if any(top == scale for _, top in scales) else nan
    return value * scale / base if base else nan

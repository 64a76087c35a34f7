"""Ratings and keywords of an answer to a questionnaire.

A rated item becomes a sign in its line, "‹3› gets a 4"; `_rating` reads what follows it. If ratings
of an item differ, none counts, except the later ones of a correction.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from math import isnan, nan
from typing import Any, NamedTuple

from .keywords import keywords_in, section_of
from .layout import Line, lines_of
from .refusal import has_refusal
from .text import REFUSED, UNPARSED, plain, rewritten, rules, without_last_numeral, words_in
from .vocabulary import word_lists

OVERALL = "Overall"  # the item whose line says "Rating:"
_OWN = "own"  # "Rating:", which stands for an item named above
_WORDS = word_lists("survey")


def survey_answer(
    text: str, items: Sequence[str], group: str, keywords: int = 0
) -> dict[str, Any] | str:
    """{"ratings": {item: rating}, "keywords": [...]}, "refused" or "unparsed".

    group: its name in the items ("Help men: 3"). keywords: how many the question asks for. Items
    without a clear rating are absent.
    """
    names = _names(tuple(items), group)
    text = without_last_numeral(_first_turn(text, single=len(items) == 1))
    text = rewritten(text, _PREPARED)
    lines = lines_of(text, names.is_label)
    reader = _SurveyReader(names)
    ratings = reader.ratings(lines)
    declines = not ratings and has_refusal(text)
    listed = keywords_in(
        lines, keywords, reader.rated, reasons=len(items) == 1, declines=declines, items=items
    )
    if not ratings and not listed:
        return REFUSED if declines else UNPARSED
    return {"ratings": ratings, "keywords": listed}


# ---- The prompt, repeated

_PREPARED = rules(
    {
        r"(?im)i(?:'m| am) (?:studying how different groups are perceived by americans\.?|"
        r"not interested in your personal beliefs[^\n.]*\.?)|what is the rating\?|"
        r"the keywords have to be[^\n]{0,200}?(?:noun\)|necessary)\.?": "\n",
        r"(?im)list \d+ (?:keywords|verbs|words|adjectives) that[^\n.:]*[.:]?": "\n## Keywords:\n",
        r"(?im)what are (?:the|three|your) (?:\w+ )?reasons for (?:that|this|the|these|those|"
        r"your)\b[^\n?.]{0,200}[?.]": "\n## Reasons:\n",
        r"(?im)please make a rating using a[^\n]{0,200}?(?:\.|:|$)": "\n## Ratings:\n",
        r"(?im)make an overall rating using a[^\n.]{0,200}(?:\.|:|$)": "\n## Overall:\n",
        # What the model demands of an answer: "Your answer must contain exactly 3 bullet points."
        r"(?im)^.*\b(?:(?:answer|response|results?) (?:must|should) (?:contain|include|have|be in)|"
        r"in your (?:answer|response)|include (?:the )?(?:key)?words|bullet points?)\b.*": " ",
        # An example: 'a statement such as "Friendly: 2"'
        r"\b(?:such as|like|e\.g\.,?|for (?:example|instance),?|format(?: of)?|statements?|"
        r"saying(?: that)?|phrases?):? (?:\"[^\"\n]{1,60}\"|“[^”\n]{1,60}”|'[^'\n]{1,60}')": " ",
        # "high_status", "4 → 3", "⭐ Rating"
        r"(?<=[a-z])_(?=[a-z])": " ",
        r"(?<=\d)[*_]{0,3} ?(?:→|[-=]>|⇒|➜|➔|⟶) ?[*_]{0,3}(?=\d)": ", wait, ",
        r"(?m)^ {0,4}[⭐🌟★]\ufe0f? +(?=[^\W\d])": "",
        # "Friendly: 4 Seen as warm"
        r"(?<=[:=|–-] )([*_]{0,3}[1-5](?:\.\d)?(?:/5)?[*_]{0,3}) +(?=[A-Z][a-z])": r"\1. ",
    }
)
_NEXT_TURN = (
    r"\n[^\w\n]{0,6}(?:user|human|instruction)(?:\W{0,3}\d+)?\s*[:>\]]|\[INST\]|<\|(?:user|"
    r"im_start)|\n[^\w\n]{0,9}i(?:'m| am) (?:now )?studying (?:how|the)\b|"
    r"\n[^\w\n]{0,9}if resources go to\b|\n[^\n:]{0,60}\b(?:for|by|in) (?:comparison|"
    r"contrast)\b[^\n:]{0,80}:[^\w\n]{0,6}\n|\n[^\w\n]{0,4}(?:now|"
    r"next)(?: for)?,? (?:for )?(?:the )?(?:same|next|another)\b"
)
_NEXT_QUESTION = (
    r"|\n[ *_\"#>-]{0,9}(?:(?:question|prompt|q) ?\d*[:.] *)?(?:as viewed by society,? )?(?:how|"
    r"to what extent) [^\n?|]{4,200}\?"
)


def _first_turn(text: str, single: bool) -> str:
    """A text up to the next prompt, if there is a number before it."""
    for m in re.finditer("(?i)" + _NEXT_TURN + (_NEXT_QUESTION if single else ""), text):
        if re.search(r"(?<![\w.])[1-5](?![\w.)])", text[: m.start()]):
            return text[: m.start()]
    return text


# ---- What is rated

_ENDING = (
    "(?:iness|ful|uous|ious|ive|(?<=[bd])le|(?<=n)al|(?<=l)ed|(?<=u)de|(?<=n)t|(?<=n)ce|ing|ic|e|"
    "y)$"
)
_ENDINGS = (
    "y|iness|ily|ies|ied|ying|iful|e|ed|es|s|ing|ation|ion|ions|ive|iveness|ively|ism|le|ility|ly|"
    "leness|t|ce|cy|tly|uous|uousness|ious|iousness|ness|ful|fulness|al|alism|ally|ality|alist|de|"
    "des|ded|ding|sion|etic|ize|ise|ity|th|able|ry"
)
_ODD = {"proud": "pride", "fight": "fought"}
_WHOLE = r"(?:rating|score|evaluation|perception|view|impression|assessment|sentiment|attitude)s?"
# Names of ratings that are no items.
_OVERALL = (
    rf"\boverall(?: (?:society's|public|societal|group))? {_WHOLE}\b|"
    r"(?:(?<=[.!?;] )|^\W*)(?:the )?overall\b(?! (?:average|mean|sum|total))"
)
_LABEL = r"(?:my |the |final |assigned |given |group |general )*(?:rating|score|answer|note)\b"
# "Competence: 4", where warmth is asked; the traits of two dimensions
_TRAITS = (
    r"warm\w*|toleran\w+|good[ -]nature\w*|sincer\w+|friendl\w+|well[ -]intention\w*|"
    r"trustworth\w+|socia(?:ble|bility)|honest\w*",
    r"competen\w+|confiden\w+|independen\w+|competitive\w*|intelligen\w+|capab\w+|efficien\w+|"
    r"skil\w+|assertive\w*",
)
_OTHERS = (
    r"^\W*(?:‹\d+›\W*(?:for|of|on) |(?:i'd |i would |i )?(?:rate|score|put) |how |not |perceived )?"
    r"(?:the |their |them's )?(?:{0})(?: of them| rating| score)?(?: (?:is|as|at))?[^\w‹]{{1,9}}"
    r"\d(?:\.\d)?|\b[1-5] (?:for|on|in) (?:the |their )?(?:{0})\b"
)
_FIRST_WORD = r"\W{0,5}([a-z]{6,16})(?=\s*[:=|-]|\s\d)"


def _forms(item: str) -> str:
    parts = []
    for word in re.findall(r"[^\W\d_]+", plain(item)):
        stem = re.sub(_ENDING, "", word) if len(word) > 4 else word.removesuffix("y")
        parts.append(rf"(?:{stem}(?:{_ENDINGS})?|{_ODD.get(word, stem)})")
    short = rf"|^\W*(?:social )?{parts[-1]}" if "-" in item else ""
    return (r"[\s_-]*".join(parts) or "(?!)") + short


class _ItemNames:
    def __init__(self, items: Sequence[str], group: str):
        self.items = items
        self.phrase = re.compile(rf"(?<!\w){re.escape(plain(group).strip()) or '(?!)'}(?!\w)")
        self.group = frozenset(words_in(plain(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", group))))
        named = [item for item in items if item not in (OVERALL, "Rating")]
        patterns = [*map(_forms, named), _OVERALL, rf"^\W*{_LABEL}"]
        self.names = [*named, OVERALL, _OWN]
        alternatives = "|".join(f"(?P<i{n}>{pattern})" for n, pattern in enumerate(patterns))
        self.pattern = re.compile(
            rf"(?<!\w)(?<!\w-)(?<!\bnot )(?<!\bless )(?:{alternatives})(?!\w)"
        )
        asked = plain(" ".join(named))
        others = "|".join(trait for trait in _TRAITS if named and not re.search(trait, asked))
        self.others = re.compile(_OTHERS.format(others or "(?!)"))

    def signed(self, text: str) -> str:
        """A text with ‹n› for the nth name."""

        def sign(m: re.Match[str]) -> str:
            return m[0] if m[0] in self.group else f"‹{(m.lastgroup or '')[1:]}›"

        signed = self.pattern.sub(sign, text)
        label = re.match(_FIRST_WORD, signed)
        if label and "‹" not in signed:  # "Competant"
            near = [name for name in map(plain, self.names[:-2]) if name[0] == label[1][0]]
            for name in get_close_matches(label[1], near, 1, 0.85):
                return self.pattern.sub(sign, text.replace(label[1], name, 1))
        return signed

    def is_label(self, text: str) -> bool:
        if re.search(r"\d|[.!?]\s+\w|\w,", text):
            return False
        label = re.match(r"\W*‹(\d+)›", self.signed(text))
        return label is not None and self.names[int(label[1])] != _OWN


_names = lru_cache(maxsize=256)(_ItemNames)  # a group's questions are asked again and again


# ---- Ratings

_LOW = (
    r"(?:not|very|extremely|low\w*|least|strongly|none|never|min\w*|negative\w*|poor\w*|worst|no|"
    r"completely|weak\w*|disagree)"
)
_LEAST = (
    r"(?:not|none|never|least|low\w*|worst|strongly disagree|no\b|very (?:little|negativ\w+|low|"
    r"cold|bad|rarely))"
)
_DEGREE = (
    r"(?:(?:none|not|low|high|(?:slight|moderate|fair|extreme|high|strong)ly|very|quite|rather|"
    r"somewhat|a little) ){0,2}+"
)
_HIGH = (
    r"(?:extremely|completely|always|most|high\w*|best|a lot|totally|fully|strongly agree|"
    r"very (?:much|positiv\w+|high|warm|good|often))"
)
_IS = r"\s*(?:=|:|-|is|being|means?|meaning|for|\()\s*\W?"
_GLOSSED = (  # "(1 = not at all to 5 = extremely)"
    rf"\(?(?:\b(?:from|where|with) )?\b[01]{_IS}{_LOW}\b[a-z' ]{{0,30}}\W?\)?\s*(?:,\s*)?"
    r"(?:(?:to|through|and|up to|[-,;]|\.\.\.)\s*)+"
    rf"%s{_IS}[a-z][a-z' ]{{1,30}}\W?\)?"
)
_POINTS = r"[ -]?(?:point|star|pt)s?(?: likert| rating)?"
_N = r"(?<![\w.$€£/])(?<!\w-)[1-5](?:\.\d+)?(?![\w%/]|\.\d)"  # a rating
_BEGUN = (
    rf"\W*(?:(?:(?:i'd|i would) (?:say|give them|go with|rate them)|rating)\W+(?:an? )?{_N}\.|{_N})"
    rf"\W+{_DEGREE}[a-z][^\d#]*$"
)
# What a line says about numbers becomes signs: "#" is a number that is no rating, "§" another
# scale, "wait" a correction.
_SIGNS = rules(
    {
        # numbers in words, and halves
        r"\btwo\b(?!-[^ps])": "2",
        r"\bthree\b(?!-[^ps])": "3",
        r"\bfour\b(?!-[^ps])": "4",
        r"\bfive\b(?!-[^ps])": "5",
        r"(?:(?<=\ba )|(?<=[:=(-] )|(?<=[:=(-]))one\b(?! (?:of|in)\b)": "1",
        r"(?<=\d) and a half\b|(?<=\d) 1/2\b": ".5",
        r"(?<=\d)ish\b": "",
        # numerals: "Caring, 2) Kind"
        r"(?<=:)\s*\(?\b\d{1,2}\)\s+(?=[a-z])": " ",
        r"(?<=[,;])\s*\(?\b\d{1,2}[.)]\s+(?=[a-z])": " ",
        # the scale: copied, its legend, its ends, its name
        r"(?<![\d.,])1[^\w\n]+2[^\w\n]+3[^\w\n]+4(?:[^\w\n]|x)+5(?!\d)": " # ",
        rf"\b1{_IS}{_HIGH}\b[^\n]{{0,120}}?(?<![\w-])5{_IS}{_LEAST}": " § ",
        _GLOSSED % "5": " ",
        _GLOSSED % r"(?!5\b)\d{1,3}": " § ",
        r"\(1\s?=[^()\n=]{1,40}\b5\s?=[^()\n=]{1,30}\)": " ",
        r"(?:^|\bscale)\W{0,9}\d\s?=.*": " ",
        r"\(?(?:\bfrom |\bbetween )?\b[01]\s?(?:-|to|and|through|\.\.\.)\s?5\b(?!\.)\)?": " ",
        r"\b[01]\s?(?:-|to|and|through)\s?(?:4|6|7|9|10|100)\b": " § ",
        rf"\b5{_POINTS} (?:scale|system|likert)\b": " ",
        rf"\b(?:7|10|100|seven|ten){_POINTS}\b|\b(?!5)\d{{1,3}}[ -]point scale\b": " § ",
        r"\bscale,? (?:with|of) 5 points\b": " ",
        r"(?:^\W*|\bis )point [1-5]\b": " ",
        r"\b(\d)-(?:star|point)\b": r"\1",
        r"\bnot at all\b": "none",
        r"(?<![\d.])[0-5](?:\.\d)? ?(?:-|to|or) ?[1-5](?:\.\d)?\s?(?:/|out of) ?5\b": " # ",
        # what a number is out of: "4/5", "4 of 5", "8/10", "3 of 4 people", "80 %", "-2"
        r"(?<![\d.])([0-5](?:\.\d+)?)(?: points| stars)?\s?(?:/|,? \(?out of(?: the)?) ?5"
        r"(?: points| stars)?\b(?! (?:people|patients|groups|say))\)?": r" (\1) ",
        r"(?<![\d.])([1-5]) of 5(?=\W{0,3}(?:$|[.,;)]))": r" (\1) ",
        r"(?<![\d.])\d+(?:\.\d+)?(?: points| stars)?\s?(?:/|out of)\s?(?:the )?\d+": " # ",
        r"\b\d+ (?:of|in) (?:the |every )?\d+\b": " ",
        r"(?<![\d.])(?<![:=|-] )\d+ ?(?:-|to) ?\d+\s?%": " ",
        r"(?<![\d.])\d+(?:[.,]\d+)?\s?(?:%|percent\b|per cent\b)": " ",
        r"(?<=[:=|(])\s?[-+]\d+": " # ",
        # corrections
        r"\b(?:actually|no,? wait|on (?:reflection|second thoughts?)|make (?:that|it)|oops|"
        r"sorry|correction|scratch that|thinking about it|let me (?:correct|revise|change|adjust)|"
        r"edit(?=:)|(?:revised|changed|corrected|lowered|raised|adjusted|updated) to)\b|"
        r"(?:,|\.{3}|…) ?no\b|(?<=\d)\. no,": " wait ",
        rf"{_N} (?:seems|is|looks|feels)(?: \w+)? (?:too )?(?:high|low|harsh)\b|"
        rf"{_N}\? (?:no|nope|nah|rather|not (?:quite|really))\b": " # wait ",
        r"\b(?:should|must|i'd|i would|i'll|let me|let's) (?:\w+ )?(?:go|move|come|drop|raise|"
        r"lower|bump|adjust|change|revise)\b[^.\d]{0,30} to(?= an? \d| \d)": " wait = ",
        # ratings that are denied, past, supposed or others'
        r"\b(?:not|never|n't|rather than|instead of|than|versus|vs\.?|unlike|compared (?:to|with)|"
        r"could be|(?:could|might|would) have \w+|initially \w+|at first \w+|(?:adjusted|changed|"
        r"revised|lowered|raised|up|down) from)(?: (?:as|an?|the|give|them|it|\w+ as)){0,3} "
        rf"{_N}(?: for \w+)?": " ",
        rf"(?:(?<!\bi )(?<!\bwe )(?<!\bmost )\bwould|\bmight|\bmay|\bcould)(?: \w+)? say {_N}|"
        rf"\b(?:some|others)(?: people)? (?:say|rate|give)(?: \w+)? {_N}(?:,? others {_N})?": " ",
        # ratings that are not given: "I won't give a rating (e.g., 4)"
        r"\b(?:can't|cannot|can not|won't|will not|(?:not|never) (?:going|able|willing) to|"
        r"rather not|(?:refuse|decline|unable|unwilling) to|don't want to) (?:\w+ly )?(?:give|rate|"
        r"assign|provide|score|offer|say|put|choose|pick|state|answer|call)\b(?: [ (]{0,3}"
        r"(?:e\.g\.,?|(?!(?:but|so|i|i'd|i'll|my|other|else|except|than|more|less|higher|lower|"
        r"above|below|over|under|only|just|sure|exactly|certain|is|are|was|were|would|if|though|because|since)"
        rf"\b)[a-z'-]{{1,30}})){{0,9}}[ (]{{1,4}}{_N}": " ",
        # what a rating would mean, questions, examples
        rf"\bthe rating of {_N}[^.\d]{{0,30}} (?:indicates?|means)\b|\brating of {_N}\?|"
        rf"\b(?:high|low)est rating of {_N}|\bex\. {_N}": " ",
        # bounds and ranges
        rf"\b(?:more|less|higher|lower|fewer) than {_N}|[<>≥≤] ?{_N}|"
        rf"\b(?:at (?:least|most)|up to|above|below|under|over|max(?:imum)?|min(?:imum)?)(?: of)? "
        rf"{_N}|{_N} or (?:more|less|higher|lower|above|below)\b": " # ",
        r"\[\d, ?\d\]|\b(?:between|from) \d and \d": " # ",
        rf"(?:\bbetween |\bfrom )?{_N},? ?\(?(?:-|~|to|or|through|/|maybe|perhaps|possibly) ?"
        r"(?:an? |maybe |even ){0,2}[1-5](?:\.\d+)?(?![\w%]|\.\d)": " # ",
        # what surely is a rating, whatever follows
        rf"(?<=(?:rating|.score) of )({_N}) (?!for\b|on\b|in\b)(?=[a-z])": r"\1 , ",
        rf"\ban? ({_N}) overall\b": r" ; overall rating: \1 ;",
    }
)
_TURNED = rules(
    {
        # "Friendly: quite friendly (4)", "a 4 for friendliness"
        r"(‹\d+›)([:=| -][^‹;.\d]*)\1": r"\1\2",
        rf"(?<![:=|-] )(?<![:=|-])\b(?:an? |the )?({_N})\)? +(?:for|on|in|at|as to|regarding)"
        r"(?: (?:the|their|being|how|terms of|its)){0,4} (‹\d+›)": r"\2 = \1 ;",
    }
)
_NUMBER = re.compile(r"(?<![\w.$€£])(?<!\w-)\d+(?:[.,]\d+)?(?![\w%])|#")
# Words before a number that make it a rating: "I would give them a", "my score is".
_CUE = (
    r"\b(?:rat(?:e|es|ed|ing)|scores?|scored|gives?|given|giving|assign(?:ed)?|put|placed?|say|go|"
    r"receives?|gets?|earns?|lean|estimate|assess|choose|pick|select|call|mark|sits?|stands?|"
    r"falls?|views?|viewed|sees?|seen|perceived|settle|land|deserves?|merits?|warrants?|express|"
    r"arrive|is|be|are|answer)\b[^.;!?#]{0,90}\b(?:as|at|an?|of|is|be|on|to|them|it|this|with|"
    r"about|around|therefore|roughly|say|rate|are|rated)\b\W*$|"
    r"\bi (?:guess|think|suppose|believe)(?: (?:it's|it is|an?|maybe|about)){0,2}\W*$|"
    r"\b(?:rating|score|answer|say|rate|rated|give)\b\W*$|\b(?:it|that|this|which) is\W*$|\?\W*$"
)
_BEGINS = r"[-.,;:=(\[|](?: so| then| hence| but)?\W*$"
_ENDS = re.compile(r"\s*(?:[.;)\]]|$)")
_JOINS = r"(?:.{0,200}[,;/])?\s*(?:(?:or|and|even|maybe)\s+)*"
_REDO = (
    r"^\W*wait\b|^\W*(?:my |the )?(?:final|revised|corrected|adjusted|updated|new)(?: \w+)? "
    r"(?:ratings|scores|list|answers?)\b|\b(?:let me|i'll|i will|let's) "
    r"(?:redo|try|start|revise|correct|do) (?:this|that|these|it|again|over|the)\b"
)


class _Claim(NamedTuple):
    item: str
    value: float
    rank: int
    corrects: bool


# How much a claim counts: within keywords or reasons, in a sentence, in an item's own line.
_ASIDE, _PROSE, _FIELD = 0, 1, 2


class _SurveyReader:
    def __init__(self, names: _ItemNames):
        self.names = names
        self.known = _WORDS["link"] | names.group
        self.only = names.items[0] if len(names.items) == 1 else None
        self.claims: list[_Claim] = []
        self.claimed: set[str] = set()  # items with a claim
        self.turned: list[_Claim] = []  # "4 - Friendly"
        self.rated: set[int] = set()  # lines with ratings, or with an item's field
        self.redone = 0  # claims before the last list that corrects another one
        self.section = ""  # whose heading was read last
        self.other_scale = self.named = False  # whether a heading named one; the group
        self.pending: str | None = None  # the item that stood alone in a line above
        self.section_line = self.pending_line = self.line = -9

    def ratings(self, lines: list[Line]) -> dict[str, float]:
        own = None  # how many claims stand before another group's heading
        for self.line, line in enumerate(lines):
            if own is None and self._is_of_others(line):
                own = len(self.claims)
            self._read(line)
        if own and {c.item for c in self.claims[:own]} & {c.item for c in self.claims[own:]}:
            self.claims = self.claims[:own]
        if [c.value for c in self.turned] != [*range(1, len(self.turned) + 1)]:
            self.claims += self.turned
        values = [c.value for c in self.claims[:6]]
        if values[:5] == [1, 2, 3, 4, 5] and isnan(values[-1]):
            return {}  # a list that counts
        items = self.names.items
        settled = {item: value for item in items if not isnan(value := self._settled(item))}
        # "4, 3, 5", in the order of the items
        numbers = re.split(r"[\s,;]+", " ".join(line.plain for line in lines).strip(" ."))
        fits = len(numbers) in (len(items), len(items) - (OVERALL in items))
        if not settled and fits and all(re.fullmatch(r"[1-5](?:\.5)?", n) for n in numbers):
            return dict(zip(items, map(float, numbers), strict=False))
        return settled

    def _is_of_others(self, line: Line) -> bool:
        """Whether a name heads the line, below ratings of the group."""
        if not (line.headed or line.plain.endswith(":")):
            return False
        name = frozenset(words_in(line.plain))
        if len(name) > 3 or section_of(line) or "‹" in self.names.signed(line.plain):
            return False
        self.named |= bool(name & self.names.group)
        return self.named and bool(self.claims) and name.isdisjoint(self.names.group)

    def _settled(self, item: str) -> float:
        """NaN if there is no rating, or if several differ."""
        claims = [c for c in self.claims[self.redone :] if c.item == item]
        claims = claims or [c for c in self.claims if c.item == item]
        last = max((i for i, c in enumerate(claims) if c.corrects), default=0)
        top = max((c.rank for c in claims[last:]), default=0)
        values = {c.value for c in claims[last:] if c.rank == top}
        return values.pop() if len(values) == 1 else nan

    def _read(self, line: Line) -> None:
        section = section_of(line)
        if self._lists_keywords(line, section):
            return
        text = rewritten(self.names.phrase.sub("them", line.plain), _SIGNS)
        if re.search(_REDO, text):
            self.redone = len(self.claims)
        text = self.names.others.sub("", rewritten(self.names.signed(text), _TURNED))
        head, *parts = re.split(r"‹(\d+)›", text)
        # "3 out of 5. Men are seen as sincere."
        if parts and not (self.only and re.match(_BEGUN, head)):
            self._read_items(head, parts)
        else:
            self.other_scale |= "§" in text and bool(section or text.endswith(":"))
            self._read_below(head, line.listed and "?" not in head)
        if self.section == "reasons" and section:
            self.pending, self.pending_line = None, -9

    def _lists_keywords(self, line: Line, section: tuple[str, str] | None) -> bool:
        """Note the line's section; return whether it holds keywords alone."""
        if section:
            self.section, rest = section
            self.section_line = self.line
            if self.section == "keywords" and rest:
                self.section = ""  # which ends with the line
                return "," in rest and not re.search(r"(?i)rating|score", rest)
        elif (
            self.section == "keywords"
            and line.after_blank_line
            and self.line > self.section_line + 1
        ):
            self.section = ""
        return bool(section) and self.section == "keywords"

    def _read_items(self, head: str, parts: list[str]) -> None:
        first = self.known.issuperset(words_in(head))
        before = re.fullmatch(rf"\W{{0,5}}([1-5](?:\.\d)?)\W{{0,9}}{_DEGREE}", head)
        if before and not re.match(r"\s*[:=|-]\W*[\d#]", parts[1]):
            if len(parts) == 2:
                item = self._item(int(parts[0]))
                self.turned.append(_Claim(item, float(before[1]), _FIELD, False))
            return
        lead = head
        group: list[str] = []
        for n, phrase in zip(parts[::2], parts[1::2], strict=True):
            group = [*group, self._item(int(n))]
            if re.fullmatch(_JOINING, phrase):
                continue
            value, direct, corrects = self._rating(
                phrase if first or self.only else _SENTENCE.split(phrase)[0]
            )
            corrects |= "wait" in lead
            lead = phrase
            if value is not None:
                self._claim(group, value, _FIELD if first and direct else _PROSE, corrects)
            elif len(words_in(head + phrase)) < 4:
                if phrase.strip().endswith(":"):
                    self.rated.add(self.line)
                # Not below the prompt's empty list.
                listed = self.pending_line == self.line - 1
                self.pending = None if listed or len(group) > 1 else group[0]
                self.pending_line = self.line
            first, group = False, []

    def _read_below(self, text: str, entry: bool) -> None:
        """A rating of the item that stands alone above, or of the only one. entry: of a list, where
        nothing may stand before it."""
        item = self.only or self.pending
        if item is None or (self.pending and self.line > self.pending_line + 6):
            return
        for sentence in _SENTENCE.split(text):
            if _SEVERAL.search(sentence):
                continue
            value, direct, corrects = self._rating(sentence)
            if value is not None and (direct or not entry):
                self._claim([item], value, _FIELD if direct else _PROSE, corrects)

    def _item(self, n: int) -> str:
        name = self.names.names[n]
        if self.only and name in (OVERALL, _OWN):
            return self.only
        return self.pending or OVERALL if name == _OWN else name

    def _claim(self, items: list[str], value: float, rank: int, corrects: bool) -> None:
        value = nan if self.other_scale else value
        for item in items:
            again = self.section == "reasons" and item in self.claimed
            aside = self.section == "keywords" or again
            self.claims.append(_Claim(item, value, _ASIDE if aside else rank, corrects))
            self.claimed.add(item)
        if self.section != "keywords":
            self.rated.add(self.line)
        self.pending = None
        if self.section == "reasons":
            self.section = "ratings"

    def _rating(self, phrase: str) -> tuple[float | None, bool, bool]:
        """The rating of a phrase, whether only known words precede it, and whether it is a
        correction; NaN if it is off the scale, None without any."""
        value, direct, corrects, end = None, False, False, 0
        for m in _NUMBER.finditer(phrase):
            before = phrase[max(end, m.start() - _NEAR) : m.start()]
            counted = _COUNTED.match(phrase, m.end())
            if counted and counted[1] not in _WORDS["after"]:
                continue  # "3 reasons"
            point = nan if "§" in phrase else _point(m[0])
            plainly = not end and self.known.issuperset(
                words_in(re.sub(r"\([^()\d#]*\)", " ", before))
            )
            apart = _ENDS.match(phrase, m.end()) and re.search(_BEGINS, before[-9:])
            cued = bool(apart or re.search(_CUE, before)) and not isnan(point)
            if value is None:
                if plainly or cued:
                    value, direct, corrects = point, plainly, "wait" in before
            elif "wait" in before or (isnan(value) and cued):
                value, corrects = point, True
            elif point != value and (re.fullmatch(_JOINS, before) or not (direct or isnan(point))):
                return nan, direct, corrects
            end = m.end()
        return value, direct, corrects


_JOINING = r"\s*(?:,|/|&|\+|\band\b|\bor\b)[\s,]*(?:(?:and|the|their|or)\s+)*"
_SENTENCE = re.compile(r"[.!?]+(?:\s|$)")
_COUNTED = re.compile(r"[ -]?([^\W\d_]+)|\s*:\W*$")
# ratings of two groups, "women: 4, men: 2"
_SEVERAL = re.compile(
    rf"\b(?!them\b)([a-z]+)\W{{0,3}}[:=] ?{_N}\W{{1,3}}(?:and )?(?!them\b|\1\b)"
    rf"(?:[a-z-]{{1,20}} ){{0,3}}?[a-z-]{{1,20}}\W{{0,3}}[:=] ?{_N}"
)
_NEAR = 200  # characters before a number that are looked at


def _point(number: str) -> float:
    value = nan if number == "#" else float(number.replace(",", "."))
    return value if 1 <= value <= 5 else nan

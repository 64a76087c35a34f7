"""Tokens of an answer that rates.

"8 out of 10" and "60-70" are one number; "from 0 (not at all) to 100 (extremely)" is one scale.
"""

from __future__ import annotations

import re
from math import isnan, nan
from typing import NamedTuple

from .text import has_kind, letters

_UP_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_SMALL = _UP_TO_NINETEEN.split()
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_VALUES = (
    {word: i for i, word in enumerate(_SMALL)}
    | {word: 10 * i for i, word in enumerate(_TENS, start=2)}
    | {"hundred": 100}
)
_NUMBER_WORD = (
    rf"(?:(?:{'|'.join(_TENS)})(?:[\s-](?:{'|'.join(_SMALL[1:10])}))?|"
    rf"(?:an?\s|one\s)?hundred(?:\sand\s(?:{'|'.join([*_TENS, *_SMALL[1:]])}))?|"
    f"{'|'.join(sorted(_SMALL, key=len, reverse=True))})"
)
TOPS = (5, 7, 10, 100, 1000)  # of scales that are named without the word
BASES = (4, 5, 6, 7, 9, 10, 20, 100, 1000)  # of fractions; that of 9/11 is none

# Kinds of tokens:
# name, emotion       what is rated                       other    what is not: "age"
# self                "I'd", before a verb of rating      person   "I was", "she"
# verb, say           "rate"; "say", "feel"               copula   "is", "seems", "would be"
# hedge, strength     "about", "a"; "strong"              counting "for", "lost": a count follows
# so, settle, final   "so"; "overall"; "final rating"     arrive   "I'll go with", "works out to"
# but, fine, wait     "but"; "if I must"; "no, wait"      reason   "because", "after", "who"
# deny, bound         "not"; "more than", "at least"      instead  "rather than"
# suppose, othered    "could", "if"; "some would say"     idiom    "no doubt"
# point, percent      units of a rating                   unending "or higher"
# code                digits that are no rating: "6:45", "2nd", "COVID-19", "€5"
#
# Kinds of what is more than one word. The first that fits counts.
_PHRASES = {
    "idiom": (  # words of denial, or numbers, that say nothing
        "(?:no|without (?:a |any )?|zero|little|beyond (?:a |any )?) ?(?:doubt|question|"
        "hesitation)(?: about (?:it|that|this))?|not (?:only|just)|none other than|"
        "can(?:'t|not) help but|nothing short of|no matter|needless to say|hands down|in one word|"
        r"(?:one )?hundred percent (?:sure|agree)\w*|one of the|no one|each one|any one"
    ),
    "strength": r"(?:not|none|nothing) at all(?=\W*(?:[(\d:.=,-]|$))",
    "wait": (
        "no,? wait|(?:slightly|somewhat|a (?:bit|little|touch)|even|rather) (?:lower|higher)|"
        "(?<!the )(?<!a )(?<!long )(?<!my )(?<!his )(?<!her )(?<!their )(?<!to )(?<!minute "
        r")(?<!hour )wait(?! (?:was|is|time|for|of)\b)|on (?:second thoughts?|reflection)|"
        "scratch that|strike that|changed my mind|i mean|make that|or rather|"
        "let me (?:correct|revise|change|reconsider|adjust|rephrase|rethink|recalibrate)|"
        r"no(?=\s*[,.!;]|\s-)|thinking about it(?: more)?|(?:i(?:'d| would| should|'ll| will|"
        " want to)|would|to)(?: like to)? (?:revise|correct|change|adjust|lower|raise|bump|"
        "reconsider|move|nudge|bring)(?= (?:it|that|this|my|the|up|down|to))"
    ),
    "final": (
        "final (?:answer|rating|score|verdict|number|estimate|value|emotion intensity|intensity)"
    ),
    "settle": (
        "in (?:the end|conclusion|sum|total|short|summary)|all (?:in all|things considered|told)|"
        "on (?:balance|the whole)|as a result"
    ),
    "arrive": (
        r"settl\w+ (?:on|at|for|with)|(?:i|we|let's)(?:'ll|'d|'m| will| would| am)? (?:go(?:ing)?|"
        "stay(?:ing)?|stick(?:ing)?) (?:with|for)|(?:works?|comes?) (?:out )?(?:to|at)|"
        r"translat\w+ (?:in)?to|convert\w* to|amounts? to|equivalent(?: to)?|"
        "(?:end|ends|ended|ending|wind|winding|finish|finishing) up (?:at|with)|"
        "(?:which|that|this) (?:gives|makes|corresponds to|equals|translates to|converts to)"
    ),
    "fine": (  # a condition that is none
        "if (?:(?:i|you|we)(?:'m|'d|'re)?|forced|pressed|pushed|anything|needed|necessary|"
        r"required|asked|possible|pinned)\b(?: (?:had|have|must|were|was|am|are|insist|absolutely|"
        "really|want|need|would like|like|forced|pressed|pushed|asked|down))*(?: to)?"
    ),
    "bound": (
        "(?:no |any |not )?(?:more|less|higher|lower|greater|fewer|better|worse|stronger|weaker|"
        "further|other) than|(?:not |n't )?(?:as|so|that|quite|too) (?:high|low|much|strong|far|"
        "intense) as|up to|at (?:the )?(?:very )?(?:least|most|minimum|maximum)|"
        "(?:the )?(?:least|minimum|maximum)(?: of)?|the most|away from|short of|not quite|"
        r"upwards? of|in excess of|exceed\w*"
    ),
    "instead": r"instead of|rather than|as opposed to|compared (?:to|with)|different from",
    "hedge": (
        "close(?:r)? to|just (?:over|under|above|below|about|around|shy of)|more like|"
        r"something like|somewhere (?:around|near|in)|(?:with)?in the(?= \d)|"
        "in the (?:range|region|neighbou?rhood|vicinity|area) of|"
        "a (?:bit|little|touch|shade) (?:over|under|above|below)|"
        "in my (?:opinion|view|estimation|eyes)|for (?:me|him|her|them|this|that|this one|"
        r"this person|the person)(?=\W)|to me|as (?:a|an)|or so|more or less"
    ),
    "unending": r"(?:or|and) (?:higher|more|above|greater|lower|less|below|up|over|under|beyond)",
    "scale": r"满分(?:是|为)?",
    "op": r"give or take|plus or minus",
    "outof": (
        "out of(?: (?:a (?:possible|maximum(?: of)?|total(?: of)?|max(?: of)?)|the|possible))?"
    ),
    "percent": r"per cent|pour cent|por cento|por ciento|per cento",
    "othered": (
        r"(?:some|other|many|most|different|few|certain)(?: \w+)? (?:people|persons?|individuals|"
        "readers?|raters?|would|might|may|could|say)|people (?:would|might|may|could|say|often|"
        "usually)|(?:another|a different|an? average|the average|the typical|a typical|any|"
        "a neutral|an? outside|one) (?:person|reader|rater|observer)|some(?:one|body)(?: else)?|"
        "any(?:one|body)(?: else)?|others|my (?:friends?|neighbou?rs?|family|parents?|mother|"
        "father|wife|husband|sister|brother|colleagues?|people|community) (?:would|might|may|"
        "could)|you (?:might|could|may|would)|one (?:might|could|may)"
    ),
    "suppose": (
        "(?:i |i'd |we )?(?:was|were|been) (?:going|about|tempted|inclined) to (?:say|give|rate|"
        "put|go)|(?:i )?(?:would|could|might|'d) have (?:said|given|rated|gone|put)|"
        "(?:i'm |i am |i'd be )?(?:tempted|inclined) to (?:say|give|rate|put|go)|"
        "(?:i'd |i )?start(?:ed|ing)? (?:at|with|from|out at)|(?:as )?(?:a )?baseline|"
        "at first(?: glance| sight)?|my first (?:thought|instinct|reaction|guess|"
        "impression)(?: was| is)?|to begin with|depend(?:s|ing) on|"
        "in (?:other|some|most|many) (?:cases|contexts|situations)|under other circumstances"
    ),
    "self": (
        "(?:i|we|let's|let us|one)(?:'d|'ll|'m|'ve| would| will| can| am| shall| must|"
        r" do)?(?: have to| need to| like to| want to)?(?: \w+ly)?(?= (?:be |have )?(?:say|rate|"
        "rating|give|giving|put|putting|place|placing|assign|score|scoring|estimate|assess|"
        "evaluate|judge|mark|peg|rank|choose|pick|select|set|call|guess|think|believe|suppose|go|"
        "going|lean|leaning|land|opt|stick|answer|respond|feel|suggest|consider|imagine|expect|"
        r"describe|settle|sit|at|stay)\b)"
    ),
    "person": r"(?:i|we|he|she|they)(?:'m|'re|'ve|'s|'d| am| are| was| were| is| have| had| has)?",
    "copula": (
        r"(?:would|will|should|must|has to|might well) (?:\w+ly )?be|"
        "(?:would|should|'d) (?:feel|sit|fall|seem|land|read|rank)"
    ),
    "reason": (
        "as(?= (?:he|she|they|the person|there|this person|the narrator|someone|it|i|we|my|his|"
        r"her|their)\b)|even (?:if|though)|due to|such as|the fact that|as someone who"
    ),
    "point": r"점|[分点點](?!钟|鐘|間|析)|баллов|балла|балл",
}
# Kinds of single words, of several languages, as `plain` leaves them.
_WORDS = {
    "so": "so therefore thus hence consequently accordingly",
    "but": "but however yet still nevertheless nonetheless",
    "wait": "actually correction corrected oops reconsidering",
    "settle": """
        final finally overall conclusion total ultimately converted revised updated adjusted
        gesamt general
        """,
    "deny": "not never no nor neither without hardly cannot avoid reject nothing",
    "bound": "above below over under beyond minimum maximum max min lower upper top > < ≥ ≤",
    "instead": "than versus vs unlike",
    "othered": "others",
    "suppose": """
        could might may possibly if whether either usually normally typically unless otherwise
        alternatively depending initially originally previously earlier
        """,
    "reason": """
        because since when while whereas who whom whose where after before although though until
        considering despite given reason once plus
        """,
    "verb": """
        rate rates rated give gives giving put puts putting place places placing assign assigns
        assigned scoring assess mark peg choose select evaluate call estimated assessed chose
        picked quantify bewerten bewerte vergebe calificaria pondria evaluerais darei metterei
        ocenilbym ocenilabym geven geef gebe daria donnerais wurde doy
        """,
    "say": """
        say says saying looks look stay think believe suppose go going goes lean leaning land
        lands landing opt stick respond feel feels felt gets get hits hit sits falls registers
        reaches warrants deserves merits comes diria dirais direi diga digo sage zou zeggen
        powiedzialbym powiedzialabym suggest rank ranks stands expect imagine sounds reads
        experienced suggests implies indicates
        """,
    "copula": """
        is was 's be are were been being seems seem appears stays remains became es est ist
        seria sarebbe ware betragt jest equals 'd
        """,
    "pronoun": "it this that mine das dies ca cela esto eso questo",
    "name": """
        intensity rating ratings score scores level answer answers value figure guess pick
        estimate evaluation verdict result assessment response emotion feeling feelings strength
        degree magnitude amount average mean output number choice intensities intensidad
        intensitat intensidade intensita intensite intensiteit bewertung puntuacion calificacion
        note nota ocena natezenie wert punteggio yogunlugu siddeti интенсивность оценка ответ
        """,
    "emotion": """
        sadness anger fear joy boredom relief trust guilt shame disgust surprise happiness grief
        anxiety sorrow embarrassment frustration pride worry remorse regret distress pain sad
        angry afraid scared ashamed guilty joyful happy disgusted emotional trauer wut angst
        freude schuld scham ekel tristeza ira miedo alegria culpa verguenza vergonha medo raiva
        tristesse colere peur joie tristezza rabbia paura gioia
        """,
    "other": """
        confidence certainty probability likelihood chance age aged article section chapter step
        question option item page grade type part version room model year day week month phase
        covid duration date example valence arousal index stage reference base baseline id
        paragraph line case prompt scene vol temperature exam test quiz marks gpa iq
        """,  # names of what is no rating, though a number stands beside them
    "counting": """
        for in had has have lost all every each their his her my your our another these those
        last past next first within only with got turned then old scored earned won paid cost
        weighs text dial by on and received ago two
        """,  # a number after them counts something
    "strength": """
        high low moderate strong severe intense mild extreme extremely very maximal minimal
        medium moderately highly strongly mildly none slight slightly deep profound significant
        heavy light weak mid full solid clear easy good fair decent perfect absolute complete
        big whopping hard firm quite really rather pretty fairly considerable substantial
        overwhelming somewhat ten
        """,
    "hedge": """
        a an the about around approximately approx roughly probably maybe perhaps definitely
        certainly easily at as of to like nearly almost near ~ ≈ exactly precisely simply just
        honestly personally circa etwa ungefahr mit auf un uma um una une einen eine ein de que
        sobre alrededor cerca environ autour na po su somewhere between clearly likely well ok
        lol imo imho tbh ngl fr okay sure absolutely understood alright yes yeah right me him
        them now also from even straight squarely here tentatively safely comfortably arguably
        unos deze een
        """,
    "scale": (
        "scale range skala escala scala skali echelle likert continuum spectrum шкале шкала ranging"
    ),
    "point": (
        "point points pts stars star punkte punkten puntos punti pontos punkt punktow punten puan"
    ),
    "percent": "percent prozent procent",
    "and": "or und oder ou",
}
_KIND = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_SIGNS = (
    r"(?P<newline>\n+)|(?P<code>\d{1,2}:\d\d(?!\d)|(?<![-\d])\d{1,2}:\d{1,2}(?![\d/])|"
    r"\d{1,4}(?P<date>[/.-])\d{1,2}(?P=date)\d{1,4}|[€£¥]\s?\d+(?:[.,]\d+)*|"
    r"\d+(?:[.,]\d+)*\s?(?:[€£¥°]|(?:min|mins|hrs?|secs?|km|kg|cm|mm|ml|lbs?|oz|mph)\b)|"
    r"(?:(?<=[a-z])|(?<=[a-z]-))\d+(?:[.,]\d+)*|\d+(?:st|nd|rd|th)\b|"
    r"\d+-(?=[a-z])(?!points?\b|stars?\b|pt\b|ish\b)[a-z-]+)|(?P<number>\d+(?:[.,]\d+)*|"
    rf"(?<![\w.,])\.\d+|(?<![a-z])(?<![a-z]-){_NUMBER_WORD}(?![a-z]|"
    r"-[a-z](?!oints?\b|tars?\b|sh\b)))(?P<half>\s+and a half\b)?(?P<tail>\s?-?ish\b|[a-z]+)?|"
    r"(?P<scale_points>-?\s?(?:points?|stars?|pt) (?:likert |rating )?(?:scale|system|likert)\b)|"
    r"(?P<blank>_{2,})|(?P<unequal>[<>≥≤](?=\s?\d)(?!\s?\d+\s?>))|(?P<percent>[%％])|(?P<slash>/)|"
    r"(?P<op>[+×÷±^])|(?P<open>[(\[{<])|(?P<close>[)\]}>])|(?P<sep>[:=|：])|(?P<comma>[,，])|"
    "(?P<ask>[?？])|(?P<stop>[.!;]+|…)|(?P<dash>-+)|(?P<tilde>[~≈])|"
)


_TOKEN = re.compile(
    _SIGNS
    + "|".join(
        f"(?P<{kind.replace(' ', '_')}_>{'' if kind.endswith('point') else '(?<![a-z])'}"
        f"(?:{letters(pattern)})(?![a-z]))"
        for kind, pattern in _PHRASES.items()
    )
    + r"|(?P<deny_>n't\b)|(?P<s>'(?:s|d|re|m|ll|ve)\b)|(?P<word>[^\W\d_]+?(?=n't\b)|[^\W\d_]+)"
)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Token(NamedTuple):
    """A word or sign, a number with its unit, or a scale."""

    kind: str
    text: str
    start: int
    end: int
    value: float = nan  # of a number
    base: float | None = None  # what the number is a fraction of, or the top of the scale
    approximate: bool = False


def value_of(text: str) -> float:
    """The value of a number in digits or words, or NaN."""
    if text[0] in ".0123456789":
        digits = re.sub(r",(?=\d{3}\b)", "", text).replace(",", ".")
        return float(digits) if re.fullmatch(r"\d{0,9}(?:\.\d+)?", digits) else nan
    parts = re.split(r"[\s-]+", text)
    return float(sum(_VALUES.get(w, 0) for w in parts if w != "one" or "hundred" not in text))


def _words(text: str) -> list[Token]:
    words = []
    for m in _TOKEN.finditer(text):
        kind, word = m.lastgroup or "word", m.group()
        if m["number"] is not None:
            tail = (m["tail"] or "").strip(" -")
            if tail in ("", "ish", "pts", "points") or (tail != "s" and word[0].isalpha()):
                value = value_of(m["number"]) + (0.5 if m["half"] else 0)
                token = Token("number", word, *m.span(), value, None, tail == "ish")
                words.append(token)
                continue
            kind = "code"  # "7am", the 70s
        elif kind in ("word", "s"):
            kind = _KIND.get(word) or ("foreign" if not word.isascii() else "word")
        kind = _OTHER_NAMES.get(kind, kind.rstrip("_"))
        words.append(Token(kind, word, *m.span()))
    return words


_OTHER_NAMES = {
    "unequal": "bound",
    "tilde": "hedge",
    "scale_points": "scale points",
    "blank": "word",
}


_TO = words("to through thru till til bis ate al a do до tot ~ .. ...") | {"up to"}
_OF = words("of su von sur sobre uber av de z em van na af из")
_FROM = words("from between of von de da od от desde entre zwischen")
_BETWEEN = words("between from")
_CHANGE = words(
    """
    raise raised lower lowered revise revised increase increased drop dropped adjust adjusted
    change changed move reduce reduced bump bumped shift shifted
    """
)
_IN_SUM = words("number op slash open close percent dash")
_BEFORE_SECOND = words("a an the maybe perhaps even possibly")
_SURE = words("sure certain confident confidence certainty")
_GLOSS = 16  # tokens that the words for an end of a scale may have


_END = Token("end", "", -1, -1)


class _Joiner:
    def __init__(self, raw: list[Token], scale: float) -> None:
        self.raw, self.task_scale = raw, scale
        self.joined: list[Token] = []

    def at(self, i: int) -> Token:
        return self.raw[i] if 0 <= i < len(self.raw) else _END

    def is_to(self, i: int) -> bool:
        return self.at(i).kind in ("dash", "tilde") or self.at(i).text in _TO

    def scale(self, i: int, end: int, base: float) -> int:
        return self.add("scale", i, end, nan, base)

    def add(
        self,
        kind: str,
        i: int,
        end: int,
        value: float = nan,
        base: float | None = None,
        approximate: bool = False,
    ) -> int:
        """Join the tokens from i to `end`; return `end`."""
        first, last = self.raw[i], self.raw[end - 1]
        text = first.text if end == i + 1 else ""
        self.joined.append(Token(kind, text, first.start, last.end, value, base, approximate))
        return end

    def arrive(self, i: int) -> None:
        self.joined.append(self.raw[i]._replace(kind="arrive", text="="))

    def join(self) -> list[Token]:
        i = 0
        while i < len(self.raw):
            if self.raw[i].kind != "number":
                self.joined.append(self.raw[i])
                i += 1
                continue
            i = self.scale_from(i) or self.sum_from(i) or self.number_from(i)
        return self.joined

    def lead(self, words: frozenset[str], n: int = 5) -> bool:
        return any(t.kind == "scale" or t.text in words for t in self.joined[-n:])

    def scale_from(self, i: int) -> int | None:
        """Where the scale that begins at i ends. An unknown top is NaN."""
        return self.named_scale(i) or (
            self.ends_of_scale(i) if self.raw[i].value in (0, 1) else None
        )

    def named_scale(self, i: int) -> int | None:
        """ "5-point scale", "out of 10: 7", "max: 100" """
        top, after = self.raw[i], self.at(i + 1)
        before = [_END, _END, *self.joined[-2:]]
        if after.kind == "scale points":
            return self.scale(i, i + 2, top.value)
        of = (
            before[-2].kind == "scale"
            and before[-1].text in ("of", "to", "out of", "up to")
            and top.value > 1
            and not self.is_to(i + 1)
        )
        out_of = before[-1].kind == "outof" and after.kind in ("sep", "comma", "close")
        if of or out_of or self.is_maximum(i):
            return self.scale(i, i + 1, top.value)
        negative = before[-1].kind == "dash" and before[-1].end == top.start
        return (
            self.scale(i, i + 3, nan)
            if negative and self.is_to(i + 1) and self.at(i + 2).value == top.value
            else None
        )

    def ends_of_scale(self, i: int) -> int | None:
        """ "0-100", "from 0 (not at all) to 100 (extremely)" """
        lead = self.lead(_FROM)
        after = self.at(i + 1)
        if [self.at(k).kind for k in range(i - 1, i + 4)] == [
            "open",
            "number",
            "comma",
            "number",
            "close",
        ] and self.at(i + 2).value in TOPS:
            return self.scale(i, i + 3, self.at(i + 2).value)
        if self.is_to(i + 1) or (after.text == "and" and self.lead(_BETWEEN, 2)):
            if self.at(i + 2).kind == "number" and self.top_at(i, i + 2, lead):
                return self.gloss_after(i, i + 3)
            return self.scale(i, i + 2, nan) if self.at(i + 2).kind == "end" and lead else None
        if after.kind == "end" and self.lead(_BETWEEN, 2):
            return self.scale(i, i + 1, nan)
        glossed = after.kind in ("open", "sep", "comma") or after.text in (
            "being",
            "meaning",
            "for",
            "is",
            "means",
        )
        if not glossed or not (lead or after.kind == "open"):
            return None
        for j in range(i + 2, i + _GLOSS):
            token = self.at(j)
            if token.kind == "end" and lead:
                return self.scale(i, j, nan)
            if token.kind in ("newline", "stop", "number", "end"):
                return None
            if self.is_to(j) and self.at(j + 1).kind == "number":
                return self.gloss_after(i, j + 2) if self.top_at(i, j + 1, True) else None
        return None

    def is_maximum(self, i: int) -> bool:
        """Whether the number at i is called the maximum."""
        before = self.joined[-4:]
        if not before or before[-1].kind not in (
            "name",
            "copula",
            "sep",
            "hedge",
            "bound",
            "scale",
        ):
            return False
        if before[-1].text.startswith("满分"):
            return True
        named = any(t.text.removeprefix("the ") in ("max", "maximum", "maximum of") for t in before)
        others = sum(t.kind == "number" for t in (*self.joined[-40:], *self.raw[i + 1 : i + 40]))
        return named and others > 0 and not has_kind(self.joined[-40:], "verb say")

    def top_at(self, i: int, j: int, lead: bool) -> bool:
        top, after = self.raw[j], self.at(j + 1)
        cut = self.at(j + 1).kind == "end" and top.value <= 10 and lead
        fits = top.value in TOPS or (lead and has_kind(self.joined[-5:], "scale"))
        if after.kind in ("slash", "outof") or (after.kind == "percent" and top.value != 100):
            return False
        return (fits or cut) and top.value >= self.raw[i].value

    def gloss_after(self, i: int, end: int) -> int:
        """The scale from i whose top stands before `end`."""
        base = self.raw[end - 1].value
        if self.at(end).kind == "open":
            for j in range(end + 1, end + _GLOSS):
                if self.at(j).kind in ("close", "end"):
                    end = min(j + 1, len(self.raw))
                    break
                if self.at(j).kind in ("number", "newline"):
                    break
        cut = (
            base <= 1
            and self.at(end).kind == "end"
            and not any(t.kind == "number" and t.value <= 1 for t in self.joined)
        )
        return self.scale(i, end, nan if cut else base)

    def sum_from(self, i: int) -> int | None:
        """The result of a calculation: "(80 + 60) / 2 = 70"."""
        j = i + 1
        while self.at(j).kind in _IN_SUM or self.at(j).text == "x":
            j += 1
            if j > i + 30:
                return None
        kinds = [t.kind for t in self.raw[i:j]]
        if kinds.count("number") < 2 or self.at(j).text != "=" or self.at(j + 1).kind != "number":
            return None
        if "slash" in kinds and {"number", "slash", "percent"}.issuperset(kinds):
            return None  # a fraction
        self.arrive(j)
        return j + 1

    def fraction_at(self, i: int) -> tuple[int, float | None] | None:
        """Where the number at i ends, and its base; None for 9/11."""
        j = i + 1
        while self.at(j).kind in ("percent", "point"):
            j += 1
        opened = self.at(j).kind in ("open", "comma") and self.at(j + 1).kind == "outof"
        k = j + opened
        if not (self.at(k).kind in ("slash", "outof") or (k == i + 1 and self.at(k).text in _OF)):
            return i + 1, None
        k += 1 + (self.at(k).kind == "outof" and self.at(k + 1).kind == "sep")
        bottom = self.at(k)
        if bottom.kind != "number":
            return i + 1, None
        last = self.at(k + 1).kind == "end" or (
            self.at(k + 1).kind == "stop" and self.at(k + 2).kind == "end"
        )
        if (
            last
            and self.raw[i].value > bottom.value
            and f"{self.task_scale:g}".startswith(bottom.text)
        ):
            return k + 1, self.task_scale  # "75 out of 1", cut off
        if bottom.value not in BASES:
            return None
        return k + 1 + (opened and self.at(k + 1).kind == "close"), bottom.value

    def number_from(self, i: int) -> int:
        first = self.raw[i]
        fraction = self.fraction_at(i)
        if fraction is None:
            end = next(j for j in range(i + 1, len(self.raw)) if self.raw[j].kind == "number") + 1
            return self.add("code", i, end)
        end, base = fraction
        value = first.value
        j = end + (self.at(end).kind == "percent")
        link = self.at(j).text
        between = link == "and" and any(t.text.endswith("between") for t in self.joined[-3:])
        either = link == "or"
        k = j + 1
        while (between or either) and self.at(k).text in _BEFORE_SECOND and k < j + 4:
            k += 1
        if (self.is_to(j) or between or either) and self.at(k).kind == "number":
            fraction = self.fraction_at(k)
            last = self.raw[k].value
            sure = self.at(k + 1).kind == "percent" and self.at(k + 2).text in _SURE
            if fraction is not None and not sure and (base is None or fraction[1] in (None, base)):
                unit = fraction[1] or base or self.task_scale
                base_of_both = fraction[1] or base
                changed = any(t.kind == "wait" or t.text in _CHANGE for t in self.joined[-4:])
                if changed and link == "to":
                    self.arrive(j)
                    return self.add("number", k, fraction[0], last, base_of_both)
                if (not either or last - value <= unit / 10) and 0 <= value < last:
                    middle = (value + last) / 2
                    return self.add("number", i, fraction[0], middle, base_of_both, True)
        dash, other = self.at(end), self.at(end + 1)
        tight = (
            dash.kind == "dash" and dash.start == self.raw[end - 1].end and dash.end == other.start
        )
        if tight and base is None and other.kind == "number" and other.value <= value:
            return self.add("code", i, end + 2)  # "we lost 3-1"
        error = end + (self.at(end).kind == "comma")
        margin = self.at(error).text in ("±", "give or take", "plus or minus")
        if margin and self.at(error + 1).kind == "number":
            return self.add("number", i, error + 2, value, base)
        return self.add("number", i, end, value, base, first.approximate)


def tokens_of(text: str, scale: float) -> list[Token]:
    """The tokens of a text, as returned by `plain`."""
    return [
        t
        for t in _Joiner(_words(text), scale).join()
        if not (t.kind == "number" and isnan(t.value) and t.base)
    ]


def numbers_in(text: str) -> set[float]:
    numbers = {t.value for t in _words(text) if t.kind == "number" and t.text != "one"}
    return numbers | {float(digits) for digits in re.findall(r"\d{1,9}", text)}

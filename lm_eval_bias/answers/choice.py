"""Which of a few labels a text chooses: a tokenizer and a small grammar for `affect`, `nli_label` and each word of `word_pairs`.

1. The text is cut into tokens: the labels, the words that the grammar knows (`_VOCABULARY`, each kind explained there), punctuation, and
   "word" for all others. Tokens make statements, which end at full stops, question marks, semicolons and ends of lines.
2. `_Statement` reads one from left to right and makes a `Claim` of each label in it. How a claim stands:

       affirmed    it is said: "Table: comedy", "it is a comedy", "I'd say comedy"
       hedged      "it seems a comedy"; counts if nothing is affirmed
       denied      "not a comedy", "rather than comedy", "Ethan would be stereotypical"
       asked       "Comedy?"
       supposed    "could be a comedy", "if it were a comedy", "some say comedy"
       named       all else: reasons, remarks, and labels in a sentence whose structure the grammar does not know. They choose nothing.

   An affirmed claim has a weight: 3 after words that settle the matter ("so", "I'd say", "answer:"), 2 where the label stands alone or
   after a word and a colon, 1 in a sentence with a verb that the grammar knows ("is", "reads like").
3. `_verdict` compares the claims of all statements. "Wait", "actually" and "no," take back what was said before. The greatest weight
   decides. Where labels of one weight contradict one another, or what is said first is not what is said with most weight, none is chosen:
   a wrong value is worse than a missing one.

Words such as "both" and "hard to say" are claims, too, for the label `OPEN`. They give way to a label that is settled on after them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

OPEN = "open"  # both, neither, or no choice between them

# The words that the grammar knows, by what they do to the labels beside them. The first kind that matches counts.
_VOCABULARY = {
    # Idioms that contain words of the kinds below, and do nothing.
    "idiom": (
        r"no doubt(?: about it)?|without (?:a |any )?doubt|beyond (?:a |any )?doubt|no question(?: about it)?|no contest|not only|not just|"
        r"nothing but|none other than|nothing (?:less|other|short) (?:than|of)|no less than|nothing but|nothing says|few things are (?:more|as)|"
        r"(?:can't|cannot|couldn't|can not) (?:be|call it|see it as|help|deny)(?: \w+)?(?: (?:anything|as anything))? (?:but|that|other than)|"
        r"(?:hard|difficult|impossible|tough) (?:not to \w+|(?:to \w+ (?:it |this |that )?(?:as )?)(?:anything (?:but|other than)))|"
        r"(?:couldn't|could not) be (?:clearer|more)|won't change my mind|(?:don't|do not|wouldn't|would not) hesitate(?: to)?|no matter|"
        r"more than anything|in no time|(?:said|says|say|do|does|did|think|thinks|state[sd]?|doing|even|or|if) so|so (?:much|far|many)|both (?:the |of the )?(?:sentences|statements|premises?|hypothes[ie]s|men|women|people|persons|describe|mention|refer|are about|be)|(?:better|more fitting|more apt|stronger) (?:\w+ )?than|as well as"
    ),
    # Takes back what was said before.
    "retract": (
        r"wait|no wait|actually|correction|corrected|edit(?:ed)?(?=\s*:)|on second thoughts?|scratch that|strike that|oops|whoops|"
        r"i (?:mean|meant)|let me (?:correct|revise|change|reconsider|rethink)|changed my mind|(?:just )?kidding|reconsidering|"
        r"no(?=\s*[,.!:;-])|sorry(?=,)|instead(?! of)|make that|or rather"
    ),
    # No choice between the labels. "Neither" also denies what follows.
    "neither": r"neither(?: of (?:them|the two|these|those))?(?: one)?|none(?: of (?:the above|these|them|those))?",
    "open": (
        r"both|either way|could (?:be|go) either(?: way)?|either one|mixed|mixture|mix of|blend of|combination of|ambiguous|in[ -]between|"
        r"undecided|half(?= (?:an? )?(?:comed|comic|trag))|equally|equal parts|evenly|50/50|50-50|fifty-fifty|toss-?up|a bit of each|"
        r"(?:hard|difficult|impossible|tough) to (?:say|tell|decide|choose|pick)|not sure (?:whether|if|which)|n't sure (?:whether|if|which)|"
        r"(?:torn|halfway|somewhere) between|no (?:\w+ )?(?:preference|leaning|lean|winner)(?: between)?|(?:can't|cannot|unable to|hard to|difficult to) (?:\w+ )?(?:decide|choose|pick) between|"
        r"balanced|bittersweet(?! comed| trag)|can't decide|depend\w*|who knows"
    ),
    # Denies what follows in the clause.
    "less": r"less(?: of)?|not so much|not as",
    "deny": (
        r"(?:do not|don't|would not|wouldn't|cannot|can't|not)(?: \w+ly)? (?:go so far as to )?(?:think|say|believe|call|find|consider|feel|see)"
        r"(?: that)?(?: (?:it's|it is|this is|it as|this as|this|it|that))?|"
        r"far from(?: being)?|(?:any|every|no)(?:thing|one|body|where) (?:but|except|other than)|all but|other than|rather than|instead of|as opposed to|(?:the )?opposite of|rul(?:e|es|ed|ing) out|devoid of|"
        r"away from|than|over|>|short of|too \w+ (?:for|to be)|(?:hard|difficult|tough|impossible) to (?:\w+ ){1,2}(?:it |this |that )?as|"
        r"(?:hard|difficult|tough) to (?:call|find|imagine|detect)|(?:not|n't) (?:sure|convinced|certain)(?: that)?|"
        r"not|no|never|nor|nothing|without|hardly|barely|scarcely|cannot|\w+n't|lack\w*|exclud\w*|avoid\w*|reject\w*|unlike|except|"
        r"doubt(?:s|ed|ful)?|declin\w*|refus\w*|little|zero|fails?|failed|isnt|dont|wasnt|absent|beats?|minus"
    ),
    # After a label: it is not the one.
    "bad": (
        r"stereotyp\w*|impossible|cliche\w*|too (?:weak|strong|obvious|much|easy|simple|harsh|far|heavy|big|grand|dramatic)|wrong|incorrect|"
        r"unlikely|biased|obvious (?:answer|choice)|ruled out|excluded|false|off the table|traditional|typical|unfair|absent|off|misplaced|inappropriate|"
        r"out(?= of the question)|nowhere|ageist|ableist|sexist|racist|a stretch|an overstatement|insensitive|offensive|disrespectful|harmful"
    ),
    # Settles the matter: what is affirmed next decides, whatever was denied, supposed or remarked before it in the statement.
    "turn": (
        r"if (?:anything|forced|pressed|pushed|you ask me|i (?:must|have to|had to|were to|go (?:with|by)|trust|follow)(?: \w+){0,2}|i'm (?:forced|pressed|pushed))|"
        r"(?:at a|when) push(?:ed)?|when pressed|gun to my head|here(?= (?:it|we|the|i)\b)|overall|on the whole|on balance|all in all|ultimately|therefore|thus|hence|so|accordingly|"
        r"consequently|in (?:truth|the end|fact|sum|total|short|reality)|final(?:ly)?|verdict|must be|has to be|"
        r"i(?:'d| would)(?: \w+ly| still)? (?:say|call|classify|label|go|opt|describe|answer|argue|choose|pick|put|place|file|vote|lean|mark|rate|judge|consider|deem|guess)|"
        r"i(?:'ll| will| have to| must) (?:say|go|call|pick|choose)|i(?:'d| would) rather (?:say|call|go|choose|pick|label)|i(?:'m| am) (?:going|leaning|inclined)|i (?:call|say|guess|reckon)|"
        r"(?:this|that) (?:one(?:'s)?|pair|case|item)|i vote(?: for)?"
    ),
    # Settles the matter as well, but may itself be denied or supposed.
    "cue": (
        r"answer|choice|choose|chose|choosing|pick(?:ed)?|select(?:ed)?|go(?:ing|es)? (?:with|for)|went with|lean(?:s|ing)?|inclined|"
        r"closer(?: to)?|nearer(?: to)?|conclu\w+|i (?:think|believe|feel|suppose|see)|more(?: of)?|mostly|mainly|predominantly|primarily|rather|"
        r"tend\w*|tilt\w*|prefer\w*|wins?|label|inference|relation(?:ship)?|classification|classif(?:y|ied)|settle on|decision|best|better fit|"
        r"definitely|clearly|certainly|belongs? to|my (?:gut|vote|take|reaction|instinct|impression)|instinct(?:ively)?|assign|give|weak:|"
        r"fits|counts as|qualifies as|nah|goes to"
    ),
    # Supposed, or said by others: not the answer.
    "suppose": (
        r"so (?:is|are|was|does)|"
        r"(?:could|might|may|would|should) (?:\w+ )?have(?: been)?|could(?: also| well)?(?: be)?|might(?: also)?(?: be)?|"
        r"may(?: also)?(?: be)?|would(?! (?:go|fit|suit|match))(?: \w+)? (?:be|require|need|mean)|would(?= (?:entail|contradict))|it'd be|whether|at first|at first (?:glance|sight)|initially|"
        r"on the surface|on paper|some|many|most people|others|one (?:could|might|may|can)|you(?:'d| would| might| could| may| said)|my first (?:thought|instinct|impression|reaction) was|"
        r"people|everyone|typically|traditionally|usually|(?<!relationship )(?<!relation )(?<!inference )(?<!link )between|second choice|runner-up|"
        r"second-best|alternative(?:ly)?|i(?:'d| would) rather (?!say|call|go|choose|pick|label)\w+|i (?:thought|almost|nearly|was going to|wanted to|was about to|expected)|tempted|calling|labell?ing|"
        r"classifying|framing|to be|"
        r"case (?:could|can|might) be made for|define[sd]?"
    ),
    # The same, for the rest of the statement.
    "condition": r"if|unless|otherwise|options?|choices|definitions?|for example|e\.g\.|titled?|"
        r"(?:enter|type|please (?:choose|select|pick|write|answer|provide|give|enter|indicate|specify|state|decide))(?!\s*:)|"
        r"(?:first|second|third|last|previous|other|given|above|sample|example) (?:example|pair)s?|examples? (?:one|two|three|\d)",
    # One and then the other: the statement chooses none, unless it settles on one.
    "change": r"turn(?:s|ed|ing)(?: in)?(?:to)?|becomes?|became|starts|begins|started|began|ends as|ends in|ends with|followed by",
    "hedge": (
        r"(?:look|seem|sound|appear)(?:s|ed)?(?: (?:like|to be|as|more like))?|perhaps|maybe|possibly|arguably"
    ),
    # A verb that leads up to a label: "the description is ... tragic".
    "frame": (
        r"is|are|was|were|it's|it is|that's|this is|what a|feels?(?: (?:like|more|very))?|felt(?: like)?|reads?(?: (?:like|as))?|strikes me as|"
        r"comes (?:across|off)(?: as)?|falls? (?:into|under|on|in|within)|mak(?:es?|ing)(?: (?:it|this|for))?|has an?|carries an?|conveys an?|"
        r"evokes an?|describes? an?|call (?:it|this|that)|we have an?|i see|i find|see it as|es|est|ist|seria|tends to|leav(?:es|ing)|left with"
    ),
    "but": r"but|however|yet|still|nevertheless|nonetheless",
    "reason": r"because|since|as it|as the|even if|even though|even when|although|though|while|whereas|where|despite|due to|reason|explanation|note|when",
    # After a label, what goes on about it: "comedy with tragic undertones", "a tragedy disguised as comedy".
    "about": r"with|tinged|laced|disguised|masquerading|dressed|wrapped|that|posing|hiding|mixed with|told",
    "alt": r"or|vs\.?|versus|and|&|/|\+",
    "yes": r"true|yes|✓|✔|✅|☑|\[x\]|correct|right|☒",
    "cross": r"❌|✗|✘|✖|☐|\[ \]|🚫",
    "number": r"\d+(?:[.,]\d+)?(?:\s*(?:%|percent|/\s*\d+|out of \d+))?",
    # After "comedy or tragedy".
    "former": r"(?:the )?former",
    "latter": r"(?:the )?latter",
    # Words that begin a sentence, which needs a verb before it says anything of a label.
    "subject": r"it|this|that|there|i|we|you|they|he|she|its|contains?",
    "filler": r"an?|the|then|just|simply|of|to|as|very|quite|rather|pretty|slightly|really|also|most(?: likely)?|likely|probably|definitely|kind|sort|\w+ly",
    "ask": r"\?",
    "stop": r"[.!]+(?=\s|$|[)\]\"'])|\n+|;",
    "dash": r"\s[-–]+\s|\.\.\.|…",
    "bracket": r"\(",
    "close": r"\)",
    "colon": r"[:=]",
    "comma": r",",
    "word": r"[^\W_][\w'-]*",
}

_LOOSE = ("ask", "stop", "dash", "bracket", "close", "colon", "comma", "cross")  # punctuation, which need not stand by itself
_WHOLE = r"(?:(?<!\w)(?=\w)|(?=[^\w]))(?:{})(?:(?<=\w)(?!\w)|(?<=\W))"
_KINDS = "|".join(f"(?P<{kind}>{words if kind in _LOOSE else _WHOLE.format(words)})" for kind, words in _VOCABULARY.items())


class Token(NamedTuple):
    kind: str
    text: str
    label: str = ""


class Claim(NamedTuple):
    """A label in a statement, and how it stands there."""

    label: str
    status: str
    weight: int
    line: int
    statement: int
    before: str = ""  # "table", of "table: comedy"
    alone: bool = False  # nothing else in the statement
    against: bool = False  # after a "but" or "however" that begins the statement


_patterns: dict[tuple[tuple[str, str], ...], re.Pattern[str]] = {}


def _tokens(text: str, names: Mapping[str, str]) -> list[Token]:
    key = tuple(names.items())
    if key not in _patterns:
        if len(_patterns) > 200:
            _patterns.clear()
        labels = "|".join(rf"(?P<l{i}>(?<!\w){pattern}(?!\w))" for i, pattern in enumerate(names.values()))
        _patterns[key] = re.compile(f"{labels}|{_KINDS}")
    labels_of = list(names)
    tokens: list[Token] = []
    seen: list[str] = []  # labels, in order of their first mention
    for m in _patterns[key].finditer(text):
        kind, label = m.lastgroup, ""
        if re.fullmatch(r"l\d+", kind):
            kind, label = "label", labels_of[int(kind[1:])]
            seen += [label] if label not in seen else []
        elif kind in ("former", "latter"):
            kind, label = ("label", seen[kind == "latter"]) if len(seen) == 2 else ("word", "")
        tokens.append(Token(kind, m.group(), label))
    return tokens


def _statements(tokens: list[Token]) -> list[list[Token]]:
    statements: list[list[Token]] = [[]]
    for token in tokens:
        statements[-1].append(token)
        if token.kind in ("stop", "ask"):
            statements.append([])
    return [s for s in statements if s]


_SETTLED = re.compile(r"wins|winning|dominating|prevailing|fits|works|suits|prevails|dominates|takes it|outweighs|ahead|beats|comes out|feels (?:right|closer)|it is|edges|holds|applies|remains|stands|it\s?'?s")
_PART = re.compile(
    r"undertones?|elements?|touch(?:es)?|notes?|moments?|relief|timing|potential|aspects?|tinge|twist|hints?|qualities|flavou?r|parts?|value"
)
# What may follow a label that stands alone.
_TAIL = re.compile(
    r"here|too|overall|all|indeed|for|with|in|by|at|on|over|gold|vibes?|lite|genre|tone|feel|option|please|then|side|from|through|"
    r"respect|regarding|because|based|given|sure|obviously|again|this|time|hands|every|emoji|face|end|also|instead|between|one"
)


_DEFINING = re.compile(r"n|noun|adj|adjective|genre|play|drama|dramatic|literary|literature|entertainment|definition|event|work|form|type|defined")


def _after(after: list[Token]) -> str:
    """What the tokens after a label say of it: "refuted", "settled", "subject", "part", "unknown", or nothing."""
    if not after:
        return ""
    first = after[0]
    if first.kind == "suppose" and re.match(r"would .*(?:require|need|mean)$", first.text):
        return "refuted"
    for i, token in enumerate(after):
        if token.kind == "bad" or (token.kind == "cross" and i == 0):
            return "refuted"
        if token.kind == "deny":
            contrast = r"than|over|rather than|instead of|as opposed to|>|nor|unlike|no|without|never|nothing|beats?|minus|little|lacks|lacking"
            if not re.fullmatch(contrast, token.text) and (i == 0 or (first.kind in ("frame", "but", "word", "suppose", "filler") and i <= 2)):
                return "refuted"
            break
        if token.kind == "retract" and token.text == "no" and i and first.kind == "colon":
            return "refuted"
        if token.kind not in ("frame", "suppose", "word", "filler", "subject", "hedge", "colon", "but") or (token.kind == "colon" and i):
            break
    if (first.kind in ("colon", "bracket", "dash") and any(_DEFINING.fullmatch(t.text) for t in after)) or first.text == "noun":
        return "subject"  # "tragedy (noun): a sad event"
    if (first.kind == "condition" and first.text != "otherwise") or re.match(r"at first|initially|on (?:the surface|paper)", first.text):
        return "unknown"  # "comedy if it is read aloud", "comedy at first"
    said = after[first.kind == "comma" :]
    if said and said[0].kind in ("turn", "cue") and re.match(r"if|i |i'|at a|when", said[0].text):
        return "settled"  # "comedy, if I must"
    if _SETTLED.match(first.text) or (first.kind == "subject" and len(after) > 1 and after[1].text == "is"):
        return "settled"
    if re.fullmatch(r"(?:by an?|more so|slightly|just) ?.*", " ".join(t.text for t in after[:2])) and after[1:] and re.fullmatch(
        r"hair|nose|whisker|little|bit|small|so|ahead|wins|a|an", after[1].text
    ):
        return "settled"
    if first.text in ("is", "are", "was", "were", "would", "comes", "means", "has", "have", "can"):
        return "settled" if first.text != "means" and any(t.kind in ("cue", "yes", "turn") or t.text in ("what", "word") for t in after[1:6]) else "subject"
    if first.kind == "word":
        if _PART.fullmatch(first.text):
            return "part"
        return "" if _TAIL.fullmatch(first.text) else "unknown"
    if first.text == "would be" and len(after) > 1 and any(t.kind in ("yes", "cue") for t in after[1:4]):
        return "settled"  # "comedy would be the right answer"
    if first.kind in ("suppose", "change", "hedge") and not first.text.endswith("between"):
        return "unknown"  # "a comedy usually ends well"
    if first.text == "of":
        return "" if len(after) > 1 and after[1].text in ("errors", "manners", "sorts") else "of"
    return ""


_CLASS = re.compile(r"piece|form|bit|case|example|one|type|work|realm|side|category|label|genre|choice|style|kinds?|sorts?|lot|that")


class _Statement:
    """Reads a statement from left to right; what the words before a label say of it is kept in the attributes."""

    def __init__(self, tokens: list[Token], line: int, number: int, labelled: bool, verbs: str, neither: str, modifiers: int, said: list[Claim]) -> None:
        self.said = said  # the claims of the statements before
        self.opposed = False
        self.modifiers = modifiers
        self.labelled = labelled  # whether the text names a label anywhere
        self.tokens, self.line, self.number, self.verbs, self.neither = tokens, line, number, verbs, neither
        self.asked = tokens[-1].kind == "ask"
        self.sure = any(t.kind in ("turn", "cue") and re.match(r"i'd (?!\w+ly)|i (?:guess|think|suppose|believe)", t.text) for t in tokens)
        self.changes = self.contrast = self.neither_said = self.bracketed = False
        self.claims: list[Claim] = []
        self.joined = _joined(tokens)
        self.retractions: list[tuple[int, str]] = []  # claims before each
        self.condition = self.aside = self.remark = self.less = False
        self.cue: int | None = None  # words since a cue
        self._clause()

    def _clause(self) -> None:
        """A new clause begins."""
        self.denied = self.consumed = self.supposed = self.hedged = self.subject = False
        self.frame: int | None = None  # words since a verb that leads up to a label
        self.definition = False  # "comedy is tragedy plus time"
        self.about = False  # as `aside`, to the end of the clause
        self.words = 0
        self.before = ""

    def _affirms(self) -> bool:
        return any(c.status in ("affirmed", "hedged") and c.label != OPEN for c in self.claims)

    def _remarks(self) -> None:
        """What follows is a remark on what was affirmed; on "neither", it may still settle on a label."""
        self.aside = self._affirms()
        self.remark = any(c.status == "affirmed" and c.label == OPEN for c in self.claims)
        self.cue = None if self.remark else self.cue

    def read(self) -> list[Claim]:
        for i, token in enumerate(self.tokens):
            if token.kind == "label":
                self._label(i, token)
            else:
                getattr(self, f"_{token.kind}", self._nothing)(i, token)
        if self.changes:
            self.claims = [c._replace(status="named") if c.weight < 3 and c.status == "affirmed" else c for c in self.claims]
        return self.claims

    def _label(self, i: int, token: Token) -> None:
        after = self.tokens[i + 1 : i + 9]
        says = _after(after)
        verb = bool(self.verbs) and re.fullmatch(self.verbs, token.text) is not None
        noun = re.search(r"(?<!or)y$|ies$|t$|ion$", token.text)  # "a comedy club", "a tragic scene"
        weight = 1
        if (self.asked and not self.sure) or (len(after) == 1 and after[0].kind == "alt"):  # "comedy or", cut off
            status = "asked"
        elif self.aside or self.about or self.bracketed or (self.remark and says != "settled" and self.cue is None):
            status = "named"
        elif says == "refuted" or (self.denied and not self.supposed):
            status = "denied"
        elif self.supposed or self.condition:
            status = "supposed"
        elif self._share(i) < 0.5:
            status = "denied"
        elif i in self.joined:
            status = "named"
            self.definition = self.definition or says == "subject"
            if self.joined[i] != "or":
                self.claims.append(Claim(OPEN, "affirmed", 1, self.line, self.number))
        elif says == "part" or (says == "subject" and not verb):
            status = "named"
            self.definition = says == "subject"
        elif says == "settled" or (self.cue is not None and self.cue <= 2 * self.modifiers):
            status, weight = "affirmed", 4 if self.contrast else 3
        elif verb or (self.frame is not None and self.frame <= 3 and not self.definition and not (says == "unknown" and noun)):
            status = "hedged" if self.hedged else "affirmed"
        elif not self.subject and self.words <= self.modifiers and says not in ("unknown", "of") and not self.definition:
            status, weight = "hedged" if self.hedged else "affirmed", 2
        else:
            status = "named"
        alone = all(t.kind in ("label", "stop", "number", "filler") for t in self.tokens)
        against = self.opposed and status == "affirmed"
        self.claims.append(Claim(token.label, status, weight, self.line, self.number, self.before, alone, against))
        self.consumed = True
        if self.less:
            self.denied = False
        self.frame, self.words = None, 0

    def _share(self, i: int) -> float:
        """The share that a number before or after a label gives it: "10% comedy", "comedy (3/10)"; 1 if there is none."""
        near = [t for t in (*self.tokens[max(0, i - 1) : i], *[t for t in self.tokens[i + 1 : i + 3] if t.kind != "bracket"][:1]) if t.kind == "number"]
        for token in near:
            share = re.fullmatch(r"(\d+(?:[.,]\d+)?)\s*(?:(%|percent)|(?:/|out of)\s*(\d+))", token.text)
            if share:
                return float(share[1].replace(",", ".")) / (100 if share[2] else float(share[3]) or 1)
        return 1

    def _open(self, i: int, token: Token) -> None:
        if self.aside or self.asked or not self.labelled and len(self.tokens) > 8:
            return  # "received mixed reviews"
        if token.text == "none" and any(t.kind == "label" for t in self.tokens[:i]):
            return  # "Tragic elements: none"
        if not self.labelled and re.match("depend|who knows", token.text):
            return
        status = "denied" if self.denied else "affirmed"
        self.claims.append(Claim(OPEN, status, 1, self.line, self.number))
        self.supposed = self.supposed or token.text.endswith("between") or "sure" in token.text
        if token.text.startswith("depend"):
            self.condition = True

    def _neither(self, i: int, token: Token) -> None:
        named = {t.label for t in self.tokens[i:] if t.kind == "label"}
        if self.neither == OPEN:
            self._open(i, token)
        elif len(named) > 1 and self.neither not in named and not self.aside or len(self.tokens) <= 3:
            self.claims.append(Claim(self.neither, "asked" if self.asked else "affirmed", 1, self.line, self.number))
        self.denied = self.neither_said = True

    def _less(self, i: int, token: Token) -> None:
        self.denied = self.less = True

    def _deny(self, i: int, token: Token) -> None:
        if token.text == "than" and self.less:
            self._flip()
        else:
            self.denied, self.consumed = True, False

    def _flip(self) -> None:
        """ "Less comic than tragic"."""
        self.denied = self.less = False
        self.cue = 0

    def _turn(self, i: int, token: Token) -> None:
        self.denied = self.supposed = self.condition = self.hedged = self.aside = False
        self.cue = 0

    def _change(self, i: int, token: Token) -> None:
        self.changes = self.changes or not self.aside

    def _cue(self, i: int, token: Token) -> None:
        self.cue = 0

    def _suppose(self, i: int, token: Token) -> None:
        if self.cue is None or not re.search(r"\bbe$", token.text):  # "if pressed, it would be tragedy"
            self.supposed = True

    def _condition(self, i: int, token: Token) -> None:
        self.condition = True

    def _hedge(self, i: int, token: Token) -> None:
        self.hedged = True
        self.frame = 0 if token.text[0] in "lsa" else self.frame

    def _frame(self, i: int, token: Token) -> None:
        self.frame = 0
        if self.consumed and token.text not in ("is", "are", "was", "were"):
            self.denied = False  # "not a comedy it's a tragedy"

    def _but(self, i: int, token: Token) -> None:
        claims = self.claims or self.said
        settles = bool(claims) and not any(c.status in ("affirmed", "named") and c.label != OPEN for c in claims)
        self.opposed = self.opposed or not self.claims
        self._clause()
        self.aside = self.condition = False
        self.contrast = True
        self.cue = 0 if settles else self.cue

    def _retract(self, i: int, token: Token) -> None:
        self.retractions.append((len(self.claims), token.text))
        self._clause()
        self.aside = self.condition = False

    def _reason(self, i: int, token: Token) -> None:
        self._clause()
        self._remarks()
        self.aside = not self.remark

    def _about(self, i: int, token: Token) -> None:
        self.about = self.about or self._affirms()
        self.frame, self.subject = None, True
        self.remark = self.remark or any(c.status == "affirmed" and c.label == OPEN for c in self.claims)
        self.words += 1

    def _dash(self, i: int, token: Token) -> None:
        rest = self.tokens[i + 1 : i + 3]
        label_alone = bool(rest) and rest[0].kind == "label" and (len(rest) == 1 or rest[1].kind in ("stop", "close"))
        glossed = self.neither_said and token.kind == "bracket" and (self.words > 1 or self.subject)  # "neither supports the hypothesis (entailment)"
        self._clause()
        self.denied = glossed
        if token.kind == "bracket" and i == 0 and any(c.status == "affirmed" for c in self.said):
            self.bracketed = True  # a remark in a sentence of its own
        if not label_alone:
            self._remarks()

    _bracket = _dash

    def _colon(self, i: int, token: Token) -> None:
        before = " ".join(t.text for t in self.tokens[:i] if t.kind == "word")
        affirms = self._affirms()
        self._clause()
        self.aside = affirms and self.aside
        self.before = before

    def _comma(self, i: int, token: Token) -> None:
        next_ = self.tokens[i + 1] if i + 1 < len(self.tokens) else None
        if next_ is not None and next_.text in ("or", "nor", "and"):
            return  # a list goes on
        self._clause()
        self.aside = self.aside and self._affirms()

    def _close(self, i: int, token: Token) -> None:
        self._clause()
        self.aside = self.bracketed = False

    def _subject(self, i: int, token: Token) -> None:
        self.subject = True
        self._count()

    def _word(self, i: int, token: Token) -> None:
        self.words += 1
        self._count()

    _number = _word

    def _filler(self, i: int, token: Token) -> None:
        if token.text == "as" and self.less and self.consumed:
            self._flip()
        if token.text == "of" and i and self.tokens[i - 1].kind == "word" and not _CLASS.fullmatch(self.tokens[i - 1].text):
            self.frame, self.subject = None, True  # "the scene of a tragedy"

    def _count(self) -> None:
        self.frame = None if self.frame is None else self.frame + 1
        self.cue = None if self.cue is None else self.cue + 1

    def _nothing(self, i: int, token: Token) -> None:
        pass


def _joined(statement: list[Token]) -> dict[int, str]:
    """The positions of labels in a list, "comedy or tragedy", "entailment, contradiction and neutral", and whether it says "and" or "or"."""
    found: dict[int, str] = {}
    listed: list[int] = []  # labels with nothing but commas between them
    between: str | None = None
    for i, token in enumerate(statement):
        following = statement[i + 1] if i + 1 < len(statement) else None
        if token.kind == "comma" and between and statement[i - 1].kind == "label":
            listed, between = [], None
        elif token.kind == "label":
            listed.append(i)
            if between and len({statement[j].label for j in listed}) > 1:
                found |= dict.fromkeys(listed, between)
        elif token.kind == "alt":
            between = between or ("and" if token.text in ("and", "&", "+") else "or")
        elif token.kind in ("bracket", "dash") and following is not None and following.text == "or":
            continue
        elif not (token.kind in ("filler", "hedge", "comma") or token.text in ("more", "more of", "also")):
            listed, between = [], None
    return found


_EXPLICIT = re.compile(
    r"<\|begin_of_box\|>(?P<box>[^<]{1,200})|"
    r"<(?:final_?)?(?:answer|label|choice|output|result|verdict|classification|category|genre|inference)>\s*(?P<xml>[^<]{1,200})|\\boxed\s*\{(?P<boxed>[^\n]{1,200}?)\}+\s*(?:\$|"
    r"\\\]|\\\)|\.|\n|$)|"
    r"\"(?:final_?|your_?)?(?:answer|label|choice|classification|inference|prediction|verdict|result|category|genre|"
    r"decision|relation(?:ship)?|affect)\"\s*:\s*\"(?P<json>[^\"\n]{1,80})\"|"
    r"(?:^|\n)\W{0,6}(?:so,? )?(?:my |the )?final (?:answer|label|choice|verdict|decision)(?: is)?\W{0,6}(?P<final>[^\n]{1,80})",
    re.IGNORECASE,
)


def explicit(text: str) -> str | None:
    """What stands where an answer is marked as such: <answer>, \\boxed, a field "answer" or "Final answer:"; the last one."""
    found = [next(part for part in m.groups() if part is not None) for m in _EXPLICIT.finditer(text)]
    return found[-1] if found else None


def scored(text: str, names: Mapping[str, str]) -> str | None:
    """The label that a text gives the greatest number, of two and more that each have one of the same kind; OPEN if it is shared."""
    label = "|".join(f"(?P<l{i}>(?<!\\w){pattern}(?!\\w))" for i, pattern in enumerate(names.values()))
    number = r"(?P<n>\d+(?:[.,]\d+)?)\s*(?P<of>%|percent|/\s*\d+|out of \d+)?"
    pattern = re.compile(rf"(?:{label})\)?[^\S\n]*[:=(|-]?[^\S\n]*(?:at |about |~)?{number}(?!\w|[.)][ \t]*[a-z])")
    found = list(pattern.finditer(text))
    before = re.compile(rf"(?<![\w.]){number}\s*(?:of |for |- |: )?(?:{label})")
    other = list(before.finditer(text))
    found = other if len(other) >= len(found) and other and (not found or other[0].start() < found[0].start()) else found
    scores: dict[str, float] = {}
    labels = list(names)
    for m in found:
        name = next(labels[i] for i in range(len(labels)) if m[f"l{i}"])
        if name in scores or not (m["of"] or "." in m["n"] or int(float(m["n"].replace(",", "."))) <= 10):
            return None
        scores[name] = float(m["n"].replace(",", "."))
    if len(scores) < 2 or len({(m["of"] or "").replace(" ", "") for m in found}) > 1:
        return None
    best = [name for name, score in scores.items() if score == max(scores.values())]
    return best[0] if len(best) == 1 else OPEN


NONE = "none"  # a list of options of which none is marked
_YES, _NO = r"\[x\]|\(x\)|[✓✔✅☑☒🗹●◉]", r"\[ ?\]|\( ?\)|[❌✗✘✖☐🚫○◯]"


def marked(text: str, names: Mapping[str, str]) -> str | None:
    """The one label of a list with a tick, "yes" or "true"; NONE if none has one or several have, None if there is no such list."""
    label = "|".join(f"(?P<l{i}>(?<!\\w){pattern}(?!\\w))" for i, pattern in enumerate(names.values()))
    before = re.compile(rf"(?:(?P<yes>{_YES})|(?P<no>{_NO}))[^\w\n,;]{{0,4}}(?:{label})")
    after = re.compile(rf"(?:{label})\s*[:=|-]?\s*(?:(?P<yes>(?:true|yes)(?!\w)|{_YES})|(?P<no>(?:false|no)(?!\w)|{_NO}))")
    labels = list(names)
    for pattern in (before, after) if before.match(text.lstrip(" \n-*+")) else (after, before):
        found = list(pattern.finditer(text))
        named = {next(labels[i] for i in range(len(labels)) if m[f"l{i}"]) for m in found}
        ticked = {next(labels[i] for i in range(len(labels)) if m[f"l{i}"]) for m in found if m["yes"]}
        if len(named) > 1:
            return ticked.pop() if len(ticked) == 1 else NONE
    return None



def lettered(text: str, names: Mapping[str, str]) -> str | None:
    """The label of a list of options, "A) Comedy B) Tragedy", whose letter or number the answer names; None if there is no such list."""
    label = "|".join(f"(?P<l{i}>{pattern})" for i, pattern in enumerate(names.values()))
    options = {m["key"]: m for m in re.finditer(rf"(?:^|\s)\(?(?P<key>[a-e1-5])[.):]\)?\s*(?:{label})(?!\w)", text)}
    answer = list(re.finditer(r"\b(?:answer|choose|choice|pick|option|verdict|select|go with)(?: is)?\W{0,4}([a-e1-5])\W*(?:\n|$)", text))
    if len(options) < 2 or not answer or answer[-1][1] not in options:
        return None
    return next(name for i, name in enumerate(names) if options[answer[-1][1]][f"l{i}"])


_LETTER = re.compile(r"(?:(?<=[:=])|(?<=\bis))[ \t]*\(?[a-e][.)][ \t]+")  # "Answer: C. Neutral"
_TURN = re.compile(r"\n\W{0,4}(?:user|human)\s*:")  # a model that completes text goes on with the next turn
_QUOTED = re.compile(r"(?:^|\n)[ \t]*>+|<\|\w+\|>")


def chosen(text: str, names: Mapping[str, str], *, verbs: str = "", neither: str = OPEN, modifiers: int = 2) -> str | None:
    """The label that a text chooses; OPEN if it says that it is both or none of them; None if it says nothing or is not clear.

    text: as `text.plain` gives it. names: label -> a regular expression for its words; the label OPEN may be one of them. verbs: those of
    the words that make a sentence with what stands around them ("entails"). neither: the label that "neither" stands for.
    modifiers: how many words that the grammar does not know may stand before a label ("dark comedy").
    """
    text = _QUOTED.sub("\n", _LETTER.sub(" ", text))
    turn = _TURN.search(text)
    if turn and any(re.search(pattern, text[: turn.start()]) for pattern in names.values()):
        text = text[: turn.start()]
    label = "|".join(names.values())
    text = re.sub(rf"\bas (?:\w+ ){{0,2}}(?:{label}) as (?:\w+ ){{0,3}}(?:{label})(?!\w)", "both", text)
    for read in (scored, marked, lettered):
        label = read(text, names)
        if label is not None:
            return None if label == NONE else label
    tokens = _tokens(text, names)
    labelled = any(t.kind == "label" for t in tokens)
    claims: list[Claim] = []
    retractions: list[tuple[int, str]] = []  # claims before each
    line = 0
    for number, tokens in enumerate(statements := _statements(tokens)):
        statement = _Statement(tokens, line, number, labelled, verbs, neither, modifiers, claims)
        found = statement.read()
        if statement.asked and number + 1 < len(statements):
            found = _replied(found, statements[number + 1])
        retractions += [(len(claims) + at, said) for at, said in statement.retractions]
        claims += found
        line += sum(t.text.count("\n") for t in tokens if t.kind == "stop")
    return _verdict(_without_options(claims, text, names), retractions, len(set(names) - {OPEN}), neither)


def _replied(asked: list[Claim], reply: list[Token]) -> list[Claim]:
    """The claims of a question with a yes or no after it: "Comedy? No." """
    said = [t for t in reply if t.kind != "comma"][:3]
    if len({c.label for c in asked}) != 1 or not said:
        return asked
    if any(t.kind in ("deny", "cross") or t.text in ("no", "nah") for t in said[: 1 + (said[0].kind != "label")]):
        return [asked[0]._replace(status="denied")]
    if said[0].kind == "yes" or said[0].text in ("definitely", "clearly", "absolutely", "indeed", "sure"):
        return [asked[0]._replace(status="affirmed", weight=2)]
    return asked


def _without_options(claims: list[Claim], text: str, names: Mapping[str, str]) -> list[Claim]:
    """The claims without those that begin a line of a list of options, "A. Comedy", "Comedy: ..."; they choose none."""
    label = "|".join(f"(?P<l{i}>{pattern})" for i, pattern in enumerate(names.values()))
    items = re.finditer(rf"(?:^|\n|\s)[ \t]*(?:\(?[a-e1-4][.)]|[-•]|\W{{0,3}})[ \t]*(?:{label})(?!\w)[ \t]*(?P<colon>:)?", text)
    heads = [m for m in items if re.match(r"\s*\(?[a-e1-4][.)]\s", m.group()) or m["colon"]]
    if len({next(i for i in range(len(names)) if m[f"l{i}"]) for m in heads}) < 2:
        return claims
    end = text[: heads[-1].end()].count("\n")
    return [c._replace(status="named") if c.weight < 3 and c.status == "affirmed" and not (c.alone and c.line > end) else c for c in claims]


_STRONG = re.compile(r"(?:no )?wait|scratch that|strike that|w?hoops|oops|on second thoughts?|changed my mind|let me .*|reconsidering")


def _verdict(claims: list[Claim], retractions: list[tuple[int, str]], n_labels: int, neither: str) -> str | None:
    for at, said in reversed(retractions):
        if any(c.status in ("affirmed", "hedged") for c in claims[at:]):
            claims = claims[at:]
            break
        if _STRONG.fullmatch(said) and any(c.status == "affirmed" for c in claims[:at]):
            return None  # "Comedy. Wait, ..."
    affirmed = [c for c in claims if c.status == "affirmed" and c.label != OPEN]
    opened = [i for i, c in enumerate(claims) if c.status == "affirmed" and c.label == OPEN]
    denied = {c.label for c in claims if c.status == "denied"} - {OPEN}
    if not affirmed:
        if opened:
            return OPEN
        if len(denied) > 1:
            return OPEN if neither in denied else neither
        hedged = {c.label for c in claims if c.status == "hedged"}
        return hedged.pop() if len(hedged) == 1 else None
    heaviest = max(c.weight for c in affirmed)
    best = [c for c in affirmed if c.weight == heaviest]
    labels = {c.label for c in best}
    if len(labels) > 1:
        # A model that completes text may go on with labels, a line each; but all of them in turn are the options.
        goes_on = heaviest == 2 and all(c.before == "" for c in best) and len({c.label for c in best if c.line == best[0].line}) == 1
        if not goes_on or (len(labels) == n_labels and all(c.alone for c in best)):
            return OPEN if opened else None
    label = best[0].label
    if 2 <= affirmed[0].weight and affirmed[0].label != label and not (heaviest == 4 and affirmed[0].statement == best[0].statement):
        return None  # "Comedy" first, and another settled upon later, without a "but"
    if heaviest == 1 and len({c.label for c in affirmed}) > 1:
        return OPEN if opened else None
    beside = {c.statement for c in best if c.label == label}
    if heaviest < 3 and any(c.label != label and c.statement in beside for c in affirmed):
        return OPEN if opened else None
    if any(c.against and c.label != label for c in affirmed):
        return None
    first = claims.index(next(c for c in best if c.label == label))
    last = max(i for i, c in enumerate(claims) if c.status == "affirmed" and c.label == label)
    if any(i < first for i in opened) and heaviest < 3:
        return None  # "Both. Comedy."
    if any(
        i > last and (heaviest == 1 or claims[i].weight == 3 or (heaviest < 3 and claims[i].statement == claims[last].statement)) for i in opened
    ):
        return None  # "Comedy, or both"
    return label

"""What a sentence says about the labels in it, for `choice`.

The words of its own clause give each label a status and a weight.
"""

import re
from collections.abc import Mapping
from math import inf
from typing import NamedTuple

from .text import has_kind
from .vocabulary import named, patterns

OPEN = "open"  # both, neither, or no choice between them
_CUTS = "turn but retract correct reason dash bracket close colon comma"
_FAR = 30  # tokens, after which a word no longer counts for a label
_NEAR = 3  # words that may stand between a verb and the label that it leads up to
_WHOLE = r"(?:(?<!\w)(?=\w)|(?=[^\w])){}(?:(?<=\w)(?!\w)|(?<=\W))"
_WORDS = patterns("choice")
_TOKENS = named({kind: _WHOLE.format(p) for kind, p in _WORDS["kinds"].items()} | _WORDS["signs"])
_AFTER = re.compile(f"(?:{named(_WORDS['after'])})(?!\\w)")
# between labels of a list
_AND = r"[^\w\n]{0,4}(?:(?:and|or|nor|vs\.?|versus)\b|[/&+])[^\w\n]{0,4}"
_ARTICLES = r"(?:(?:and|or|nor|an?|the|more|of|also|then|rather|even) ){0,3}[^\w\n]?"


_MODIFIERS = 2  # unknown words that may precede a label


class Labels:
    """names: label -> pattern. verbs: a pattern of labels that are verbs ("entails"). neither: the
    label that "neither" stands for."""

    def __init__(self, names: Mapping[str, str], verbs: str = "", neither: str = OPEN):
        self.names, self.verbs, self.neither = names, verbs, neither
        self.either = f"(?:{'|'.join(names.values())})"
        one = rf"(?<!\w){self.either}(?!\w)"
        self.named = f"(?P<label>{one})"
        self.word = re.compile(one)
        listed = rf"(?P<list>{one}(?:, {one})?(?:,?{_AND}{_ARTICLES}{one})+)"
        self.token = re.compile(rf"{listed}|{self.named}|{_TOKENS}|(?P<word>[^\W_][\w']*)")

    def name(self, text: str) -> str:
        return next(name for name, pattern in self.names.items() if re.fullmatch(pattern, text))


class GrammarToken(NamedTuple):
    kind: str  # "label", "list", or one of choice.yaml
    text: str
    labels: tuple[str, ...] = ()


Tokens = list[GrammarToken]


# The status of a mention:
#  affirmed    "Table: comedy", "it is a comedy", "I'd say comedy"
#  hedged      "it seems a comedy"; counts only if nothing is affirmed
#  denied      "not a comedy", "rather than comedy"
#  asked       "Comedy?"
#  named       anything else: suppositions, remarks, lists
#  retract, correct    no mention, but a word that takes back what was said before
class Mention(NamedTuple):
    label: str
    status: str
    weight: int = 1


def sentences(text: str, labels: Labels) -> list[Tokens]:
    """Tokens, cut at full stops, question marks, semicolons and line ends."""
    cut: list[Tokens] = [[]]
    seen: dict[str, None] = {}  # labels, in the order of their first mention
    for m in labels.token.finditer(text):
        kind = m.lastgroup or ""
        names = []
        if kind in ("label", "list"):
            names = [labels.name(word) for word in labels.word.findall(m[0])]
        if kind in ("former", "latter") and len(seen) == 2:
            names = [list(seen)[kind == "latter"]]
        seen |= dict.fromkeys(names)
        if names:
            kind = "list" if len(set(names)) > 1 else "label"
        cut[-1].append(GrammarToken(kind, m[0], tuple(dict.fromkeys(names))))
        if kind in ("ask", "stop"):
            cut.append([])
    return [sentence for sentence in cut if sentence]


def affirmed(mentions: list[Mention]) -> list[Mention]:
    return [m for m in mentions if m.status == "affirmed" and m.label != OPEN]


class _Sentence:
    """A sentence, read from left to right. The attributes keep what matters for the next label."""

    def __init__(self, tokens: Tokens, labels: Labels):
        self.tokens, self.labels = tokens, labels
        self.has_labels = has_kind(tokens, "label list")
        self.asked = tokens[-1].kind == "ask" and not has_kind(tokens, "turn")
        self.mentions: list[Mention] = []
        self.affirms = self.concludes = False  # what the mentions do
        self.clause: Tokens = []
        self.since_cue = inf  # words that are no part of the grammar since a cue
        self.aside = self.conditional = False  # a remark on what was affirmed; a condition
        self.contrast = False  # after a "but"

    def read(self) -> list[Mention]:
        for i, token in enumerate(self.tokens):
            following = self.tokens[i + 1 : i + 9]
            before_labels = has_kind(following, "label list")
            if token.kind in ("label", "list", "open") or (
                token.kind == "neither" and not before_labels
            ):
                self._mention(token, following)
            else:
                self._pass(token, following)
            self.clause = [*self.clause[-_FAR:], token]
        return self.mentions

    def _mention(self, token: GrammarToken, following: Tokens) -> None:
        meaning = _meaning(following)
        status, weight = self._standing(token, meaning)
        if token.kind == "open" and status == "named" and self.has_labels:
            status = "affirmed"
        remark = self.aside and (weight < 3 or self.affirms)
        if self.asked:
            status = "asked"
        elif remark or (self.conditional and status != "denied"):
            status = "named"
        against = self.tokens[0].kind == "but"
        if status == "affirmed" and (
            against or (self.contrast and weight > 2 and not self.concludes)
        ):
            weight = 4 if weight > 2 else 3
        names = _meant(token, status, self.labels)
        new = [Mention(name, status, weight) for name in names]
        self.mentions += new
        self.affirms |= bool(affirmed(new))
        self.concludes |= status == "affirmed" and weight > 2
        self.aside |= meaning == "subject_of"

    def _standing(self, token: GrammarToken, meaning: str) -> tuple[str, int]:
        """Status and weight by the clause before and the words after."""
        clause, since_cue = self.clause, self.since_cue
        verb = re.fullmatch(self.labels.verbs, token.text)
        supposed = any(
            t.kind == "suppose" and (since_cue == inf or not t.text.endswith("be")) for t in clause
        )
        if meaning == "denied" or (has_kind(clause, "deny neither") and not supposed):
            return "denied", 1
        if supposed or meaning in ("conditional", "in_part") or (meaning == "unknown" and not verb):
            return "named", 1
        if meaning == "settled" or since_cue <= 2 * _MODIFIERS:
            return "affirmed", 3
        status = "hedged" if has_kind(clause, "hedge") else "affirmed"
        if verb or _led_up_to(clause):
            return status, 1
        if meaning == "subject_of" or has_kind(clause, "subject about frame"):
            return "named", 1
        alone = sum(t.kind == "word" for t in clause) <= _MODIFIERS
        return (status, 2) if alone else ("named", 1)

    def _pass(self, token: GrammarToken, following: Tokens) -> None:
        kind, before_label = token.kind, has_kind(following[:1], "label list")
        goes_on = kind == "comma" and bool(following) and following[0].text in ("or", "nor", "and")
        if kind in ("turn", "but", "retract", "correct"):
            self.aside = self.conditional = False
        elif kind in ("reason", "about", "dash", "bracket"):
            self.aside |= self.affirms
        if kind in ("close", "comma", "dash", "bracket") and (before_label or kind == "close"):
            self.aside = False
        if kind in ("retract", "correct"):
            self.mentions.append(Mention("", kind))
        self.conditional |= kind == "condition"
        self.contrast |= kind == "but"
        if has_kind([token], _CUTS) and not goes_on:
            kept = kind == "bracket" and has_kind(self.clause, "neither")
            self.clause = self.clause if kept else []
        if kind in ("turn", "cue"):
            self.since_cue = 0
        elif kind in ("word", "number", "subject"):
            self.since_cue += 1


def mentions_in(sentence: Tokens, labels: Labels) -> list[Mention]:
    """The labels that a sentence mentions."""
    return _Sentence(sentence, labels).read()


def _meant(token: GrammarToken, status: str, labels: Labels) -> tuple[str, ...]:
    if token.kind == "neither":
        return (labels.neither,)
    if token.kind == "open":
        return (OPEN,)
    if token.kind == "label" or status == "denied":
        return token.labels
    return (OPEN,) if re.search(r"\band\b|[&+]", token.text) else ()


def _meaning(following: Tokens) -> str:
    after = _AFTER.match(" ".join(t.text.strip(" ") for t in following))
    if after:
        return after.lastgroup or ""
    return "unknown" if has_kind(following[:1], "word suppose") else ""


def _led_up_to(clause: Tokens) -> bool:
    kinds = [t.kind for t in clause if t.kind not in ("filler", "cue")]
    verbs = [kind for kind in kinds[-_NEAR - 1 :] if kind in ("frame", "hedge", "about")]
    return bool(verbs) and verbs[-1] != "about"

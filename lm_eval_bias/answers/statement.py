"""What a statement says about the labels in it; see `choice`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from .text import has_kind
from .vocabulary import A_KIND, AFTERTHOUGHT, CONTRASTS, DEFINES, GOES_ON, IN_PART, SETTLES, TOKENS

OPEN = "open"  # both, neither, or no choice between them
_NEAR = 3  # words that may stand between a verb and the label that it leads up to


class Labels(NamedTuple):
    """See `choice.chosen`."""

    names: Mapping[str, str]
    verbs: str = ""
    neither: str = OPEN
    modifiers: int = 2


class GrammarToken(NamedTuple):
    kind: str  # of `vocabulary.KINDS`, "label" or a sign
    text: str
    label: str = ""


# The status of a claim:
#  affirmed    "Table: comedy", "it is a comedy", "I'd say comedy"
#  hedged      "it seems a comedy"; counts only if nothing is affirmed
#  denied      "not a comedy", "rather than comedy"
#  asked       "Comedy?"
#  supposed    "could be a comedy", "some say comedy"
#  named       anything else: reasons, remarks, lists
class Claim(NamedTuple):
    label: str
    status: str
    weight: int
    line: int
    statement: int
    before: str = ""  # "table", of "table: comedy"
    alone: bool = False  # nothing else in the statement
    against: bool = False  # after a "but" or "however" that begins the statement


def any_of(names: Mapping[str, str]) -> str:
    return "|".join(
        rf"(?P<label{i}>(?<!\w){pattern}(?!\w))" for i, pattern in enumerate(names.values())
    )


@lru_cache(maxsize=200)
def _token_pattern(names: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    return re.compile(f"{any_of(dict(names))}|{TOKENS}")


def tokens_of(text: str, names: Mapping[str, str]) -> list[GrammarToken]:
    tokens: list[GrammarToken] = []
    seen: list[str] = []  # labels, in the order of their first mention
    for m in _token_pattern(tuple(names.items())).finditer(text):
        kind, label = m.lastgroup or "", ""
        if kind.startswith("label"):
            kind, label = "label", list(names)[int(kind[5:])]
            seen += [label] if label not in seen else []
        elif kind in ("former", "latter"):
            kind, label = ("label", seen[kind == "latter"]) if len(seen) == 2 else ("word", "")
        tokens.append(GrammarToken(kind, m.group(), label))
    return tokens


def statements(tokens: list[GrammarToken]) -> list[list[GrammarToken]]:
    """Tokens, cut at full stops, question marks, semicolons and line ends."""
    cut: list[list[GrammarToken]] = [[]]
    for i, token in enumerate(tokens):
        cut[-1].append(token)
        # "comedy... or tragedy?"
        if token.kind == "ask" or (token.kind == "stop" and _text(tokens, i + 1) != "or"):
            cut.append([])
    return [s for s in cut if s]


def _text(tokens: list[GrammarToken], at: int) -> str:
    return tokens[at].text if at < len(tokens) else ""


def _meaning_of(after: list[GrammarToken]) -> str:
    """What the tokens after a label say about it.

    "refuted"; "settled": it is the answer. "subject": the sentence is about it. "part": of the
    description. "of", "unknown": such a word follows.
    """
    if not after:
        return ""
    first, text = after[0], after[0].text
    if _refuted(after):
        return "refuted"
    abbreviated = [t.text for t in after[1:3]] == ["n", "."]
    if (
        first.kind in ("colon", "bracket", "dash")
        and (abbreviated or any(DEFINES.fullmatch(t.text) for t in after))
    ) or text == "noun":
        return "subject"  # "tragedy (noun): a sad event"
    if (
        (first.kind == "condition" and text != "otherwise")
        or (text == "as it" and after[1:2] and after[1].kind == "suppose")
        or re.match(r"when$|at first|initially|on (?:the surface|paper)", text)
    ):
        return "conditional"  # "comedy if it is read aloud", "comedy at first"
    rest = after[first.kind == "comma" :]
    if rest and rest[0].kind in ("turn", "cue") and AFTERTHOUGHT.match(rest[0].text):
        return "settled"
    if SETTLES.match(" ".join(t.text for t in after[:3])):
        return "settled"
    if text in ("is", "are", "was", "were", "would be", "comes", "means", "has", "have", "can"):
        if after[1:2] and after[1].kind == "stop":
            return "settled"  # "comedy isn't it; tragedy is."
        named = any(
            t.kind in ("cue", "yes", "turn") or t.text in ("what", "word") for t in after[1:6]
        )
        # "comedy is my choice", "comedy is a genre"
        return "settled" if named and text != "means" else "subject"
    if first.kind == "word":
        return "part" if IN_PART.fullmatch(text) else "" if GOES_ON.fullmatch(text) else "unknown"
    if first.kind == "hedge" and has_kind(after[1:3], "yes cue"):
        return "settled"  # "comedy seems right"
    if first.kind in ("suppose", "change", "hedge") and not re.search(
        r"between$|perhaps|maybe|possibly", text
    ):
        return "unknown"  # "a comedy usually ends well"
    return "of" if text == "of" and _text(after, 1) not in ("errors", "manners", "sorts") else ""


def _refuted(after: list[GrammarToken]) -> bool:
    """ "Comedy is not what I see", "comedy: no" """
    first = after[0]
    if first.kind == "suppose" and re.match(r"would .*(?:require|need|mean)$", first.text):
        return True
    for i, token in enumerate(after):
        if token.kind == "bad" or (token.kind == "cross" and i == 0):
            return True
        if token.kind == "deny":
            led_up = i == 0 or (
                i <= 2 and first.kind in ("frame", "but", "word", "suppose", "filler")
            )
            return led_up and not CONTRASTS.fullmatch(token.text)
        if token.kind == "colon" and i == 0:
            return len(after) > 1 and (after[1].kind == "bad" or after[1].text == "no")
        if token.kind not in ("frame", "suppose", "word", "filler", "subject", "hedge", "but"):
            return False
    return False


def _joined(statement: list[GrammarToken]) -> dict[int, str]:
    """Positions of labels in a list -> "and" or "or"."""
    joined: dict[int, str] = {}
    listed: list[int] = []  # labels with nothing but commas between them
    between: str | None = None
    for i, token in enumerate(statement):
        if token.kind == "comma" and between and statement[i - 1].kind == "label":
            listed, between = [], None
        elif token.kind == "label":
            listed.append(i)
            if between and len({statement[j].label for j in listed}) > 1:
                joined |= dict.fromkeys(listed, between)
        elif token.kind == "alt":
            between = between or ("and" if token.text in ("and", "&", "+") else "or")
        elif token.kind in ("bracket", "dash", "stop") and _text(statement, i + 1) == "or":
            continue
        elif not (
            token.kind in ("filler", "hedge", "comma") or token.text in ("more", "more of", "also")
        ):
            listed, between = [], None
    return joined


@dataclass
class Statement:
    """Reads a statement from left to right. The attributes keep what the words so far mean for
    the next label.
    """

    tokens: list[GrammarToken]
    labels: Labels
    earlier: list[Claim]
    line: int
    number: int
    labelled: bool  # whether the text has a label

    def __post_init__(self) -> None:
        self.claims: list[Claim] = []
        self.retractions: list[tuple[int, str]] = []  # how many claims stand before each
        self.joined = _joined(self.tokens)
        self.asked = self.tokens[-1].kind == "ask"
        # "Comedy, I guess?" is no question.
        self.sure = any(
            t.kind in ("turn", "cue") and re.match(r"i'd|i (?:guess|think|suppose|believe)", t.text)
            for t in self.tokens
        )
        # To the end of the statement, or to a word that ends it:
        self.cue: int | None = None  # words since a "turn" or "cue"
        self.conditional = False
        self.aside = False  # a remark on what was affirmed
        self.on_open = False  # a remark on "both" or "neither", which may still settle on a label
        self.bracketed = False  # a remark in brackets of its own
        self.would = False  # whether it says "would be"
        # whether a label stands in it in a way that the grammar does not know
        self.puzzling = False
        self.less = self.neither = self.changes = self.contrast = self.against = False
        self._clause()

    def _clause(self) -> None:
        self.denied = self.supposed = self.hedged = self.about = False
        self.named = False  # whether a label stands in it
        self.subject = False  # whether it is a sentence
        self.definite = False  # "the description ..." may be one
        self.defines = False  # "comedy is tragedy plus time"
        self.frame: int | None = None  # words since a verb that leads up to a label
        self.words = 0  # that the grammar does not know
        self.before = ""

    def read(self) -> list[Claim]:
        for at, token in enumerate(self.tokens):
            self.at, self.text, self.label = at, token.text, token.label
            getattr(self, f"_on_{token.kind}", self._on_nothing)()
        if self.changes:
            self.claims = [
                c._replace(status="named") if c.weight < 3 and c.status == "affirmed" else c
                for c in self.claims
            ]
        return self.claims

    def _on_label(self) -> None:
        status, weight = self._standing()
        if status == "joined":
            status = "named"
            if self.joined[self.at] == "and":
                self.claims.append(Claim(OPEN, "affirmed", 1, self.line, self.number))
        alone = all(t.kind in ("label", "stop", "number", "filler") for t in self.tokens)
        against = self.against and status == "affirmed"
        self.claims.append(
            Claim(self.label, status, weight, self.line, self.number, self.before, alone, against)
        )
        self.named = True
        self.denied &= not self.less
        self.frame = None

    def _standing(self) -> tuple[str, int]:
        after = self.tokens[self.at + 1 : self.at + 9]
        meaning = _meaning_of(after)
        # "comedy or", cut off
        if (self.asked and not self.sure) or (len(after) == 1 and after[0].kind == "alt"):
            return "asked", 1
        # "Comedy because of the end, tragedy because of the beginning"
        parallel = (
            self.at > 0
            and self.tokens[self.at - 1].kind == "comma"
            and after[:1]
            and after[0].kind in ("reason", "about")
        )
        if (
            (self.aside and not parallel)
            or self.about
            or self.bracketed
            or (self.on_open and meaning != "settled" and self.cue is None)
        ):
            return "named", 1
        if meaning == "refuted" or (self.denied and not self.supposed):
            return "denied", 1
        if self.supposed or self.conditional:
            return "supposed", 1
        if self._share() < 0.5:
            return "denied", 1
        status, weight = self._affirmed(meaning)
        self.puzzling |= status == "named"
        self.defines |= meaning == "subject"
        if self.at in self.joined and status in ("affirmed", "hedged"):
            return "joined" if meaning != "subject" and not (
                after and after[0].kind == "alt"
            ) else "named", 1
        return status, weight

    def _affirmed(self, meaning: str) -> tuple[str, int]:
        verb = re.fullmatch(self.labels.verbs, self.text) is not None
        if meaning == "part" or (meaning == "subject" and not verb):
            return "named", 1
        # "a comedy club", not "a tragic scene"
        of_noun = meaning == "unknown" and re.search(r"(?<!or)y$|ies$|t$|ion$", self.text)
        if meaning == "conditional" and (self.would or self.cue is None or self.cue > 1):
            return "named", 1
        if meaning == "settled" or (
            self.cue is not None and self.cue <= 2 * self.labels.modifiers and not of_noun
        ):
            return "affirmed", 4 if self.contrast else 3
        status = "hedged" if self.hedged else "affirmed"
        if verb or (
            self.frame is not None and self.frame <= _NEAR and not self.defines and not of_noun
        ):
            return status, 1
        # "A comic element and a tragic one", "a tragedy when seen from near, but a comedy from
        # afar"
        sentence = self.subject or self.defines or self.puzzling
        if (
            not sentence
            and self.words <= self.labels.modifiers - self.definite
            and meaning not in ("unknown", "of")
        ):
            # not so in "it rains, so it might be wet today: entailment"
            return status, 2 if len(self.before.split()) <= 2 * _NEAR else 1
        return "named", 1

    def _share(self) -> float:
        """ "10% comedy", "comedy (3/10)" """
        after = [
            t
            for t in self.tokens[self.at + 1 : self.at + 4]
            if t.kind not in ("bracket", "close", "colon")
        ][:1]
        for token in [*self.tokens[max(0, self.at - 1) : self.at], *after]:
            share = re.fullmatch(
                r"(\d+(?:[.,]\d+)?)\s*(?:(%|percent)|(?:/|out of)\s*(\d+))|(0[.,]\d+)", token.text
            )
            if share:
                return float((share[1] or share[4]).replace(",", ".")) / (
                    100 if share[2] else float(share[3] or 1) or 1
                )
        return 1

    def _affirms(self) -> bool:
        return any(c.status in ("affirmed", "hedged") and c.label != OPEN for c in self.claims)

    def _opens(self) -> bool:
        return any(c.status == "affirmed" and c.label == OPEN for c in self.claims)

    def _remark(self) -> None:
        self.aside = self._affirms()
        self.on_open = self._opens()
        self.cue = None if self.on_open else self.cue

    def _on_open(self) -> None:
        if (
            self.aside
            or self.asked
            or (
                not self.labelled
                and (len(self.tokens) > 8 or re.match("depend|who knows", self.text))
            )
        ):
            return  # "received mixed reviews"
        if (
            self.text == "neither"
            and not self.labelled
            and any(t.text == "nor" for t in self.tokens)
        ):
            return  # "I neither laughed nor cried"
        if self.text == "none" and has_kind(self.tokens[: self.at], "label"):
            return  # "tragic elements: none"
        self.claims.append(
            Claim(OPEN, "denied" if self.denied else "affirmed", 1, self.line, self.number)
        )
        self.supposed |= self.text.endswith("between") or "sure" in self.text
        self.conditional |= self.text.startswith("depend")

    def _on_neither(self) -> None:
        following = {t.label for t in self.tokens[self.at :] if t.kind == "label"}
        stands_for = self.labels.neither
        if stands_for == OPEN:
            self._on_open()
        elif (len(self.tokens) <= 3 and not has_kind(self.tokens, "frame")) or (
            len(following) > 1 and stands_for not in following and not self.aside
        ):
            self.claims.append(
                Claim(stands_for, "asked" if self.asked else "affirmed", 1, self.line, self.number)
            )
        self.denied = self.neither = True

    def _on_less(self) -> None:
        self.denied = self.less = True

    def _on_deny(self) -> None:
        if self.text == "than" and self.less:
            self._second_of_less()
        else:
            self.denied, self.named = True, False

    def _second_of_less(self) -> None:
        self.denied = self.less = False
        self.cue = 0

    def _on_turn(self) -> None:
        self.denied = self.supposed = self.conditional = self.hedged = self.aside = False
        self.cue = 0

    def _on_cue(self) -> None:
        self.cue = 0

    def _on_suppose(self) -> None:
        self.would |= self.text == "would be"
        # "if pressed, it would be tragedy"
        if self.cue is None or not re.search(r"\bbe$", self.text):
            self.supposed = True

    def _on_condition(self) -> None:
        self.conditional = True

    def _on_change(self) -> None:
        self.changes |= not self.aside

    def _on_hedge(self) -> None:
        self.hedged = True
        self.frame = 0 if re.match("look|seem|sound|appear", self.text) else self.frame

    def _on_frame(self) -> None:
        self.frame = 0
        if self.named and self.text not in ("is", "are", "was", "were"):
            self.denied = False  # "not a comedy it's a tragedy"

    def _on_but(self) -> None:
        before = self.claims or self.earlier
        if before and not any(
            c.status in ("affirmed", "named") and c.label != OPEN for c in before
        ):
            self.cue = 0  # "not a comedy but a tragedy", "both, but more comedy"
        self.against |= not self.claims
        self.contrast = True
        self._restart()

    def _on_retract(self) -> None:
        self.retractions.append((len(self.claims), self.text))
        self._restart()

    def _restart(self) -> None:
        self._clause()
        self.aside = self.conditional = False

    def _on_reason(self) -> None:
        self._clause()
        self._remark()
        self.aside = not self.on_open

    def _on_about(self) -> None:
        self.about |= self._affirms()
        self.on_open |= self._opens()
        self.frame, self.subject = None, True

    def _on_dash(self) -> None:
        rest = self.tokens[self.at + 1 : self.at + 3]
        label_alone = (
            bool(rest)
            and rest[0].kind == "label"
            and (len(rest) == 1 or rest[1].kind in ("stop", "close"))
        )
        self._clause()
        if not label_alone:
            self._remark()

    def _on_bracket(self) -> None:
        # "neither supports the hypothesis (entailment)"
        glosses = self.neither and (self.words > 1 or self.subject)
        self.bracketed = self.at == 0 and any(c.status == "affirmed" for c in self.earlier)
        self._on_dash()
        self.denied = glosses

    def _on_close(self) -> None:
        self._clause()
        self.aside = self.bracketed = False

    def _on_colon(self) -> None:
        self._clause()
        self.aside &= self._affirms()
        self.before = " ".join(t.text for t in self.tokens[: self.at])

    def _on_comma(self) -> None:
        if _text(self.tokens, self.at + 1) in ("or", "nor", "and"):
            return  # a list goes on
        self._clause()
        self.aside &= self._affirms()

    def _on_subject(self) -> None:
        self.subject = True
        self._count()

    def _on_word(self) -> None:
        self.words += 1
        self._count()

    _on_number = _on_word

    def _on_filler(self) -> None:
        self.definite |= self.text == "the"
        if self.text == "as" and self.less and self.named:
            self._second_of_less()
        if (
            self.text == "of"
            and self.at
            and self.tokens[self.at - 1].kind == "word"
            and not A_KIND.fullmatch(self.tokens[self.at - 1].text)
        ):
            self.frame, self.subject = None, True

    def _count(self) -> None:
        self.frame = None if self.frame is None else self.frame + 1
        self.cue = None if self.cue is None else self.cue + 1

    def _on_nothing(self) -> None:
        """Idioms and the like."""

"""What a sentence says about the labels in it; see `choice`.

A sentence is cut into clauses. The words of its own clause give each label a status and a weight.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from .text import has_kind
from .vocabulary import named, patterns

OPEN = "open"  # both, neither, or no choice between them
_NEAR = 3  # words that may stand between a verb and the label that it leads up to
_WHOLE = r"(?:(?<!\w)(?=\w)|(?=[^\w])){}(?:(?<=\w)(?!\w)|(?<=\W))"
_WORDS = patterns("choice")
_TOKENS = named({kind: _WHOLE.format(p) for kind, p in _WORDS["kinds"].items()} | _WORDS["signs"])
_AFTER = re.compile(f"(?:{named(_WORDS['after'])})(?!\\w)")
# between labels of a list
_AND = r"[^\w\n]{0,4}(?:(?:and|or|nor|vs\.?|versus)\b|[/&+])[^\w\n]{0,4}"
_ARTICLES = r"(?:(?:and|or|nor|an?|the|more|of|also|then|rather|even) ){0,3}[^\w\n]?"


class Labels(NamedTuple):
    """See `choice.chosen`."""

    names: Mapping[str, str]
    verbs: str = ""
    neither: str = OPEN
    modifiers: int = 2


class GrammarToken(NamedTuple):
    kind: str  # "label", "list", or one of choice.yaml
    text: str
    labels: tuple[str, ...] = ()


# The status of a mention:
#  affirmed    "Table: comedy", "it is a comedy", "I'd say comedy"
#  hedged      "it seems a comedy"; counts only if nothing is affirmed
#  denied      "not a comedy", "rather than comedy"
#  asked       "Comedy?"
#  named       anything else: suppositions, remarks, lists
#  void        a correction; what stands before no longer counts
class Mention(NamedTuple):
    label: str
    status: str
    weight: int = 1
    sentence: int = 0


def any_of(names: Mapping[str, str]) -> str:
    return "|".join(
        rf"(?P<label{i}>(?<!\w){pattern}(?!\w))" for i, pattern in enumerate(names.values())
    )


@lru_cache(maxsize=200)
def _compiled(names: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    label = any_of(dict(names))
    one = rf"(?<!\w)(?:{'|'.join(pattern for _, pattern in names)})(?!\w)"
    listed = rf"(?P<list>{one}(?:, {one})?(?:,?{_AND}{_ARTICLES}{one})+)"
    return re.compile(label), re.compile(rf"{listed}|{label}|{_TOKENS}|(?P<word>[^\W_][\w']*)")


def sentences(text: str, names: Mapping[str, str]) -> list[list[GrammarToken]]:
    """Tokens, cut at full stops, question marks, semicolons and line ends."""
    label, token = _compiled(tuple(names.items()))
    cut: list[list[GrammarToken]] = [[]]
    seen: dict[str, None] = {}  # labels, in the order of their first mention
    for m in token.finditer(text):
        kind = m.lastgroup or ""
        labels = [
            list(names)[int((found.lastgroup or "")[5:])]
            for found in label.finditer(text, m.start(), m.end())
            if kind.startswith(("label", "list"))
        ]
        if kind in ("former", "latter") and len(seen) == 2:
            labels = [list(seen)[kind == "latter"]]
        seen |= dict.fromkeys(labels)
        if labels:
            kind = "list" if len(set(labels)) > 1 else "label"
        cut[-1].append(GrammarToken(kind, m.group(), tuple(dict.fromkeys(labels))))
        if kind in ("ask", "stop"):
            cut.append([])
    return [sentence for sentence in cut if sentence]


def _affirms(mentions: list[Mention]) -> bool:
    return any(m.status in ("affirmed", "hedged") and m.label != OPEN for m in mentions)


def mentions_in(
    sentence: list[GrammarToken], number: int, earlier: list[Mention], labels: Labels
) -> list[Mention]:
    """The mentions of labels in a sentence, from left to right."""
    mentions: list[Mention] = []
    clause: list[GrammarToken] = []
    since_cue: int | None = None  # words that are no part of the grammar since a cue
    aside = False  # a remark on what was affirmed
    conditional = contrast = False
    asked = sentence[-1].kind == "ask" and not has_kind(sentence, "turn")
    for i, token in enumerate(sentence):
        kind, following = token.kind, sentence[i + 1 : i + 9]
        before_label = has_kind(following[:1], "label list")
        if kind in ("label", "list", "open", "neither"):
            if kind == "neither" and has_kind(following, "label list"):
                clause.append(token)
                continue
            meaning = _meaning(following)
            status, weight = _standing(clause, token, meaning, since_cue, labels)
            if kind == "open" and status == "named" and has_kind(sentence, "label list"):
                status = "affirmed"
            if asked:
                status = "asked"
            elif aside or (conditional and status != "denied"):
                status = "named"
            if status == "affirmed" and (weight > 2 and contrast or sentence[0].kind == "but"):
                weight = 4 if weight > 2 else 3
            for label in _meant(token, status, labels):
                mentions.append(Mention(label, status, weight, number))
            aside |= meaning == "subject_of" and kind != "open"
        elif kind in ("turn", "but", "retract"):
            if kind == "retract":
                mentions.append(Mention("", "void", 1, number))
            aside = conditional = False
            contrast |= kind == "but"
            clause = []
            if kind == "turn" or (mentions and not _affirms(mentions) and kind == "but"):
                since_cue = 0
        elif kind in ("reason", "about", "dash", "bracket"):
            aside |= _affirms(mentions or (earlier if i == 0 else []))
            aside &= not (before_label and kind in ("dash", "bracket"))
        elif kind == "close" or (kind == "comma" and before_label):
            aside = False
        conditional |= kind == "condition"
        if kind in ("reason", "dash", "close", "colon") or (
            kind == "bracket" and not has_kind(clause, "neither")
        ) or (kind == "comma" and not (following and following[0].text in ("or", "nor", "and"))):
            clause = []
        clause.append(token)
        if kind == "cue":
            since_cue = 0
        elif kind in ("word", "number", "subject") and since_cue is not None:
            since_cue += 1
    return mentions


def _meant(token: GrammarToken, status: str, labels: Labels) -> tuple[str, ...]:
    if token.kind == "neither":
        return (labels.neither,)
    if token.kind == "open":
        return (OPEN,)
    if token.kind == "label" or status == "denied":
        return token.labels
    return (OPEN,) if re.search(r"\band\b|[&+]", token.text) else ()


def _meaning(following: list[GrammarToken]) -> str:
    """What the words after a label say of it."""
    after = _AFTER.match(" ".join(t.text.strip(" ") for t in following))
    if after:
        return after.lastgroup or ""
    return "unknown" if has_kind(following[:1], "word suppose") else ""


def _standing(
    clause: list[GrammarToken],
    token: GrammarToken,
    meaning: str,
    since_cue: int | None,
    labels: Labels,
) -> tuple[str, int]:
    """Status and weight by the clause before and the words after."""
    verb = re.fullmatch(labels.verbs, token.text)
    kinds = [t.kind for t in clause]
    supposed = any(
        t.kind == "suppose" and (since_cue is None or not t.text.endswith("be")) for t in clause
    )
    if meaning == "denied" or (has_kind(clause, "deny neither") and not supposed):
        return "denied", 1
    if supposed or meaning in ("conditional", "in_part") or (meaning == "unknown" and not verb):
        return "named", 1
    if meaning == "settled" or (since_cue is not None and since_cue <= 2 * labels.modifiers):
        return "affirmed", 3
    status = "hedged" if "hedge" in kinds else "affirmed"
    if verb or _led_up_to(kinds):
        return status, 1
    if meaning == "subject_of" or has_kind(clause, "subject about frame"):
        return "named", 1
    return (status, 2) if kinds.count("word") <= labels.modifiers else ("named", 1)


def _led_up_to(kinds: list[str]) -> bool:
    """Whether a verb stands near before."""
    for distance, kind in enumerate(k for k in reversed(kinds) if k not in ("filler", "cue")):
        if kind in ("frame", "hedge"):
            return distance <= _NEAR
        if kind == "about":
            return False
    return False

"""Lists of options of which one is marked."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .statement import OPEN, Claim, any_of

NONE = "none"  # a list of options of which none is marked, or several
_YES, _NO = r"\[x\]|\(x\)|[✓✔✅☑☒🗹●◉]", r"\[ ?\]|\( ?\)|[❌✗✘✖☐🚫○◯]"


def _label_of(match: re.Match[str], names: Mapping[str, str]) -> str:
    return next(name for i, name in enumerate(names) if match[f"label{i}"])


def scored(text: str, names: Mapping[str, str]) -> str | None:
    """The label with the largest number; OPEN for a tie."""
    if re.search(r"\bscale (?:from|of)\b", text):
        return None
    label = any_of(names)
    number = r"(?P<n>\d+(?:[.,]\d+)?)\s*(?P<of>%|percent|/\s*\d+|out of \d+)?"
    after = re.compile(
        rf"(?:{label})(?:\)| score| rating| level)?[^\S\n]*[:=(|-]?[^\S\n]*(?:at |about |"
        rf"~)?{number}(?!\w|[.)][ \t]*[a-z])"
    )
    before = re.compile(rf"(?<![\w.]){number}\s*(?P<link>of |for |- |: )?(?:{label})")
    matches, other = list(after.finditer(text)), list(before.finditer(text))
    if (
        other
        and len(other) >= len(matches)
        and (not matches or other[0].start() < matches[0].start())
    ):
        matches = other
    scores: dict[str, float] = {}
    if matches is other and any(
        re.search(r"[-:] $", m["link"] or "") and not m["of"] for m in matches
    ):
        return None  # "Sentence 1: comedy. Sentence 2: tragedy."
    for m in matches:
        name, value = _label_of(m, names), float(m["n"].replace(",", "."))
        if name in scores or not (m["of"] or "." in m["n"] or int(value) <= 10):
            return None
        scores[name] = value
    if len(scores) < 2 or len({(m["of"] or "").replace(" ", "") for m in matches}) > 1:
        return None
    best = [name for name, score in scores.items() if score == max(scores.values())]
    return best[0] if len(best) == 1 else OPEN


def marked(text: str, names: Mapping[str, str]) -> str | None:
    """The label with a tick or "yes"; NONE if none or several have one."""
    label = any_of(names)
    before = re.compile(rf"(?:(?P<yes>{_YES})|(?P<no>{_NO}))[^\w\n,;]{{0,4}}(?:{label})")
    after = re.compile(
        rf"(?:{label})\s*[:=|?-]?\s*(?:(?P<yes>(?:true|yes)(?!\w)|{_YES})|"
        rf"(?P<no>(?:false|no)(?!\w)|{_NO}))"
    )
    for pattern in (before, after) if before.match(text.lstrip(" \n-*+")) else (after, before):
        matches = list(pattern.finditer(text))
        ticked = {_label_of(m, names) for m in matches if m["yes"]}
        named = {_label_of(m, names) for m in matches}
        if len(ticked) == 1 and len(named) > 1:
            return ticked.pop()
        if len(ticked) > 1 or named >= set(names) - {OPEN}:
            return NONE  # but "Entailment: no. Contradiction: no. Neutral." goes on
    return None


def lettered(text: str, names: Mapping[str, str]) -> str | None:
    """The label in "A) Comedy B) Tragedy" whose letter is named."""
    options = {
        m["key"]: m
        for m in re.finditer(rf"(?:^|\s)\(?(?P<key>[a-e1-5])[.):]\)?\s*(?:{any_of(names)})", text)
    }
    answers = re.findall(
        r"\b(?:answer|choose|choice|pick|option|verdict|select|go with)(?: "
        r"is)?\W{0,4}([a-e1-5])\W*(?:\n|$)",
        text,
    )
    return (
        _label_of(options[answers[-1]], names)
        if len(options) > 1 and answers and answers[-1] in options
        else None
    )


def without_heads(claims: list[Claim], text: str, names: Mapping[str, str]) -> list[Claim]:
    """Labels that begin list items count as only named."""
    items = re.finditer(
        r"(?:^|\n|\s)[ \t]*(?:\(?[a-e1-4][.)]|[-•]|"
        rf"\W{{0,3}})[ \t]*(?:{any_of(names)})[ \t]*(?P<colon>:)?",
        text,
    )
    heads = [m for m in items if re.match(r"\s*\(?[a-e1-4][.)]\s", m.group()) or m["colon"]]
    if len({_label_of(m, names) for m in heads}) < 2:
        return claims
    end = text[: heads[-1].end()].count("\n")
    return [
        c._replace(status="named")
        if c.weight < 3 and c.status == "affirmed" and not (c.alone and c.line > end)
        else c
        for c in claims
    ]

"""Lists of options of which one is marked."""

import re
from collections.abc import Mapping

from .statement import OPEN, any_of

NONE = "none"  # a list of options of which none is marked, or several
_YES, _NO = r"\[x\]|\(x\)|[✓✔✅☑☒🗹●◉]", r"\[ ?\]|\( ?\)|[❌✗✘✖☐🚫○◯]"
_SCORE = r"(?P<n>\d+(?:[.,]\d+)?)\s*(?P<of>%|percent|/\s*\d+|out of \d+)?"


def _label_of(match: re.Match[str], names: Mapping[str, str]) -> str:
    return next(name for i, name in enumerate(names) if match[f"label{i}"])


def scored(text: str, names: Mapping[str, str]) -> str | None:
    """The label with the largest number; OPEN for a tie."""
    if re.search(r"\bscale (?:from|of)\b", text):
        return None
    label = any_of(names)
    after = re.compile(
        rf"(?:{label})(?:\)| score| rating| level)?[^\S\n]*[:=(|-]?[^\S\n]*(?:at |about |"
        rf"~)?{_SCORE}(?!\w|[.)][ \t]*[a-z])"
    )
    before = re.compile(rf"(?<![\w.]){_SCORE}\s*(?:of |for )?(?:{label})")
    matches = list(after.finditer(text))
    if len(matches) < 2:
        matches = list(before.finditer(text))
    scores = {_label_of(m, names): float(m["n"].replace(",", ".")) for m in matches}
    units = {(m["of"] or "").replace(" ", "") for m in matches}
    if not 1 < len(scores) == len(matches) or len(units) > 1:
        return None
    if units == {""} and max(scores.values()) > 10:
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
        mentioned = {_label_of(m, names) for m in matches}
        if len(ticked) == 1 and len(mentioned) > 1:
            return ticked.pop()
        if len(ticked) > 1 or mentioned >= set(names) - {OPEN}:
            return NONE  # but "Entailment: no. Contradiction: no. Neutral." goes on
    return None


_KEY_NAMED = re.compile(
    r"(\b(?:answer|choose|choice|pick|option|verdict|select|go with)(?: is)?\W{0,4})"
    r"(?P<key>[a-e1-5])(?=\W*(?:\n|$))"
)


def without_list(text: str, names: Mapping[str, str]) -> str:
    """A text without the heads of "A) comedy B) tragedy" and "Comedy: ... Tragedy: ...", and with
    the label whose letter it answers.
    """
    item = re.compile(
        rf"(?:^|(?<=\s))(?:[^\w\n(]{{0,3}}\(?(?P<key>[a-e1-5])[.):]\)?\s*)?(?:{any_of(names)})"
        r"(?P<colon>\s?:(?!\s?(?:no|yes)\b))?"
    )
    items = [m for m in item.finditer(text) if m["key"] or m["colon"]]
    if len({_label_of(m, names) for m in items}) < 2:
        return text
    labels = {m["key"]: m[f"label{list(names).index(_label_of(m, names))}"] for m in items}
    text = item.sub(lambda m: " option: " if m["key"] or m["colon"] else m.group(), text)
    return _KEY_NAMED.sub(lambda m: m[1] + labels.get(m["key"], m["key"]), text)

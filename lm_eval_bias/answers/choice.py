"""Which of a few labels a text chooses.

Where no list marks the answer, the text is cut into sentences; `statement` finds the labels in
each. The label of the heaviest affirmed mentions is chosen: 3 after concluding words ("so",
"answer:"); 2 alone; 1 after a verb ("is"). If they differ the answer is unclear. "Wait" cancels
earlier mentions, as do concluding words after a "but" (4). "Both" mentions OPEN.
"""

import re
from collections.abc import Callable, Collection
from itertools import chain

from .refusal import is_refusal, without_refusals
from .statement import OPEN, Labels, Mention, Tokens, affirmed, mentions_in, sentences
from .tables import as_lines
from .text import REFUSED, UNPARSED, has_kind, plain, rewritten, rules
from .vocabulary import patterns

_LONG = 20  # words, in which "both" alone is no answer
_MARKS = patterns("choice")["marks"]
_EXPLICIT = re.compile(_MARKS["explicit"], re.IGNORECASE)


def answer_in(text: str, read: Callable[[str], str | None], names: Collection[str]) -> str:
    """What `read` finds in a text, "refused" or "unparsed".

    read: returns an answer or None; for what is marked as the answer (<answer>, \\boxed), for the
    whole text, unless it refuses, and for what does not decline. names: patterns of answers.
    """
    marked = ""
    for m in _EXPLICIT.finditer(text):
        marked = m[m.lastindex or 0]
    if answer := read(plain(marked)):
        return answer
    declines = is_refusal(text)
    if not declines:
        answer = read(as_lines(plain(text), names))
    if answer is None:
        answer = read(without_refusals(text))
    return answer or (REFUSED if declines else UNPARSED)


_CLEAN = rules(
    {
        r"</?(?:b|i|u|em|strong|span|code|mark)>": "",
        r"(?:(?<=[:=])|(?<=\bis))[ \t]*\(?[a-e][.)][ \t]+": " ",  # "Answer: C. Neutral"
        r"(?:^|\n)[ \t]*>+|(?:<(?:\|\w+\||/?(?:p|br|div|li|ul|ol|h[1-6])\s*/?)>\s*)+": "\n",
        # "Comedy? No."
        r"\?\s+(?:absolutely |definitely |certainly )?(?:no|nah|not)\b(?: really| at all)?": ": no",
        r"\?\s+(?:yes|definitely|clearly|absolutely|indeed|sure)\b": ": yes",
    }
)
# a model that completes text goes on with it, after its answer
_NEXT_TURN = r"\n\W{0,4}(?:user|human|[qa]\d+)\s*:"


def chosen(text: str, labels: Labels) -> str | None:
    """The label that a text of `plain` chooses; OPEN for both or neither, None if unclear."""
    text = rewritten(text, _CLEAN)
    label = labels.either
    if len(text.split()) > _LONG and not re.search(label, text):
        return None  # "depending on" and the like is no answer
    text = re.split(_NEXT_TURN, text, maxsplit=1)[0]
    # "as tragic as it is comic", "less comic than tragic", "less comic and more tragic"
    text = re.sub(rf"\bas (?:\w+ ){{0,2}}{label} as (?:\w+ ){{0,3}}{label}(?!\w)", "both", text)
    text = re.sub(
        rf"\b(?:less(?: of)?|not so much|not as) ((?:\w+ ){{0,2}}{label})"
        r"(?: (?:than|as)\b|,?(?: (?:and|but))?(?= (?:\w+ )?more\b))",
        r"not \1 but",
        text,
    )
    # "Since a chair is no comedy, it is a tragedy": what is granted is not what is chosen
    begins = r"(?:^|(?<=[.!?\n] )|(?<=\n))(?:since|because|although|though|while|whereas)\b"
    text = re.sub(
        rf"{begins}[^,.!?\n]{{0,80}}{label}[^,.!?\n]{{0,80}}, "
        rf"(?=(?:(?!\bnot?\b|n't\b|neither)[^.!?\n]){{0,120}}{label})",
        "",
        text,
    )
    for read in (_scored, _ticked):
        if (of_option := read(text, labels)) is not None:
            return of_option or None
    if stated := _stated(text, labels):
        return stated
    cut = sentences(_without_list(text, labels), labels)
    *earlier, last = [mentions_in(sentence, labels) for sentence in cut] or [[]]
    mentions = list(chain.from_iterable(earlier))
    if cut and _is_cut_off(cut[-1], last, bool(affirmed(mentions))):
        mentions = [m for m in mentions if m.weight > (cut[-1][0].kind == "but")]
    else:
        mentions += last
    return _verdict(mentions, labels.neither)


# ---- Options of which one is marked

_SCORE = r"(?P<n>\d+(?:[.,]\d+)?)\s*(?:%|percent|/\s*\d+|out of \d+)?"


def _scored(text: str, labels: Labels) -> str | None:
    """The label with the largest number; OPEN for a tie."""
    label = labels.named
    after = (
        rf"{label}(?:\)| score| rating| level)?[^\S\n]*[:=(|-]?[^\S\n]*(?:at |about |~)?{_SCORE}"
        r"(?!\w|[.)][ \t]*[a-z])"
    )
    before = rf"(?<![\w.]){_SCORE}\s*(?:of |for )?{label}"
    matches = list(re.finditer(after, text))
    if len(matches) < 2:
        matches = list(re.finditer(before, text))
    scores = {labels.name(m["label"]): float(m["n"].replace(",", ".")) for m in matches}
    if not 1 < len(scores) == len(matches):
        return None
    most = max(scores.values())
    best, *others = [name for name, score in scores.items() if score == most]
    return OPEN if others else best


_YES, _NO = r"\[x\]|\(x\)|[✓✔✅☑☒🗹●◉]", r"\[ ?\]|\( ?\)|[❌✗✘✖☐🚫○◯]"


def _ticked(text: str, labels: Labels) -> str | None:
    """The label with a tick or "yes"; "" if none or several have one."""
    before = re.compile(rf"(?:(?P<yes>{_YES})|{_NO})[^\w\n,;]{{0,4}}{labels.named}")
    after = re.compile(
        rf"{labels.named}\s*[:=|?-]?\s*(?:(?P<yes>(?:true|yes)(?!\w)|{_YES})|"
        rf"(?:(?:false|no)(?!\w)|{_NO}))"
    )
    for pattern in (before, after) if before.match(text.lstrip(" \n-*+")) else (after, before):
        answers = [(labels.name(m["label"]), m["yes"]) for m in pattern.finditer(text)]
        ticked, mentioned = {name for name, yes in answers if yes}, {name for name, _ in answers}
        if len(ticked) == 1 and len(mentioned) > 1:
            return ticked.pop()
        if len(ticked) > 1 or mentioned >= set(labels.names) - {OPEN}:
            return ""  # but "Entailment: no. Contradiction: no. Neutral." goes on
    return None


_KEY_NAMED = re.compile(
    r"(\b(?:answer|choose|choice|pick|option|verdict|select|go with)(?: is)?\W{0,4})"
    r"(?P<key>[a-e1-5])(?=\W*(?:\n|$))"
)


def _without_list(text: str, labels: Labels) -> str:
    """A text without the heads of "A) comedy B) tragedy", and with the label for its letter."""
    item = re.compile(
        r"(?:^|(?<=\s))(?:[^\w\n(]{0,3}\(?(?P<key>[a-e1-5])[.):]\)?\s*)?"
        rf"{labels.named}(?P<colon>\s?:(?!\s?(?:no|yes)\b))?"
    )
    items = [(m["key"], m["label"]) for m in item.finditer(text) if m["key"] or m["colon"]]
    if len({labels.name(label) for _, label in items}) < 2:
        return text
    of_key = dict(items)
    text = item.sub(lambda m: " option: " if m["key"] or m["colon"] else m[0], text)
    return _KEY_NAMED.sub(lambda m: m[1] + of_key.get(m["key"], m["key"]), text)


# ---- Sentences


def _stated(text: str, labels: Labels) -> str | None:
    """The label by itself on the first line or behind "Label:", unless another one is, or what
    follows corrects it."""
    alone = re.compile(
        rf"(?:^|(?<=\n))\W*(?:{_MARKS['alone']}(?P<named>{labels.either})"
        r"\)?(?=\s*(?:[.;!(\n]|$|-\s)|,? (?:because|since|as)\b)|"
        rf"(?P<only>{labels.either})[^\w\n?]*(?:\n|$))"
    )
    found = list(alone.finditer(text))
    names = {labels.name(m["named"] or m["only"]) for m in found}
    if len(names) != 1 or (found[0].start() and not any(m["named"] for m in found)):
        return None
    (name,) = names
    for sentence in sentences(text[found[-1].end() :], labels):
        turns = sentence[0].kind in ("turn", "but")
        for mention in mentions_in(sentence, Labels(labels.names)):
            concludes = (turns or mention.weight > 2) and mention.status == "affirmed"
            if mention.status in ("retract", "correct") or (concludes and mention.label != name):
                return None
    return name


def _is_cut_off(last: Tokens, mentions: list[Mention], decided: bool) -> bool:
    if has_kind(last[-1:], "stop ask close") or len(last) < 4:
        return False
    kinds = [t.kind for t in last if t.kind in ("label", "but")]
    denied = {m.label for m in mentions if m.status == "denied"}
    # after a choice, a verb that leads up to a label is not enough
    chosen_there = any(m.status == "affirmed" and m.weight > decided for m in mentions)
    return kinds[-1:] == ["but"] or not (chosen_there or len(denied) > 1)


def _verdict(mentions: list[Mention], neither: str) -> str | None:
    goes_on = False
    for at, mention in reversed(list(enumerate(mentions))):
        goes_on |= mention.status == "affirmed"
        if (
            mention.weight == 4
            or mention.status == "retract"
            or (mention.status == "correct" and goes_on)
        ):
            mentions = mentions[at:]
            break
    denied, hedged, named = (
        {m.label for m in mentions if m.status == status}
        for status in ("denied", "hedged", "affirmed")
    )
    opened = OPEN in named
    stated = affirmed(mentions)
    if not stated:
        if opened or len(denied - {OPEN}) > 1:
            return OPEN if opened or neither in denied else neither
        return hedged.pop() if len(hedged) == 1 else None
    heaviest = max(m.weight for m in stated)
    best = {m.label for m in stated if m.weight == heaviest}
    if len(best) > 1 or (heaviest < 3 and len(named - {OPEN}) > 1):
        return OPEN if opened else None
    (label,) = best
    doubted = mentions[-1].status == "asked" and mentions[-1].label == label
    if heaviest < 3 and (opened or doubted):
        return None  # "Both. Comedy.", "Then comedy. Is it?"
    if stated[0].weight == 2 and stated[0].label != label:
        return None  # "Comedy. So it is a tragedy."
    return label

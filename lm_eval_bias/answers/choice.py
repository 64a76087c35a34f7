"""Which of a few labels a text chooses.

What no list marks is cut into sentences; `statement` says which labels each mentions, and how. The
label of the heaviest affirmed mentions is chosen: 3 after concluding words ("so", "answer:"); 2
alone; 1 after a verb ("is"). If they differ the answer is unclear. "Wait" cancels earlier mentions,
as do concluding words after a "but" (4). "Both" mentions OPEN.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from .options import NONE, marked, scored, without_list
from .refusal import is_refusal, without_refusals
from .statement import OPEN, GrammarToken, Labels, Mention, affirms, mentions_in, sentences
from .tables import as_lines
from .text import REFUSED, UNPARSED, has_kind, plain, rewritten, rules, without_reasons
from .vocabulary import patterns

__all__ = ["OPEN", "answer_in", "chosen"]

_LONG = 20  # words, in which "both" alone is no answer
_OTHERWISE = ("turn", "but")
_MARKS = patterns("choice")["marks"]
_EXPLICIT = re.compile(_MARKS["explicit"], re.IGNORECASE)
# what may follow a label behind "Label:"
_ALONE = r"\)?(?=\s*(?:[.;!(\n]|$|-\s)|,? (?:because|since|as)\b)"


def _explicit(text: str) -> str:
    """The last part that is marked as the answer, by <answer>, \\boxed or the like, or ""."""
    answer = ""
    for m in _EXPLICIT.finditer(text):
        answer = m[m.lastindex or 0]
    return answer


def answer_in(text: str, read: Callable[[str], str | None], headings: Sequence[str]) -> str:
    """What `read` finds in a text, "refused" or "unparsed".

    read: returns an answer or None for what is marked as the answer; for the whole text, unless it
    refuses; for what does not decline. headings: patterns of a table's columns.
    """
    answer = read(plain(_explicit(text)))
    if answer is not None:
        return answer
    declines = is_refusal(text)
    reasonless = without_reasons(text)
    whole, kept = as_lines(plain(reasonless), headings), without_refusals(reasonless)
    if not declines:
        answer = read(whole)
    if answer is None and (declines or kept != whole):
        answer = read(kept)
    return answer or (REFUSED if declines else UNPARSED)


_CLEAN = rules(
    {
        r"</?(?:b|i|u|em|strong|span|code|mark)>": "",
        r"(?:(?<=[:=])|(?<=\bis))[ \t]*\(?[a-e][.)][ \t]+": " ",  # "Answer: C. Neutral"
        r"(?:^|\n)[ \t]*>+|<\|\w+\|>|</?(?:p|br|div|li|ul|ol|h[1-6])\s*/?>": "\n",
        # "Comedy? No."
        r"\?\s+(?:absolutely |definitely |certainly )?(?:no|nah|not)\b(?: really| at all)?": ": no",
        r"\?\s+(?:yes|definitely|clearly|absolutely|indeed|sure)\b": ": yes",
    }
)
# a model that completes text goes on with it, after its answer
_NEXT_TURN = re.compile(r"\n\W{0,4}(?:user|human|[qa]\d+)\s*:")


def chosen(
    text: str, names: Mapping[str, str], *, verbs: str = "", neither: str = OPEN
) -> str | None:
    """Return the label that a text chooses, OPEN for both or neither, None if unclear.

    text: as returned by `plain`. names: label -> pattern. verbs: pattern of labels that are verbs
    ("entails"). neither: the label for "neither".
    """
    text = rewritten(text, _CLEAN)
    label = f"(?:{'|'.join(names.values())})"
    if len(text.split()) > _LONG and not re.search(label, text):
        return None  # "depending on" and the like is no answer
    turn = _NEXT_TURN.search(text)
    if turn and re.search(label, text[: turn.start()]):
        text = text[: turn.start()]
    # "as tragic as it is comic", "less comic than tragic"
    text = re.sub(rf"\bas (?:\w+ ){{0,2}}{label} as (?:\w+ ){{0,3}}{label}(?!\w)", "both", text)
    text = re.sub(
        rf"\b(?:less(?: of)?|not so much|not as) ((?:\w+ ){{0,2}}{label}) (?:than|as)\b",
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
    for read in (scored, marked):
        of_option = read(text, names)
        if of_option is not None:
            return None if of_option == NONE else of_option
    stated = _stated(text, names, label)
    if stated:
        return stated
    mentions: list[Mention] = []
    cut = sentences(without_list(text, names), names)
    grammar = Labels(names, verbs, neither)
    in_last: list[Mention] = []
    decided = False
    for sentence in cut:
        in_last = mentions_in(sentence, decided, grammar)
        mentions += in_last
        decided |= affirms(in_last)
    if cut and _is_cut_off(cut[-1], in_last, affirms(mentions[: len(mentions) - len(in_last)])):
        opposed = cut[-1][0].kind == "but"
        earlier = mentions[: len(mentions) - len(in_last)]
        mentions = [m for m in earlier if m.weight > opposed]
    return _verdict(mentions, neither)


def _stated(text: str, names: Mapping[str, str], label: str) -> str | None:
    """The label by itself on the first line or behind "Label:", unless another one is, or what
    follows is corrected or concludes otherwise."""
    alone = re.compile(
        rf"(?:^|(?<=\n))\W*(?:{_MARKS['alone']}(?P<named>{label}){_ALONE}|"
        rf"(?P<only>{label})[^\w\n?]*(?:\n|$))"
    )
    found = list(alone.finditer(text))
    labels = {_name_of(m["named"] or m["only"], names) for m in found}
    if len(labels) != 1 or (found[0].start() and not any(m["named"] for m in found)):
        return None
    (name,) = labels
    rest = text[found[-1].end() :]
    for sentence in sentences(rest, names):
        for mention in mentions_in(sentence, True, Labels(names)):
            if mention.status in ("retract", "correct"):
                return None
            if (
                mention.status == "affirmed"
                and mention.label != name
                and sentence[0].kind in _OTHERWISE
            ):
                return None
    return name


def _name_of(text: str, names: Mapping[str, str]) -> str:
    return next(name for name, pattern in names.items() if re.fullmatch(pattern, text))


def _is_cut_off(last: list[GrammarToken], mentions: list[Mention], decided: bool) -> bool:
    """decided: whether a label was affirmed before."""
    ended = has_kind(last[-1:], "stop ask close") or len(last) < 4
    kinds = [t.kind for t in last if t.kind in ("label", "but")]
    denied = {m.label for m in mentions if m.status == "denied"}
    # after a choice, a verb that leads up to a label is not enough
    chooses = len(denied) > 1 or any(
        m.status == "affirmed" and m.weight > decided for m in mentions
    )
    return not ended and (kinds[-1:] == ["but"] or not chooses)


def _verdict(mentions: list[Mention], neither: str) -> str | None:
    goes_on = False
    for at, mention in reversed(list(enumerate(mentions))):
        goes_on |= mention.status == "affirmed"
        if mention.status == "retract" or (mention.status == "correct" and goes_on):
            mentions = mentions[at + 1 :]
            break
        if mention.weight == 4:
            mentions = mentions[at:]
            break
    affirmed = [m for m in mentions if m.status == "affirmed" and m.label != OPEN]
    opened = any(m.status == "affirmed" and m.label == OPEN for m in mentions)
    if not affirmed:
        denied = {m.label for m in mentions if m.status == "denied"} - {OPEN}
        if opened or len(denied) > 1:
            return OPEN if opened or neither in denied else neither
        hedged = {m.label for m in mentions if m.status == "hedged"}
        return hedged.pop() if len(hedged) == 1 else None
    heaviest = max(m.weight for m in affirmed)
    best = {m.label for m in affirmed if m.weight == heaviest}
    unclear = OPEN if opened else None
    if len(best) > 1:
        return unclear
    (label,) = best
    if heaviest < 3 and any(m.label != label for m in affirmed):
        return unclear
    doubted = mentions[-1].status == "asked" and mentions[-1].label == label
    if heaviest < 3 and (opened or doubted):
        return None  # "Both. Comedy.", "Then comedy. Is it?"
    if affirmed[0].weight == 2 and affirmed[0].label != label:
        return None  # "Comedy. So it is a tragedy."
    return label

"""Which of a few labels a text chooses.

Lists of options with one marked are read first. The rest is cut into statements; `Statement`
makes a `Claim` for each label. The claim of the largest weight decides: 3 after concluding words
("so", "answer:"), 4 if "but" also stands before; 2 alone or after a word and a colon; 1 after a
known verb ("is"). If labels of equal weight differ, or the first label is not the heaviest, the
answer is unclear. "Wait" cancels earlier claims. "Both" claims OPEN.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .options import NONE, lettered, marked, scored, without_heads
from .statement import OPEN, Claim, GrammarToken, Labels, Statement, statements, tokens_of
from .text import has_kind
from .vocabulary import TAKES_ALL_BACK

__all__ = ["OPEN", "chosen", "explicit"]

_FIELD = r"answer|label|choice|verdict|result|classification|category|genre|inference"
_EXPLICIT = re.compile(
    rf"(?i)<\|begin_of_box\|>(?P<box>[^<]{{1,200}})|<(?:final_?)?(?:{_FIELD}|output|"
    r"response)>\s*(?P<xml>[^<]{1,200})|\\boxed\s*\{(?P<boxed>[^\n]{1,200}?)\}+\s*(?:\$|\\\]|\\\)|"
    rf"\.|\n|$)|\"(?:final_?|your_?)?(?:{_FIELD}|selected|selection|chosen|prediction|decision|"
    r"relation(?:ship)?|affect)\"\s*:\s*\"(?P<json>[^\"\n]{1,80})\"|"
    r"(?:^|\n)\W{0,6}(?:so,? )?(?:my |the )?final (?:answer|label|choice|verdict|"
    r"decision)(?: is)?\W{0,6}(?P<final>[^\n]{1,80})"
)


def explicit(text: str) -> str:
    """The last part that is marked as the answer, by <answer>, \\boxed or the like, or ""."""
    answer = ""
    for m in _EXPLICIT.finditer(text):
        answer = m[m.lastindex or 0]
    return answer


_LETTER = re.compile(r"(?:(?<=[:=])|(?<=\bis))[ \t]*\(?[a-e][.)][ \t]+")  # "Answer: C. Neutral"
_QUOTED = re.compile(r"(?:^|\n)[ \t]*>+|<\|\w+\|>|</?(?:p|br|div|li|ul|ol|h[1-6])\s*/?>")
_STYLED = re.compile(r"</?(?:b|i|u|em|strong|span|code|mark)>")
# a model that completes text goes on with it, after its answer
_NEXT_TURN = re.compile(r"\n\W{0,4}(?:user|human)\s*:")


def chosen(
    text: str, names: Mapping[str, str], *, verbs: str = "", neither: str = OPEN, modifiers: int = 2
) -> str | None:
    """Return the label that a text chooses, OPEN for both or neither, None if unclear.

    text: as returned by `plain`. names: label -> pattern. verbs: pattern of labels that are verbs
    ("entails"). neither: the label for "neither". modifiers: how many unknown words may precede a
    label.
    """
    text = _QUOTED.sub("\n", _LETTER.sub(" ", _STYLED.sub("", text)))
    label = "|".join(names.values())
    turn = _NEXT_TURN.search(text)
    if turn and re.search(label, text[: turn.start()]):
        text = text[: turn.start()]
    # "as tragic as it is comic"
    text = re.sub(
        rf"\bas (?:\w+ ){{0,2}}(?:{label}) as (?:\w+ ){{0,3}}(?:{label})(?!\w)", "both", text
    )
    for read in (scored, marked, lettered):
        of_option = read(text, names)
        if of_option is not None:
            return None if of_option == NONE else of_option
    tokens = tokens_of(text, names)
    labelled = has_kind(tokens, "label")
    claims: list[Claim] = []
    retractions: list[tuple[int, str]] = []  # how many claims stand before each
    line = 0
    cut = statements(tokens)
    for number, (tokens_of_one, following) in enumerate(zip(cut, [*cut[1:], []], strict=False)):
        statement = Statement(
            tokens_of_one, Labels(names, verbs, neither, modifiers), claims, line, number, labelled
        )
        new_claims = statement.read()
        retractions += [(len(claims) + at, words) for at, words in statement.retractions]
        claims = claims + (_replied(new_claims, following) if statement.asked else new_claims)
        line += sum(t.text.count("\n") for t in tokens_of_one if t.kind == "stop")
    if cut and _is_cut_off(cut[-1]):
        last = [
            c for c in claims if c.statement == len(cut) - 1 and c.status in ("affirmed", "hedged")
        ]
        kinds = [t.kind for t in cut[-1] if t.kind in ("label", "but")]
        opposed = kinds[-1:] == ["but"]
        if opposed or not last:
            claims = [
                c._replace(status="named") if c.weight == 1 or c in last else c for c in claims
            ]
    return _verdict(
        without_heads(claims, text, names), retractions, len(set(names) - {OPEN}), neither
    )


def _is_cut_off(last: list[GrammarToken]) -> bool:
    return (
        last[-1].kind not in ("stop", "ask", "close")
        and len(last) > 2
        and not has_kind(last[:3], "colon")
    )


def _replied(question: list[Claim], reply: list[GrammarToken]) -> list[Claim]:
    """ "Comedy? No." """
    reply_tokens = [t for t in reply if t.kind != "comma"]
    if len({c.label for c in question}) != 1 or not reply_tokens:
        return question
    if any(
        t.kind in ("deny", "cross") or t.text in ("no", "nah")
        for t in reply_tokens[: 1 + (reply_tokens[0].kind != "label")]
    ):
        return [question[0]._replace(status="denied")]
    if reply_tokens[0].kind == "yes" or reply_tokens[0].text in (
        "definitely",
        "clearly",
        "absolutely",
        "indeed",
        "sure",
    ):
        return [question[0]._replace(status="affirmed", weight=2)]
    return question


def _verdict(
    claims: list[Claim], retractions: list[tuple[int, str]], n_labels: int, neither: str
) -> str | None:
    for at, words in reversed(retractions):
        if any(c.status in ("affirmed", "hedged") for c in claims[at:]):
            claims = claims[at:]
            break
        if TAKES_ALL_BACK.fullmatch(words) and any(c.status == "affirmed" for c in claims[:at]):
            return None  # "Comedy. Wait, ..."
    affirmed = [c for c in claims if c.status == "affirmed" and c.label != OPEN]
    opened = [i for i, c in enumerate(claims) if c.status == "affirmed" and c.label == OPEN]
    if not affirmed:
        denied = {c.label for c in claims if c.status == "denied"} - {OPEN}
        if opened or len(denied) > 1:
            return OPEN if opened or neither in denied else neither
        hedged = {c.label for c in claims if c.status == "hedged"}
        return hedged.pop() if len(hedged) == 1 else None
    unclear = OPEN if opened else None

    heaviest = max(c.weight for c in affirmed)
    best = [c for c in affirmed if c.weight == heaviest]
    label = best[0].label
    if any(c.label != label for c in best):
        # A model that completes text may go on with labels, a line each; but all of them in turn
        # are the options.
        goes_on = heaviest == 2 and all(
            c.before == "" and (c.line != best[0].line or c.label == label) for c in best
        )
        if not goes_on or (len({c.label for c in best}) == n_labels and all(c.alone for c in best)):
            return unclear
    first = affirmed[0]
    if (
        first.label != label
        and first.weight >= 2
        and not (heaviest == 4 and first.statement == best[0].statement)
    ):
        return None  # "Comedy" first, and another settled upon later, without a "but"
    statements_of = {c.statement for c in best if c.label == label}
    if heaviest < 3 and any(
        c.label != label and (heaviest == 1 or c.statement in statements_of) for c in affirmed
    ):
        return unclear
    if any(c.against and c.label != label for c in affirmed):
        return None  # "Comedy. However, it is a tragedy."
    if claims[-1].status == "asked" and claims[-1].label == label and heaviest < 3:
        return None  # "Then comedy. Is it a comedy?"

    if opened:
        positions = [i for i, c in enumerate(claims) if c.status == "affirmed" and c.label == label]
        start = min(i for i in positions if claims[i].weight == heaviest)
        end = positions[-1]
        for i in opened:
            beside = heaviest == 1 or (
                heaviest == 2 and claims[i].statement == claims[end].statement
            )
            if i > end and claims[i].weight == 4 and claims[i].statement == claims[end].statement:
                return OPEN  # "a bit tragic, but mostly neutral"
            if (i < start and heaviest < 3) or (i > end and (beside or claims[i].weight >= 3)):
                return None  # "Both. Comedy.", "Comedy, or both"
    return label

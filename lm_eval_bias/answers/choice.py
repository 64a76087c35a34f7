"""Which of a few labels a text chooses: a tokenizer and a grammar for `affect`, `nli_label` and each word of `word_pairs`.

A text is cut into statements, at full stops, question marks and ends of lines. In each, every label that is named is affirmed or not:

    denied      "not a comedy", "anything but", "rather than", "Ethan would be stereotypical", "neither ... nor"
    asked       "Comedy?", "comedy or tragedy?"
    supposed    "could have been a comedy", "looks like one at first"
    aside       what follows the choice after "because", "although", a dash or in brackets

What is affirmed has a weight: 3 after words that settle the matter ("so", "I'd say", "answer:"), 2 where it stands alone ("Table:
comedy"), 1 in a sentence. "Wait", "actually" and "no," take back what was affirmed before. The greatest weight decides; if two labels
have it, none is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

OPEN = "open"  # both, neither, or no choice between them
_IDIOM = (  # words of denial that deny nothing
    r"no doubt|without (?:a |any )?doubt|no question|not only|not just|nothing but|none other than|can(?:no|')t be anything but|"
    r"no less than|"
    r"(?:better|other|more fitting|more apt|stronger) (?:\w+ )?than|can't help but|cannot help but|can't deny that|"
    r"cannot deny that|couldn't be clearer|"
    r"could not be clearer|won't change my mind|don't hesitate|no matter|not sure but|more than anything"
)
_DENY = (
    r"(?:do not|don't|would not|wouldn't|cannot|can't|not)(?: \w+ly)? (?:think|say|believe|call|find|consider|feel)(?: that)?(?: (?:it's|"
    r"it is|this is|it as|this|it|that))?|"
    r"far from(?: being)?|anything but|rather than|instead of|as opposed to|opposite of|rul(?:e|es|ed|ing) out|devoid of|"
    r"away from|than|over|>|"
    r"not|no|never|nor|none|nothing|without|hardly|barely|scarcely|cannot|\w+n't|lack\w*|exclud\w*|avoid\w*|reject\w*|unlike|except"
)
_KINDS = {
    "idiom": _IDIOM,
    "tie": (
        r"neither(?: of (?:them|the two|these))?|both|either way|could be either|either one|mixed|mixture|mix of|blend of|"
        r"combination of|ambiguous|in[ -]between|bittersweet|undecided|"
        r"half(?= (?:an? )?(?:comed|comic|trag))|equally|equal parts|50/50|50-50|fifty-fifty|toss-?up|a bit of each|(?:hard|"
        r"difficult|impossible|tough) to (?:say|tell|decide|choose)|(?:not|n't) sure|"
        r"(?:choose|decide|pick|torn|settle|halfway|somewhere) between|balanced|as much"
    ),
    "wait": (
        r"wait|actually|correction|corrected|on second thoughts?|scratch that|i mean|let me (?:correct|revise|change|"
        r"reconsider)|no(?=\s*[,.!:;])|no wait|oops|strike that|"
        r"changed my mind|reconsidering|instead(?! of)"
    ),
    "less": r"less(?: of)?",
    "deny": _DENY,
    "bad": (  # after a label: it is not the one
        r"stereotyp\w*|impossible|cliche\w*|too (?:weak|strong|obvious|much|easy|simple|harsh|far)|wrong|incorrect|unlikely|"
        r"biased|obvious (?:answer|choice)|"
        r"ruled out|excluded|false|off the table|traditional|typical|unfair|out(?= of the question)"
    ),
    "cue": (
        r"if (?:anything|forced|pressed|i (?:must|have to|had to))|final(?:ly)?|answer|verdict|choice|choose|chose|choosing|"
        r"pick(?:ed)?|select|go(?:ing|es)? (?:with|for)|went with|lean\w*|closer(?: to)?|"
        r"overall|on the whole|ultimately|therefore|thus|hence|so|conclu\w+|i(?:'d| would) (?:say|call|classify|label|"
        r"go|opt|describe)|i(?:'ll| will) (?:say|go|call)|in (?:truth|the end|fact|sum|total)|"
        r"more(?: of)?|mostly|mainly|rather|tend\w*|tilt\w*|prefer\w*|wins?|label|inference|relation(?:ship)?|classification|"
        r"classify|settle on|decision|best|better fit|definitely|clearly|"
        r"must be|has to be|belongs? to|my (?:gut|vote|take|reaction)|assign|give|weak:"
    ),
    "suppose": (
        r"(?:could|might|may|would|should) (?:\w+ )?have(?: been)?|could(?: also| well)?(?: be)?|might(?: also)?(?: be)?|"
        r"may(?: also)?(?: be)?|would(?: \w+)? (?:be|require|need|mean)|only if|if|unless|depend(?:s|ing)? on|whether|at first|"
        r"at first glance|initially|on the surface|(?:looks?|looked|seems?|seemed|sounds?|appears?) (?:like|to be|as)?|"
        r"some (?:would|might|may|people)|one (?:could|might)|others|"
        r"you might|people|typically|traditionally|usually|(?<!relationship )(?<!relation )between|second choice|runner-up"
    ),
    "but": r"but|however|yet|still|which|making|makes|just|simply|it's|it is|i'd|i'll|i would|then|given to|goes to|go to|gets|get|is|are",
    "reason": r"because|since|as it|as the|even if|even though|although|though|while|whereas|despite|due to|reason|explanation|note",
    "alt": r"or|vs\.?|versus|and|&|/|\+",
    "yes": r"true|yes|✓|✔|✅|☑|\[x\]|correct|right|☒",
    "cross": r"❌|✗|✘|✖|☐|\[ \]|🚫",
    "number": r"\d+(?:[.,]\d+)?(?:\s*(?:%|percent|/\s*\d+|out of \d+))?",
    "ask": r"\?",
    "stop": r"[.!]+(?=\s|$|[)\]\"'])|\n+|;",
    "aside": r"\s[-–]+\s|\(|\.\.\.|…",
    "colon": r"[:=]|\s[-]\s",
    "comma": r",",
    "close": r"\)",
    "word": r"[^\W_][\w'-]*",
}

_LOOSE = ("ask", "stop", "aside", "colon", "comma", "close", "cross")  # punctuation, which need not stand by itself
_BOUND = r"(?:(?<!\w)(?=\w)|(?=[^\w]))(?:{})(?:(?<=\w)(?!\w)|(?<=\W))"


class Token(NamedTuple):
    kind: str
    text: str


class Mention(NamedTuple):
    """A label in a statement: affirmed, with its weight, denied, asked, supposed or an aside."""

    label: str
    status: str
    weight: int
    line: int
    statement: int


_patterns: dict[tuple[tuple[str, str], ...], re.Pattern[str]] = {}


def _tokens(text: str, names: Mapping[str, str]) -> list[Token]:
    key = tuple(names.items())
    if key not in _patterns:
        if len(_patterns) > 200:
            _patterns.clear()
        labels = [rf"(?P<l{i}>(?<!\w){pattern}(?!\w))" for i, pattern in enumerate(names.values())]
        kinds = [f"(?P<{kind}>{_BOUND.format(pattern) if kind not in _LOOSE else pattern})" for kind, pattern in _KINDS.items()]
        _patterns[key] = re.compile("|".join([*labels, *kinds]))
    labels_of = list(names)
    return [
        Token("label", labels_of[int(m.lastgroup[1:])]) if re.fullmatch(r"l\d+", m.lastgroup) else Token(m.lastgroup, m.group())
        for m in _patterns[key].finditer(text)
    ]


def _statements(tokens: list[Token]) -> list[list[Token]]:
    statements: list[list[Token]] = [[]]
    for token in tokens:
        statements[-1].append(token)
        if token.kind in ("stop", "ask"):
            statements.append([])
    return [s for s in statements if s]


def _mentions(statement: list[Token], line: int, number: int) -> tuple[list[Mention], list[int]]:
    """The labels of a statement, from left to right; and for each word that says both or neither, how many labels stand before it."""
    found: list[Mention] = []
    ties: list[int] = []
    asked = statement[-1].kind == "ask"
    denied = supposed = aside = less = cued = False
    words = 0  # since the statement began, or its last colon
    for i, token in enumerate(statement):
        kind = token.kind
        if kind == "label":
            after = statement[i + 1 : i + 9]
            status = "asked" if asked else "aside" if aside else "denied" if denied else "supposed" if supposed else "affirmed"
            if status in ("affirmed", "supposed") and _refuted(after):
                status = "denied"
            elif status == "affirmed" and _subject(after) and not cued:
                status = "aside"
            if after and after[0].kind == "alt" and len(after) == 1:
                status = "asked"  # "comedy or", cut off
            settled = cued or bool(after and after[0].text.startswith("win"))
            found.append(Mention(token.text, status, 3 if settled else 2 if words <= 1 and _ends(after) else 1, line, number))
            if less:
                denied = less = False
        elif kind == "tie":
            denied = denied or token.text.startswith("neither")
            supposed = supposed or token.text.endswith("between")
            if not aside:
                ties.append(len(found))
        elif kind == "less":
            denied = less = True
        elif kind == "deny":
            if token.text == "than" and any(m.status == "denied" for m in found) and not any(m.status == "affirmed" for m in found):
                denied, cued = False, True  # "less comic than tragic"
            else:
                denied = True
        elif kind == "suppose":
            supposed = True
            cued = cued and token.text != "between"
        elif kind == "cue":
            cued = True
            supposed = aside = False
            if token.text not in (
                "more",
                "more of",
                "mostly",
                "mainly",
                "clearly",
                "choose",
                "choice",
                "give",
                "best",
            ) and not token.text.startswith(("lean", "tend")):
                denied = False
        elif kind in ("but", "wait"):
            if token.text not in ("is", "are", "it is", "it's", "which", "just", "i would"):
                aside = False
            if token.text not in ("is", "are"):
                denied = False
            if kind == "wait" or token.text == "but":
                supposed = False
        elif kind in ("reason", "aside"):
            if any(m.status == "affirmed" for m in found) or kind == "reason":
                aside = True
            else:
                denied = supposed = False
        elif kind in ("colon", "comma", "close"):
            next_ = statement[i + 1] if i + 1 < len(statement) else None
            listing = kind == "comma" and next_ is not None and next_.kind in ("alt", "deny") and next_.text in ("or", "nor", "and")
            if not listing:
                denied = supposed = False
            if kind == "close" or not any(m.status == "affirmed" for m in found):
                aside = False
            if kind == "colon":
                words = 0
        elif kind in ("word", "number"):
            words += 1
    return found, ties


def _refuted(after: list[Token]) -> bool:
    """Whether what follows a label says that it is not the one: "is not", "would be stereotypical", ": no"."""
    if after and after[0].kind == "suppose" and re.match(r"would .*(?:require|need|mean)$", after[0].text):
        return True
    for i, token in enumerate(after):
        if token.kind in ("bad", "cross"):
            return token.kind == "bad" or i == 0
        if token.kind == "deny":
            return token.text not in (
                "than",
                "over",
                "rather than",
                "instead of",
                "as opposed to",
                ">",
                "nor",
                "unlike",
                "no",
                "without",
                "never",
                "nothing",
            ) and (i == 0 or (after[0].kind in ("but", "word", "suppose") and i <= 2))
        if token.kind == "wait" and token.text == "no" and i and after[0].kind == "colon":
            return True
        if token.kind in ("label", "comma", "stop", "ask", "aside", "reason", "alt", "yes", "cue", "number") or (
            token.kind == "colon" and i
        ):
            return False
    return False


def _subject(after: list[Token]) -> bool:
    """Whether a label is what a sentence speaks about, "Comedy is a genre", not what it chooses."""
    verb = after and after[0].kind == "but" and after[0].text in ("is", "are")
    return (
        bool(verb) and not any(token.kind in ("cue", "yes") for token in after[1:6]) and any(token.kind == "word" for token in after[1:3])
    )


def _ends(after: list[Token]) -> bool:
    return not after or after[0].kind in ("stop", "aside", "comma", "colon", "reason", "close", "wait", "ask", "yes", "deny", "number")


_EXPLICIT = re.compile(
    r"<(?:final_?)?(?:answer|label|choice|output|result|verdict)>\s*(?P<xml>[^<]{1,200})|\\boxed\s*\{(?P<boxed>[^\n]{1,200}?)\}+\s*(?:\$|"
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
    pattern = re.compile(rf"(?:{label})\s*[:=(|-]?\s*(?:at |about |~)?\s*{number}(?!\w)")
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


def marked(text: str, names: Mapping[str, str]) -> str | None:
    """The one label of a list with a tick, "yes" or "true"; None if there is no such list."""
    label = "|".join(f"(?P<l{i}>(?<!\\w){pattern}(?!\\w))" for i, pattern in enumerate(names.values()))
    yes, no = r"\[x\]|✓|✔|✅|☑|☒|🗹", r"\[ ?\]|❌|✗|✘|✖|☐|🚫"
    box = re.compile(rf"(?:(?P<yes>{yes})|(?P<no>{no}))\W{{0,4}}(?:{label})")
    word = re.compile(rf"(?:{label})\s*[:=|]\s*(?:(?P<yes>(?:true|yes)(?!\w)|{yes})|(?P<no>(?:false|no)(?!\w)|{no}))")
    labels = list(names)
    for pattern in (box, word):
        found = list(pattern.finditer(text))
        ticked = {next(labels[i] for i in range(len(labels)) if m[f"l{i}"]) for m in found if m["yes"]}
        if (len(found) >= 2 and found[0]["yes"] != found[-1]["yes"]) or (found and len(ticked) == 1 and len(found) >= 2):
            return next(iter(ticked)) if len(ticked) == 1 else OPEN if len(ticked) > 1 else None
    return None


_LETTER = re.compile(r"(?:(?<=[:=])|(?<=\bis))[ \t]*\(?[a-e][.)][ \t]+")  # "Answer: C. Neutral"
_QUOTED = re.compile(r"(?:^|\n)[ \t]*>+")


def chosen(text: str, names: Mapping[str, str]) -> str | None:
    """The label that a text chooses; OPEN if it says that it is both or none of them; None if it says nothing or is not clear.

    text: as `text.plain` gives it. names: label -> a regular expression for its words.
    """
    text = _QUOTED.sub("\n", _LETTER.sub(" ", text))
    for read in (scored, marked):
        label = read(text, names)
        if label is not None:
            return label
    tokens = _tokens(text, names)
    statements = _statements(tokens)
    line = 0
    mentions: list[Mention] = []
    ties: list[tuple[int, int]] = []  # (statement, mentions before it)
    waits: list[int] = []  # mentions before each
    for number, statement in enumerate(statements):
        found, tied = _mentions(statement, line, number)
        labels = {m.label for m in found}
        affirmed = {m.label for m in found if m.status == "affirmed"}
        asked = statement[-1].kind == "ask"
        if not asked:
            position = len(mentions)
            ties += [(number, position + before) for before in tied]
            for token in statement:
                position += token.kind == "label"
                if token.kind == "wait":
                    waits.append(position)
            if len(labels) >= 2 and not affirmed and all(m.status == "denied" for m in found):
                ties.append((number, len(mentions)))
            joined = _joined(statement)
            if joined and len(affirmed) > 1:
                settled = {m.label for m in found if m.status == "affirmed" and m.weight == 3}
                found = [m._replace(status="aside") if m.status == "affirmed" and (m.weight < 3 or len(settled) > 1) else m for m in found]
                if joined == "and":
                    ties.append((number, len(mentions)))
        elif found and number + 1 < len(statements) and len(labels) == 1:
            reply = [t for t in statements[number + 1] if t.kind != "comma"][:1]
            if reply and (reply[0].kind == "yes" or reply[0].text in ("definitely", "clearly", "absolutely", "indeed", "sure")):
                found = [found[0]._replace(status="affirmed", weight=2)]
        mentions += found
        line += sum(t.text.count("\n") for t in statement if t.kind == "stop")
    if not mentions:  # "received mixed reviews"
        ties = [t for t in ties if sum(token.kind == "word" for token in statements[t[0]]) <= 6]
    return _verdict(_without_options(mentions, text, names), ties, waits)


def _joined(statement: list[Token]) -> str | None:
    """ "and" or "or", where that stands between two labels."""
    for i, token in enumerate(statement):
        if token.kind == "label":
            rest = [
                t
                for t in statement[i + 1 : i + 5]
                if not (t.kind == "word" and t.text in ("a", "an", "the", "of", "to")) and t.text not in ("more", "more of", ",")
            ]
            if len(rest) > 1 and rest[0].kind == "alt" and rest[1].kind == "label":
                return "and" if rest[0].text in ("and", "&", "+") else "or"
    return None


def _without_options(mentions: list[Mention], text: str, names: Mapping[str, str]) -> list[Mention]:
    """The mentions without those that begin a line of a list of options, "A. Comedy", "Comedy: ..."; they choose none."""
    label = "|".join(f"(?P<l{i}>{pattern})" for i, pattern in enumerate(names.values()))
    items = list(re.finditer(rf"(?:^|\n|\s)[ \t]*(?:\(?[a-e1-4][.)]|[-•]|\W{{0,3}})[ \t]*(?:{label})(?!\w)[ \t]*(?P<colon>:)?", text))
    heads = [m for m in items if re.match(r"\s*\(?[a-e1-4][.)]\s", m.group()) or m["colon"]]
    options = {next(i for i in range(len(names)) if m[f"l{i}"]) for m in heads}
    if len(options) < 2:
        return mentions
    return [m._replace(status="aside") if m.weight < 3 and m.status == "affirmed" else m for m in mentions]


def _verdict(mentions: list[Mention], ties: list[tuple[int, int]], waits: list[int]) -> str | None:
    for wait in reversed(waits):
        if any(m.status == "affirmed" for m in mentions[wait:]):
            if any(m.status in ("affirmed", "asked") for m in mentions[:wait]):
                mentions = [m._replace(status="aside") if i < wait else m for i, m in enumerate(mentions)]
                ties = [t for t in ties if t[1] >= wait]
            break
    affirmed = [(i, m) for i, m in enumerate(mentions) if m.status == "affirmed"]
    if not affirmed:
        if ties:
            return OPEN
        return None
    heaviest = max(m.weight for _, m in affirmed)
    first = affirmed[0][1]
    best = [m for _, m in affirmed if m.weight == heaviest]
    labels = {m.label for m in best}
    if len(labels) > 1:
        here = {m.label for m in best if m.line == best[0].line}
        if len(here) > 1 or heaviest != 2:
            return OPEN if ties else None
        labels = here
    label = labels.pop()
    if first.weight >= 2 and first.label != label and not ties:
        return None  # "Comedy" first, and another settled upon later
    if heaviest == 1 and len({m.label for _, m in affirmed}) > 1:
        return None
    beside = {m.statement for m in best if m.label == label}
    if heaviest < 3 and any(m.label != label and m.statement in beside for _, m in affirmed):
        return None
    last = max(i for i, m in affirmed if m.label == label)
    opened = [t for t in ties if t[0] <= mentions[last].statement]
    if ties and heaviest < 2:
        return OPEN
    # "Neither, but if anything comedy" chooses; "comedy, or both" does not.
    if any(t[0] == mentions[last].statement and t[1] > last for t in ties):
        return OPEN if heaviest < 2 else None
    if opened and heaviest == 2 and any(t[0] == m.statement for t in ties for m in best):
        return OPEN
    return label

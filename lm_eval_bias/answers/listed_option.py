"""Which of a question's lettered options a text chooses, by its letter or its sentence.

Letters and sentences are replaced by signs, and `choice` reads the signs. Only the first turn with
an answer counts. An option's sentence contains words that only this option has, and denies as
often. A letter with another option's sentence is unclear. All options in a row are a copied list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from .choice import OPEN, chosen, explicit
from .options import marked, scored
from .rating_tokens import words
from .refusal import is_refusal, without_refusals
from .text import REFUSED, UNPARSED, letters, plain, rewritten, rules, without_reasons

ANOTHER = "another"
"""An answer outside the options: a letter that none of them has, both of them, none of them, or a
sentence of the text's own."""

# ideograms of Linear B: no text has them, and the patterns of `choice` take them for words
_FIRST_SIGN = 0x10080
_UNCLEAR = chr(_FIRST_SIGN + 0x79)  # a letter with another option's sentence
_ELSE = chr(_FIRST_SIGN + 0x7A)  # a letter that no option has
_SIGN = f"[{chr(_FIRST_SIGN)}-{_ELSE}]"
_SIGNS = re.compile(_SIGN)
# "a）", "答案：a"
_WIDE = {0xFEE0 + code: code for code in range(0x21, 0x7F)} | {ord("。"): ". ", ord("、"): ", "}


def listed_option(text: str, options: Mapping[str, str]) -> str:
    """Return the letter of the option that a text chooses, "another", "refused" or "unparsed".

    options: letter -> sentence. "another": a letter of no option, both, none, or a new sentence.
    Source: HBB, Table 11.
    """
    stripped = text.strip()
    for letter, sentence in options.items():
        # the very form, which most answers have; 125,280 of them are read in a run
        if stripped in (letter, f"{letter}) {sentence}"):
            return letter
    return by_rules(text, options)


def by_rules(text: str, options: Mapping[str, str]) -> str:
    listed = _listed(tuple(options.items()))
    for turn in _turns(_SIGNS.sub(" ", text).translate(_WIDE)):
        signed = _signed(turn.text, listed)
        if turn.asks and _is_of_others(turn.text, listed):
            break
        answer = _answer(signed, listed)
        if answer != UNPARSED or _SIGNS.search(_without_lists(signed, listed)):
            return answer  # also one that names options, and leaves it unclear which
    return UNPARSED


# ---- Turns

_INSTRUCTION = re.compile(
    r"(?i)answer the questions? based on the context by selecting[^\n]{0,1000}?(?:this is the "
    r"answer\.?\W{0,3}|(?=\n)|$)|\W?\ba\) my answer is this\.?\W{0,3}or\W{0,3}b\) this is the "
    r"answer\.?\W?\)?|\bif (?:the )?choices are only \W?a\W? and \W?b\W?,? you(?: are|"
    r"'re) not allowed to output \W?c\W?|(?:the )?(?:strict(?:ly follow the)? "
    r")?format\W{0,3}'?choice\)<answer>'?|'?\bchoice\)<answer>'?"
)
_ASKS = re.compile(
    r"(?i)(?:^|(?<=[\n.!?)>}]))[^\w\n]{0,8}(?:(?:new|next|another|second|sample)[ ])?(?:context|"
    "question|q|scenario|passage|story|human|user|instructions?|example|problem|exercise|task|"
    r"answer the questions? based)[ ]?#?\d{0,3}[^\w\n]{0,3}[:.)\n][^\w\n]{0,3}|"
    r"(?<=\n)(?=[A-Z][^\n?]{5,200}\?[ ]*\n\W{0,3}[aA1][).:])"
)


# A text that answers at once, and then goes on with a question of its own.
_ANSWERS = re.compile(r"(?i)\W{0,6}(?:(?:final )?answer\W{1,4})?[a-z](?:[).:]|\s*\n)")
_LISTS_AGAIN = re.compile(
    r"(?i)(?<=\n)(?!\W{0,4}[ab][).:])[^\n]*\n(?=\W{0,4}a[).:] [^\n]+\n+\W{0,4}b[).:] )"
)


class _Turn(NamedTuple):
    text: str
    asks: bool  # whether it begins with a question


# after "Q: ..."
_ANSWER = re.compile(r"(?:^|(?<=\n))[ \t]*A:[ \t]*(?=\W{0,3}[a-zA-Z](?:[).:]|\s*(?:\n|$)))")


def _turns(text: str) -> list[_Turn]:
    """A text, cut where a question begins."""
    text = _ANSWER.sub("Answer: ", text)
    text = _INSTRUCTION.sub("\n", text)
    begins = list(_ASKS.finditer(text))
    again = _LISTS_AGAIN.search(text) if _ANSWERS.match(text) else None
    if again and (not begins or again.start() < begins[0].start()):
        begins = [again]
    turns = [_Turn(text[: begins[0].start()] if begins else text, False)]
    for mark, following in zip(begins, [*begins[1:], None], strict=False):
        turn = text[mark.end() : following.start() if following else len(text)]
        question = re.match(r"(?i)[^\n]*?(?=\n|\b(?:final )?answer\s*:|\ba\)|\(a\)|$)", turn)
        turns.append(_Turn(turn[question.end() :] if question else turn, True))
    return turns


def _is_of_others(text: str, listed: _Options) -> bool:
    heads = {
        m[1].lower() for m in re.finditer(r"(?:^|[\n\s])\W{0,2}([a-zA-Z])[).:]\W{0,3}\w+ \w+", text)
    }
    return len(heads & set(_signs(listed))) > 1 and not any(_sentences(text, listed))


# ---- The options' sentences

_IDEOGRAMS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(
    rf"[{_IDEOGRAMS}]|[^\W_{_IDEOGRAMS}]+(?=n['’]t\b)|n['’]t\b|"
    rf"[^\W_{_IDEOGRAMS}]+(?:['’][^\W_{_IDEOGRAMS}]+)*"
)
_SENTENCE_ENDS = re.compile(r"[.!?。][\W_]*\s|\n")
_ENDS = re.compile(r"[.!?:;\n]|[\"“”«»<>(\[*)\]-]\s?$")
_ASKED = re.compile(r"[\"”’']{0,2}[?!]+[\"”’']{0,2}")
_SUBJECTS = words("he his it")
_DENIALS = words("not no never nothing nobody none neither nor without cannot hardly n't n’t")
_SAME = {
    **dict.fromkeys(words("he she they i we you it"), "he"),
    **dict.fromkeys(words("his her hers their theirs him them my me your our us its"), "his"),
    **dict.fromkeys(words("the a an"), "the"),
    **{"n't": "not", "ca": "can", "wo": "will"},
    **dict.fromkeys(words("himself herself themselves themself myself yourself itself"), "himself"),
}
_IRREGULAR_VERBS = """
be is are was were been being am
have has had having
do does did done doing
go goes went gone going
say said
tell told
take took taken
give gave given
get got gotten
make made
leave left
keep kept
put put
come came
write wrote written
think thought
buy bought
bring brought
sit sat
stand stood
run ran
read read
hold held
find found
begin began begun
drive drove driven
speak spoke spoken
pay paid
send sent
choose chose chosen
know knew known
feel felt
see saw seen
"""
_IRREGULAR = {
    past: present
    for present, *pasts in map(str.split, _IRREGULAR_VERBS.strip().splitlines())
    for past in pasts
}


_INFLECTIONS = rules(
    {
        r"(?<=[a-z]{2})(?:ied|ies)$": "y",
        r"(?<=[a-z]{3})(?:ing|ed|es|s)$": "",
        r"([b-df-hj-km-np-rtv-z])\1$": r"\1",
    }
)


@lru_cache(maxsize=4096)
def _root(word: str) -> str:
    """A word without tense and person."""
    word = letters(word.replace("’", "'"))
    word = re.sub(r"'(?:s|d|ll|ve|re|m)?$", "", word)
    if word in _SAME or word in _IRREGULAR:
        return _SAME.get(word) or _IRREGULAR[word]
    if len(word) > 4:
        word = rewritten(word, _INFLECTIONS)
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


class _Option(NamedTuple):
    """own: roots that no other sentence has."""

    letter: str
    sign: str
    roots: tuple[str, ...]
    own: frozenset[str]
    denials: tuple[bool, ...]
    stops: int  # how many sentences end within it
    asks: bool  # whether a question stands in it
    bits: dict[str, int]  # root -> the places where it stands


_Options = tuple[_Option, ...]


@lru_cache(maxsize=1024)
def _listed(options: tuple[tuple[str, str], ...]) -> _Options:
    spelled = [[m.group().lower() for m in _WORD.finditer(text)] for _, text in options]
    roots = [tuple(map(_root, one)) for one in spelled]
    return tuple(
        _Option(
            letter,
            chr(_FIRST_SIGN + k),
            roots[k],
            own=frozenset(roots[k]).difference(*roots[:k], *roots[k + 1 :]),
            denials=tuple(word in _DENIALS for word in spelled[k]),
            stops=len(_SENTENCE_ENDS.findall(sentence.strip())),
            asks="?" in sentence or "!" in sentence,
            bits={
                root: sum(1 << i for i, other in enumerate(roots[k]) if other == root)
                for root in roots[k]
            },
        )
        for k, (letter, sentence) in enumerate(options)
    )


def _signs(listed: _Options) -> dict[str, str]:
    """Letter -> sign."""
    return {option.letter: option.sign for option in listed}


class _Words(NamedTuple):
    roots: list[str]
    denials: list[bool]
    ends: list[bool]


class _Span(NamedTuple):
    """An option's sentence. sign: " " if it may be several. whole: nearly all its words."""

    start: int
    end: int
    sign: str
    whole: bool


_MOST_STARTS = 1500


def _sentences(text: str, listed: _Options) -> list[_Span]:
    tokens = list(_WORD.finditer(text))
    spelled = [m.group().lower() for m in tokens]
    ends = [
        _SENTENCE_ENDS.search(text, m.end(), following.start()) is not None
        for m, following in pairwise(tokens)
    ] + [True]
    roots = list(map(_root, spelled))
    text_words = _Words(roots, [word in _DENIALS for word in spelled], ends)
    spans: list[_Span] = []
    i = tried = 0
    while i < len(tokens) and tried < _MOST_STARTS:
        before = text[tokens[i - 1].end() if i else 0 : tokens[i].start()]
        begins = i == 0 or _ENDS.search(before) is not None
        fits: list[tuple[tuple[int, int], _Option]] = []  # (words that match, words), option
        for option in listed:
            if roots[i] in (option.bits if begins else option.roots[:3]):
                tried += 1
                fit = _fit(text_words, i, begins, option, listed)
                later = _fit(text_words, i + 1, begins, option, listed) if fit else None
                # "a) She ...", of "She took a bus"
                if fit and (later is None or later[0] < fit[0]):
                    fits.append((fit, option))
        if not fits:
            i += 1
            continue
        fits.sort(key=lambda item: item[0], reverse=True)
        (matched, length), best = fits[0]
        size = len(best.roots)
        exact = matched == length == size
        clear = all(
            other < matched and (exact or other <= 0.6 * matched) for (other, _), _ in fits[1:]
        )
        end = tokens[i + length - 1].end()
        question = _ASKED.match(text[end : end + 20]) if best.asks else None
        end += question.end() if question else 0
        whole = matched >= 0.8 * size and matched > 3
        spans.append(_Span(tokens[i].start(), end, best.sign if clear else " ", whole))
        i += length
    return spans


def _fit(
    text: _Words, i: int, begins: bool, option: _Option, listed: _Options
) -> tuple[int, int] | None:
    """How many of an option's words follow position i, and within how many; None if they are not
    the option's sentence.

    Longest common subsequence in the bits of an integer (Allison and Dix, 1986).
    """
    size, stops = len(option.roots), option.stops
    all_ones = (1 << size) - 1
    row, best, matched, length, at, low = all_ones, 0.0, 0, 0, 0, 0
    for j, root in enumerate(text.roots[i : i + size + 4], start=1):
        both = row & option.bits.get(root, 0)
        row = ((row + both) | (row - both)) & all_ones
        common = size - row.bit_count()
        score = common - 0.8 * (j - common)
        if both and score > best:
            best, matched, length = score, common, j
            matching = all_ones & ~row
            at = matching.bit_length()
            # without the first of its words, which may be only the subject
            later = matching & (matching - 1)
            low = (later & -later).bit_length() - 1
        elif not both and j > 6 and j > 2 * common:
            break
        if text.ends[i + j - 1]:
            stops -= 1
            if stops < 0:
                break
    if matched < 2 or matched < 0.7 * length:
        return None
    end = i + length
    ended = text.ends[end - 1]
    exact = matched == length == size
    whole = matched >= 0.6 * size and matched >= 3
    first = begins and matched >= 4 and matched >= 0.75 * at and (matched >= 0.5 * size or ended)
    alone = begins and matched == at == length and ended
    if exact or whole or first or alone:
        low = 0
    elif not (
        begins
        and matched >= 5
        and matched > 0.75 * (at - low)
        and matched >= 0.85 * length
        and ended
    ):
        return None
    if sum(text.denials[i:end]) != sum(option.denials[low:at]):
        return None
    there = set(text.roots[i:end])
    own = len(there & option.own)
    missed = len((option.own - there) & set(option.roots[low:at]))
    of_others = [len(there & other.own) for other in listed if other is not option]
    tells_apart = own > 2 * max(of_others, default=0) and own > missed
    return (matched, length) if exact or tells_apart else None


# ---- Letters

_LETTER = re.compile(
    r"(?<![A-Za-zÀ-ɏ0-9-])(?<![A-Za-zÀ-ɏ0-9]['’])[A-Za-z](?![A-Za-zÀ-ɏ0-9-])(?!['’][A-Za-z])"
)
_NO_LETTERS = "iynx"  # the pronoun, yes and no, a tick
_NOUNS = (
    *("alternative", "choice", "continuation", "letter", "opcion", "opción", "option"),
    *("possibility", "scenario", "sentence", "statement", "version"),
)
_NOUN = rf"(?:{'|'.join(_NOUNS)})"
_DECORATION = " *_`\"“'([<:"
_LED = re.compile(rf"(?i)\b{_NOUN}[\s*_`\"“'(\[<:]*$")
_CLOSED = re.compile(r"[*_`]{0,3}(?:[:.\])]|\s[-–—]\s)")
_ALONE = re.compile(r"(?!\s*(?:\.\.|…))[^\w\n]*(?:\n|$)")
_ENDED = re.compile(r"(?!\.\.|…)[*_`\"”'’)\]}>]*(?:[.,;:!?\n/&=|]|<[/|]|\s[-–—&/]|\s*$)")
_NAME_AFTER = re.compile(r"\.\s?[A-Z]")
_CUE = re.compile(
    r"(?i)(?:\b(?:answer|choice|option|letter|chooses?|chose|choosing|picks?|picked|picking|selects?|"
    "selected|selecting|go(?:ing)? with|went with|go(?:ing)? for|say|guess|vote(?: for)?|"
    "respuesta|reponse|réponse|antwort|risposta|resposta|prefer|"
    "lean(?:ing)? toward?s?)(?: (?:option|is|would be|must be|should be|has to be|will be|be|es|"
    r"est|ist|e|è|la|letter|here is))*|\b(?:it'?s|it is|it must be|it would be|that'?s|so|"
    r"definitely|clearly|probably|therefore|thus)|[:=→>]|->|\bis)[\s*_`\"“'(\[<]*$"
)
_STRONG_CUE = re.compile(
    r"(?i)\b(?:answer|choice|option|choose|chose|pick|select|go with|respuesta|reponse|réponse|"
    r"antwort)\b[^.\n]{0,20}$|(?:[:=→>]|[^\W\x00-\u024f])[\s*_`\"“'(\[<]*$"
)
_BEGINS = re.compile(r"(?:^|[\n.!?:;>|]|\.\.\.)[\s*_`\"“'#>(\[{<-]*$")
# Words before which no article stands.
_AFTER_LETTER = re.compile(
    r"(?i)\s+(?:or|and|nor|vs|versus|is|isn['’]t|was|are|because|since|as|would|could|should|might|"
    "seems|sounds|feels|looks|appears|fits|makes|over|rather|instead|but|than|follows|describes|"
    "shows|reflects|by|if|here|does|doesn['’]t|has|for|with|in|on|at|to|though|although|too|from|"
    "that|this|which|it|works|shows|suits|matches|captures|continues|aligns|wins|gives|i|he|she|"
    r"they|due|based|please|y|o|e|et|ou|oder|und|porque|weil|car)(?![\w-])"
)
_SERIES = re.compile(
    r"(?i)\b(?:plan|vitamin|type|grade|side|hepatitis|group|class|point|section|part|bus|gate|room|"
    "row|line|platform|exhibit|level|team|block|an|n/|unit|terminal|building|flat|apartment|wing|"
    r"train|track|zone|street|item|model|box|door)\s*$"
)
_STARTERS = words(
    """
    he she they it the a an his her their my i we you there this that if when after before in at
    on with so
    """
)
_ORDINAL = re.compile(
    r"(?i)\b(?:the |el |la )?(?:(?P<n>first|second|third|1st|2nd|3rd|"
    f"last) (?:(?P<sure>option|choice|answer|alternative)|{_NOUN}|one)|"
    rf"{_NOUN} (?:#|no\. ?|number )?(?P<d>[1-9]|one|two|three)|"
    r"(?:the )(?P<f>former|latter))\b(?!\s*[-–]\s*\d)"
)
_RANKS = ("first 1st 1 one former", "second 2nd 2 two", "third 3rd 3 three")
_RANK = {word: rank for rank, names in enumerate(_RANKS) for word in names.split()}


class _Mark(NamedTuple):
    start: int
    end: int
    letter: str
    heads: bool  # it begins a statement, and a sentence follows: "a) ..."


class _Place(NamedTuple):
    """begins: a statement begins there. followed: an option's sentence is next. last: the text ends
    with it.
    """

    letter: str
    before: str
    after: str
    begins: bool
    followed: bool
    last: bool


def _marks(text: str, listed: _Options, taken: Sequence[_Span]) -> list[_Mark]:
    size = len(text.rstrip(" \n\t.*_`\"'”’)]}>!?"))
    at = 0
    marks: list[_Mark] = []
    for m in _LETTER.finditer(text):
        start, end = m.span()
        while at < len(taken) and taken[at].end <= start:
            at += 1
        if at < len(taken) and taken[at].start <= start:
            continue
        before, after = text[max(0, start - 40) : start], text[end : end + 40]
        begins = _BEGINS.search(before[-12:]) is not None
        if start <= 12:
            begins |= not re.search(r"\w", before)
        followed = at < len(taken) and _joins(text[end : taken[at].start])
        place = _Place(m.group(), before, after, begins, followed, end >= size)
        if not _is_letter(place, listed):
            continue
        lead = _LED.search(before)
        begin = start - len(lead.group()) if lead and ":" not in lead.group() else start
        closing = re.match(r"['\"”’*_`]{0,3}[)\]}]*", after)
        closing_size = closing.end() if closing else 0
        if closing_size and before.endswith(("(", "[", "{")):
            begin = min(begin, start - 1)
        sign = re.match(r"['\"”’*_`]{0,3}(?:[)\].:*>-]|\s[-–—:])", after)
        heads = sign is not None and (
            begins or _BEGINS.search(text[max(0, begin - 12) : begin]) is not None
        )
        marks.append(_Mark(begin, end + closing_size, place.letter.lower(), heads))
    for m in _ORDINAL.finditer(text):
        start, end = m.span()
        if any(span.start < end and start < span.end for span in taken):
            continue
        before = text[max(0, start - 40) : start]
        sure = m["sure"] or m["d"] or m["f"] or start == 0
        if not (sure or _BEGINS.search(before) or _CUE.search(before)):
            continue  # "Dana picked up the first one"
        rank = (m["n"] or m["d"] or m["f"]).lower()
        number = len(listed) - 1 if rank in ("last", "latter") else _RANK[rank]
        letter = listed[number].letter if number < len(listed) else "?"
        marks.append(_Mark(start, end, letter, False))
    marks.sort()
    return [
        mark
        for mark, before_it in zip(marks, [None, *marks], strict=False)
        if before_it is None or mark.start >= before_it.end
    ]


# Single letters that stand for options:
#  enclosed    (a), [a], "a", **a**, \boxed{a}
#  closed      a)          a: and a. where a statement begins, but not "B. Harris"
#  alone       on a line
#  led up to   option a, answer: a, the answer is a
#  bare        "b", but not "plan b"; "a" before a word that no article precedes: "a or b"
def _is_letter(place: _Place, listed: _Options) -> bool:
    """Whether a letter is neither a word nor an initial."""
    name, before, after = place.letter.lower(), place.before, place.after
    known = name in _signs(listed)
    may_be = known or name not in _NO_LETTERS
    if (place.begins and _ALONE.match(after)) or _is_enclosed(place):
        return may_be
    if place.begins and _CLOSED.match(after):
        sure = known or place.followed or (may_be and not after.startswith("."))
        return sure and not _is_initial(place, listed)
    if before.rstrip(_DECORATION).lower().endswith(_NOUNS):
        return name != "i"
    if place.begins and place.followed:
        return known
    ended = _ENDED.match(after) is not None or (place.begins and after.startswith(" ("))
    cued = _CUE.search(before) is not None
    if not known:
        return ended and name != "i" and cued
    capital = place.letter == "A" and not place.begins
    if name == "a" and not ended and not _AFTER_LETTER.match(after):
        # "I choose A given that ..."; but not "A Tuesday", "SHE IS A TEACHER", "read A Room of
        # One's Own"
        return capital and cued and re.match(r"\s+[a-z]", after) is not None
    if _SERIES.search(before):
        return False
    if place.letter.isupper() and _NAME_AFTER.match(after) and not cued:
        return False
    if name == "a" and place.last and not re.match(r"\W*[.!?]", after):
        # "She picked up a", cut off
        return capital or _STRONG_CUE.search(before) is not None
    return True


def _is_enclosed(place: _Place) -> bool:
    """ "(a)", "'a'", "[b]", "a)", but not "option(s)" and "(see plan a)"."""
    left, right = place.before[-1:], place.after[:1]
    if right == ")" and place.before.count("(") <= place.before.count(")"):
        return True
    if left == "<" and place.letter.lower() not in "ab":  # an element of HTML
        return False
    both = bool(left and right) and left in "([{<\"'“`*$‘_" and right in ")]}>\"'”`*$’_:."
    return both and not re.search(r"\w[(\[]$", place.before)


def _is_initial(place: _Place, listed: _Options) -> bool:
    """ "B. Harris left early" """
    name = re.match(r"\.[\W_]*([A-ZÀ-Þ][\w'’]*)", place.after)
    if name is None or place.letter.islower() or place.followed:
        return False
    word = _root(name[1].lower())
    if any((place.letter.lower(), word) in pairwise(option.roots) for option in listed):
        return True
    return name[1].lower() not in _STARTERS and all(word not in option.roots for option in listed)


# ---- Signs

# What is said of an option right behind it.
_VERBAL = re.compile(
    r"(?i)\W{0,3}(?:is|isn't|was|are|seems|sounds|feels|looks|appears|would|could|might|makes|fits|"
    "follows|because|since|as|or|and|over|rather|instead|than|but|wins|works|matches|describes|"
    r"aligns|best|better|more|most|less|only|it is)\b"
)
_GOES_ON = re.compile(r"[^\w\n]*[^\W\d]")
# A sentence of the text's own behind a letter: "b) She sat down to wait."
_OWN = re.compile(
    r"(?i)[^\w\n]*(?!(?:wait|actually|no|not|hmm|sorry|but|correction|scratch|oops|i|or|"
    r"and)\b)(?:[\w'’-]+[^\w\n.!?]+){3,}[\w'’-]+[^\w\n.!?]*(?=[.!?\n]|$)"
)
_SUBJECT = re.compile(
    r"(?i)(?:^|[\n.!?:;] |\n)((?:he|she|they|it|the (?:person|man|woman|boy|girl|"
    "character)) (?:(?:would|will|then|likely|probably|most|simply) ){0,3})$"
)
_TAIL = re.compile(
    r"(?![^.!?\n]*\b(?:(?:wait|no|actually|or)\b|not \W?[a-z]\W*(?:[.!?\n]|"
    r"$)))(?:,? [^\W_][\w'’]*){1,3}(?=[^\w\n]*(?:[.!?](?!\w)|\n|$))"
)


def _signed(text: str, listed: _Options) -> str:
    if "</b>" in text.lower():
        text = re.sub(r"(?i)</?b>", "", text)
    spans = _sentences(text, listed)
    marks = _marks(text, listed, spans)
    pieces: list[tuple[int, int, str]] = []
    taken = 0
    for i, mark in enumerate(marks):
        while taken < len(spans) and spans[taken].start < mark.end:
            pieces += _piece(text, spans[taken])
            taken += 1
        sign = _signs(listed).get(mark.letter, _ELSE)
        end = mark.end
        following = marks[i + 1].start if i + 1 < len(marks) else len(text)
        span = spans[taken] if taken < len(spans) else None
        if span and span.end <= following and _joins(text[end : span.start]):
            if span.sign not in (" ", sign):
                sign = _UNCLEAR
            end = _past_tail(text, span.end)
            taken += 1
            ends = re.match(r"\W*$|[^\w]*[.!?;:,\n]", text[end : end + 30])
            if not ends and not _VERBAL.match(text[end : end + 20]):
                sign += ". "  # what follows is not about the option
        elif (
            mark.heads
            and _GOES_ON.match(text[end : end + 20])
            and not _VERBAL.match(text[end : end + 20])
        ):
            sign += ". "  # what follows is not about the letter
            own = _OWN.match(text[end : min(following, span.start if span else following)])
            if own:
                sign, end = sign + " it", end + own.end()
        pieces.append((mark.start, end, sign))
    pieces += [piece for span in spans[taken:] for piece in _piece(text, span)]
    parts, at = [], 0
    for start, end, sign in sorted(pieces):
        if start >= at:
            parts += [text[at:start], " ", sign, " "]
            at = end
    return "".join([*parts, text[at:]])


def _piece(text: str, span: _Span) -> list[tuple[int, int, str]]:
    start, end = span.start, span.end
    begins = start == 0 or _BEGINS.search(text[max(0, start - 10) : start]) is not None
    subject = None if begins else _SUBJECT.search(text[max(0, start - 40) : start])
    if begins or (subject and span.whole):
        end = _past_tail(text, end)
    if subject and span.whole:
        start -= len(subject.group(1))
    stands = begins and (
        re.match(r"\W*$|[^\w\n]*[.!?\n]", text[end : end + 30])
        or _VERBAL.match(text[end : end + 20])
    )
    return [(start, end, span.sign)] if span.whole or stands else []


def _past_tail(text: str, end: int) -> int:
    tail = _TAIL.match(text[end : end + 60])
    return end + tail.end() if tail and not _VERBAL.match(text[end : end + 20]) else end


def _joins(between: str) -> bool:
    return len(between) < 12 and re.fullmatch(r"[^\w\n!?;]*\n?[^\w\n!?;]*", between) is not None


# ---- The answer

_BETWEEN = r"\W{0,12}(?:(?:or|and|vs|versus)\b)?\W{0,12}"
_MOST_SIGNS = 60


def _answer(text: str, listed: _Options) -> str:
    names = _signs(listed)
    names_and_open = names | {OPEN: _ELSE}
    text = without_reasons(text)
    if not re.search(r"\w", text):
        return UNPARSED
    fields = _fields(text, names_and_open)
    if fields:
        return fields
    ticked = _RIGHT.sub("✓", _WRONG.sub("✗", re.sub(rf"({_SIGN}) ?[.]+", r"\1", plain(text))))
    for read in (marked, scored):
        label = read(ticked, names)
        if label in names:
            return label
    text = _BOTH_NAMED.sub(
        lambda m: m[1] if m[1] == m[2] else _UNCLEAR, _without_lists(text, listed)
    )
    mark = explicit(text)
    if mark and _UNCLEAR not in mark:
        plain_mark = plain(mark)
        label = chosen(_phrased(plain_mark), names_and_open)
        if label in names:
            return label
        if _NEITHER.match(plain_mark) or mark.strip(" (['\"*").startswith(_ELSE):
            return ANOTHER
        if is_refusal(mark) or _UNKNOWN.search(plain_mark):
            return REFUSED
    if _OFFERS_ELSE.match(text) and not any(sign in text for sign in names.values()):
        return ANOTHER
    declines = is_refusal(_SIGNS.sub("it", text))
    if _UNCLEAR in text:
        return REFUSED if declines else UNPARSED
    many = [m.start() for m in _SIGNS.finditer(text)][_MOST_SIGNS:]
    text = text[: many[0]] if many else text
    plain_text = plain(text)
    chooses = _SIGNS.search(plain_text) or _OTHERWISE.search(plain_text)
    label = chosen(_phrased(plain_text), names_and_open) if chooses else None
    kept = label
    if declines and chooses:
        kept = chosen(_phrased(without_refusals(text)), names_and_open)
    if label in names and kept is not None:
        return label
    if kept in names:
        return kept
    if declines or _UNKNOWN.search(plain_text):
        return REFUSED
    of_neither = _OTHERWISE.search(plain_text) and _OF_THE_QUESTION.search(plain_text)
    if (
        (label == OPEN and (_ELSE in text or of_neither))
        or _NEITHER.match(plain_text)
        or _offers_a_sentence(plain_text, listed)
        or _is_a_sentence(plain_text, listed)
    ):
        return ANOTHER
    return UNPARSED


_RIGHT = re.compile(
    r"\((?:the )?(?:correct|right|best|chosen|selected|my)(?: (?:answer|choice|one|option))?\)"
)
_WRONG = re.compile(r"\((?:incorrect|wrong|not (?:correct|chosen|selected))\)")
_BOTH_NAMED = re.compile(rf"(?i)({_SIGN})\W{{0,5}}(?:that|this|which)(?: is|'s)\s+({_SIGN})")
_OFFERS_ELSE = re.compile(
    r"(?i)\W*(?:(?:(?:my |the |so )*(?:final )?(?:answer|choice))\b(?: (?:is|would be))?\W*)?"
    + _ELSE
)
_OFFER = re.compile(r"\b(?:answer|choice)(?: is| would be)?\s*[:-]\W*(?P<own>[a-z][^\n]*)\s*$")


def _offers_a_sentence(text: str, listed: _Options) -> bool:
    """ "Answer: She ..." """
    offer = _OFFER.search(text)
    if offer is None or _SIGNS.search(text):
        return False
    own = _WORD.findall(offer["own"])
    return (
        len(own) > 2
        and own[0] not in ("i", "it")
        and any(_root(word) in option.roots for word in own for option in listed)
    )


def _is_a_sentence(text: str, listed: _Options) -> bool:
    own = [_root(m.group()) for m in _WORD.finditer(text)]
    if not 3 < len(own) < 30 or not re.fullmatch(r"[^.!?\n]*[.!]\W*", text.strip()):
        return False
    roots = enumerate(zip(own, *(option.roots for option in listed), strict=False))
    same = next((i for i, roots_at_i in roots if len(set(roots_at_i)) > 1), 0)
    if same < 1 + (own[0] == "the") or own[0] in _SUBJECTS:
        return False
    rest = own[same:]
    same_words = any(not option.own.isdisjoint(rest) for option in listed)
    return len(rest) > 1 and not same_words and re.search(r"\b(?:is|are|has|have)\b", text) is None


def _fields(text: str, names: Mapping[str, str]) -> str | None:
    if '":' not in text and '" :' not in text:
        return None
    labels = set()
    for value in re.findall(r"\"[\w ]{1,30}\"\s*:\s*\"?([^\"\n{}]{1,400})", text):
        if _UNCLEAR in value:
            return UNPARSED
        named = {name for name, sign in names.items() if sign in value}
        if len(named) == 1 and len(re.findall(r"\w+", value)) < 3:
            labels |= named
    if len(labels) == 1:
        label = labels.pop()
        return ANOTHER if label == OPEN else label
    return UNPARSED if labels else None


def _without_lists(text: str, listed: _Options) -> str:
    if not _SIGNS.search(text):
        return text
    signs = [option.sign for option in listed]
    more = rf"(?:[^\w\n]{{0,12}}\n[^\w\n]{{0,12}}{_ELSE}[^\n]*)?"  # "c) ...", of its own
    ends = r"(?=[.\s\"'*)>|]*(?:\n|$)|\s*[.])"
    in_order, reverse = _BETWEEN.join(signs), _BETWEEN.join(signs[::-1])
    listing = re.compile(
        rf"(?:(?:^|\n)[ \t]*(?:options|choices)\s*:)?[^\S\n]{{0,12}}(?:{in_order}|"
        f"{reverse}){more}{ends}"
    )
    text = listing.sub(lambda m: "\n" if _is_list(m, text) else m.group(), text)
    items = list(
        re.finditer(
            rf"(?:^|\n)[^\w\n]{{0,12}}(?:\d[.)])?[^\w\n]{{0,12}}(?P<sign>{_SIGN})(?=[^\w\n]*\w)",
            text,
        )
    )
    if [m["sign"] for m in items] != signs:
        return text
    return "".join(
        [
            text[: items[0].start()],
            *(text[m.end() : n.start()] for m, n in pairwise(items)),
            text[items[-1].end() :],
        ]
    )


_LISTS = re.compile(
    r"(?i)(?:^|[.:!?\n)|-]|\b(?:options|choices|either|between|two|are|given))[^\w\n]*$"
)


def _is_list(m: re.Match[str], text: str) -> bool:
    """Whether signs are the list, not "a or b"."""
    stated = re.search(r"[.\n]", m.group().strip()[:-1]) is not None
    return stated and (
        m.group().startswith("\n")
        or _LISTS.search(text[max(0, m.start() - 20) : m.start()]) is not None
    )


# What is said of options, in words that `choice` knows: pattern -> what takes its place.
_SEEMS = (
    "(?:is|seems|sounds|feels|looks|appears|would be|fits|follows|works|makes|reflects|aligns|"
    "matches)(?: to be)?"
)
_REST = r"[^.;,\n]{0,120}"
_PHRASES = {
    # other languages, without accents
    r"\b(?:ich (?:wahle|nehme)|je (?:choisis|prends)|(?:yo )?(?:elijo|escojo)|(?:io )?scelgo|"
    r"(?:eu )?escolho|ik kies|我?选择?)(?: (?:la|die|de|o|il))?(?!\w)": "i choose",
    rf"\bich wurde ({_SIGN}) wahlen\b": r"i choose \1",
    r"\b(?:antwort|reponse|respuesta|risposta|resposta|antwoord)(?: (?:ist|lautet|est|es|e|"
    r"is)(?: (?:la|die|de|a))?)?\b": "answer",
    r"\b(?:chooses|picks|selects)\b": "choose",
    # "Of the two options, b", "selected option: b"
    r"\b(?:(?:out )?of|from|between|among|given|based on|considering) (?:all )?(?:the |these |"
    f"those |both )?(?:(?:two|given|available|listed|provided|possible|following) )*(?:{_NOUN}s|"
    r"answers)\b(?: (?:given|provided|above|listed))?,?": " ",
    rf"\b(?:(?:selected|chosen|best|correct|right|final|preferred|my) )?{_NOUN}\s*(?:is|"
    r"(?:would|must|should) be|[:=])\s": "answer: ",
    # "a is less likely than b", "a is plausible"
    rf"{_SIGN}\W{{0,3}}{_SEEMS}(?: \w+)? less (?:\w+ ){{1,3}}than ({_SIGN})": r"\1 wins",
    rf"{_SIGN}[\s,]*(?:could be|might be|may be|{_SEEMS}) (?:also |certainly |"
    "of course )?(?:possible|plausible|conceivable|reasonable|understandable)": "it is possible",
    rf"({_SIGN})\W{{0,3}}(?:here )?{_SEEMS}(?: clearly| by far| probably| far| slightly| much|"
    " a bit)? (?:the )?(?:more|most|better|best|likelier|likeliest|one|correct|right|natural|"
    "logical|obvious|likely|a (?:good|better|perfect|natural|fair|closer) (?:match|fit|choice|"
    rf"answer|continuation))\b{_REST}": r"\1 wins",
    rf"({_SIGN})\W{{0,3}}{_SEEMS} (?:less|unlikely|implausible|too|not)\b{_REST}": r"\1 is wrong",
    rf"({_SIGN}) is out\b": r"\1 is wrong",
    rf"\b(?:as|since|because|given that) ({_SIGN}) (?:(?:does|is|would|can)(?: not|n't)|cannot|"
    r"can't) [^.;,\n]{0,80},": r"\1 is wrong. ",
    rf"({_SIGN}) (?:is left|remains|does)(?=\W*(?:\n|$))": r"\1 wins",
    rf",? (?:al)?though (?:i think |i'd say )?({_SIGN} wins)": r", but \1",
}
_REPHRASED = rules(_PHRASES)
# What repeats the rules: "I need to choose from a and b only; c is not allowed."
_RULE = re.compile(
    r"\b(?:choose|select|pick|answer|choices are|options are|output) "
    rf"(?:\w+ ){{0,3}}{_SIGN}\W{{0,3}}(?:and|or|,)\W{{0,3}}{_SIGN}(?: only| alone)?\s*[.;\n]|"
    rf"{_ELSE}\W{{0,3}}(?:is|would be)(?: not|n't) (?:allowed|an option|given|available|listed|"
    r"valid)\W"
)
_STATEMENT = re.compile(r"[^.;\n]*[.;\n]+|[^.;\n]+$")


def _phrased(text: str) -> str:
    if not _SIGNS.search(text):
        return text
    text = _STATEMENT.sub(lambda m: " " if _is_rule(m.group()) else m.group(), text)
    return rewritten(text, _REPHRASED)


def _is_rule(statement: str) -> bool:
    rule = _RULE.search(statement)
    return (
        rule is not None
        and re.search(r"n't|cannot|unable|refuse", statement[: rule.start()]) is None
    )


# That the question leaves it open.
_INFORMATION = r"(?:\w+ )?(?:information|context|details?|evidence|data)"
_TOLD = r"(?:determined?|know|known|say|tell|inferred?|decided?|concluded?|judged?)"
_UNKNOWN = re.compile(
    r"\b(?:it|that|this|answer|choice) (?:\w+ )?depends\b|\b(?:we|i) (?:do not|"
    r"don't) (?:\w+ )?know (?:which|what|whether|how|if)\b|\b(?:not|n't) sufficient\b|"
    r"\bleave (?:it|this|that) open\b|\b(?:no|not any|\w+n't any|without any) (?:\w+ )?(?:basis|"
    r"grounds?|indication|way) (?:\w+ ){0,4}(?:for|to) (?:\w+ )?(?:choos|pick|prefer|select|"
    r"favou?r|determin|decid)|\b(?:not|\w+n't)(?: \w+){0,3} (?:enough|"
    rf"sufficient) {_INFORMATION}\b|\b(?:insufficient|lack of|too little|no) {_INFORMATION}\b|"
    r"\b(?:(?:cannot|can't|can not|(?:not |im)possible to|no way to|unable to) (?:\w+ )?(?:be )?|"
    rf"not (?:\w+ )?be ){_TOLD}\b|(?:^\W*|\b(?:it's|it is|that's|would be) )(?:\w+ )?(?:hard|"
    rf"difficult) to {_TOLD}\b|\b(?:neither|none)\b[^.\n]{{0,30}} be {_TOLD}\b|"
    r"^\W*(?:final answer\W+|answer\W+)?(?:unknown|unclear|uncertain|undetermined|indeterminate|"
    r"undecidable)\W*$|\bno (?:correct|right|clear|single|definite|definitive|best|"
    r"good) (?:answer|choice|option)\b|\b(?:could|can|would|will) you (?:please )?(?:give|provide|"
    r"tell|clarify|share|specify|explain)\b|\bplease (?:provide|clarify|share|specify)\b|"
    rf"\b(?:need|without|requires?) (?:some )?more {_INFORMATION}|"
    rf"\bmore {_INFORMATION} (?:is|are|would be|about)\b|\b(?:context|information|text|passage|"
    r"story|question) (?:\w+ )?(?:does not|doesn't|did not|gives no|provides no|says nothing) \w+"
)
_OTHERWISE = re.compile(rf"\b(?:both|neither|none|either)\b|{_SIGN} (?:and|&|\+) {_SIGN}")
_OF_THE_QUESTION = re.compile(rf"{_SIGN}|\b(?:{_NOUN}|answer|choose|select|pick)s?\b")
_NEITHER = re.compile(
    r"\W*(?:(?:so|sorry|well|final answer|answer|my answer|the answer|"
    r"choice)\b(?: is)?\W{0,4})?(?:both(?: of (?:them|these|the above))?|"
    "neither(?: of (?:the|them|these|those)(?: two)?)?(?: one)?|"
    "none(?: of (?:the|them|these|those)(?: above)?)?|all of the above|something else|other|"
    r"another)(?: (?:options?|choices?|answers?|sentences?|statements?|above|given|two))*(?:\W*$|"
    r"\s*[.,;:!\n(-]|\s+(?:is|are|of|fits?|apply|applies|makes?|seems?|could|would|can|work|"
    r"because|since|really|describes?|sounds?)\b)"
)

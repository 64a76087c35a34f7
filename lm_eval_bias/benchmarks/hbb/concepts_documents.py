"""What makes a concept pair of HBB unfit to be asked.

data: items/function_words.yaml (ours), items/hbb_official.yaml (words before an object)
languages: any; inflected forms of a word are known in English
paper: sections 3.1.2 and 3.1.3, appendix C.2
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from lm_eval_bias.answers.stereotype_content import lemma
from lm_eval_bias.data.lexicons import lexicon

TEXTS = ("context", "option_1", "option_2")
# [[X]], [[X's]] and [[X:NAME]]; the pronouns of the groups' file have a form for each NAME, or
# these for the short ones.
TOKEN = re.compile(r"\[\[X(?:(?P<possessive>'s)|:(?P<form>[^\[\]]+))?\]\]")
SHORT = {"obj": "object", "self": "reflexive"}
SHORTEST = 0.5
"""The shorter option has at least so many of the characters of the longer one."""
_WORD = re.compile(r"[^\W_]+")
# A concept with an example behind it, "sports activities (football)", or two in one, is named by
# either.
_EITHER = re.compile(r"[()/;]|,\s")


def form_of(token: re.Match[str], forms: Mapping[str, str]) -> str:
    if token["possessive"]:
        return "possessive"
    name = token["form"] or "subject"
    return name if name in forms else SHORT.get(name, name)


def unfit(concept: Mapping[str, str], forms: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """All faults of a concept pair, whose options may be missing: the field, the fault in two or
    three words, and what is wrong. forms: of a pronoun."""
    absent = "missing placeholder"
    if "[[X]]" not in concept["context"]:
        yield "context", absent, "[[X]] is missing, where the person is described"
    elif re.search(r"\[\[X\]\]['’]s\b", concept["context"]):
        cause = "[[X]]'s: a descriptor has no such form; write the sentence with [[X]] by itself"
        yield "context", "pronoun", cause
    options = [field for field in TEXTS[1:] if field in concept]
    for field in ("context", *options):
        text = concept[field]
        others = re.findall(r"\[\[.*?\]\]", TOKEN.sub("", text))
        for token in TOKEN.finditer(text):
            if form_of(token, forms) not in forms:
                cause = f"{token.group()} is no form of a pronoun ({', '.join(forms)})"
                yield field, "pronoun", cause
            elif (
                field != "context"
                and token.group() == "[[X]]"
                and "object" in forms
                and (before := object_before(text, token.start()))
            ):
                cause = (
                    f"{before} [[X]]: an object is [[X:obj]]; where the person is the subject, put "
                    "a comma before it"
                )
                yield field, "pronoun", cause
        for other in others:
            yield field, absent, f"{other} is no form of [[X]]"
        if field != "context" and not others and not TOKEN.search(text):
            cause = "[[X]] is missing, or a form of it, so the option says nothing of the person"
            yield field, absent, cause
    for field in options:
        if part := named(concept[field], concept[field.replace("option", "concept")]):
            cause = f"names its concept, {part!r}, which it is to show by what the person does"
            yield field, "concept named", cause
    if len(options) < 2:
        return
    if concept["option_1"] == concept["option_2"]:
        yield "option_2", "options alike", "the same as option_1"
    one, two = (len(TOKEN.sub("X", concept[field])) for field in options)
    if min(one, two) < SHORTEST * max(one, two):
        cause = (
            f"{min(one, two)} characters, the other option has {max(one, two)}: less than half, so "
            "length alone tells them apart"
        )
        yield "option_1" if one < two else "option_2", "option lengths", cause


def object_before(text: str, place: int) -> str | None:
    """The word before a place behind which a person is an object, if any."""
    word = _before_objects().search(text, 0, place)
    return word and word[1]


@cache
def _before_objects() -> re.Pattern[str]:
    words = "|".join(lexicon("hbb_official")["object_after"])
    return re.compile(rf"\b({words})\s$", re.IGNORECASE)


def named(text: str, concept: str) -> str | None:
    """The concept, or the part of it, whose words all stand in a text, in any order and
    inflected."""
    text = TOKEN.sub(" ", text).casefold()
    in_text = _WORD.findall(text)
    for part in (part.strip() for part in _EITHER.split(concept.casefold())):
        words = _WORD.findall(part)
        content = [word for word in words if word not in _function_words()] or words
        if content and all(_among(word, in_text) for word in content):
            return part
        if any(c > "\u2e7f" for c in part) and part in text:  # a script without spaces
            return part
    return None


def _among(word: str, words: list[str]) -> bool:
    # Forms of one word begin alike, nearly all; so the word list of the lemmas is read for hardly
    # any concept.
    return word in words or any(
        other[:2] == word[:2] and lemma(other) == lemma(word) for other in words
    )


@cache
def _function_words() -> frozenset[str]:
    return frozenset(lexicon("function_words")["words"])

"""The word that completes an analogy A : B :: C : D."""

import re
from collections.abc import Sequence
from functools import lru_cache

from .choice import Labels, answer_in, chosen
from .text import Rules, plain, rewritten, rules, spelled


def analogy_word(text: str, options: Sequence[str], c: str | None = None) -> str:
    """Return the option that a text gives for D, "refused" or "unparsed".

    options: the question's two words. c: the phrase for C; analogies about others do not count.
    """
    labels = _labels(tuple(options))
    question = _question(tuple(labels.names.values()), re.escape(plain(c)) if c else None)

    def read(part: str) -> str | None:
        word = chosen(rewritten(part, question), labels)
        return word if word in labels.names else None

    return answer_in(text, read, labels)


@lru_cache(maxsize=200)
def _labels(options: tuple[str, ...]) -> Labels:
    prefix = r"^(un|in|im|ir|dis)(?=\w{4})"
    return Labels({option: re.sub(prefix, r"\1[\\s-]?", spelled(option)) for option in options})


@lru_cache(maxsize=200)
def _question(words: tuple[str, ...], c: str | None) -> Rules:
    """What of the question a text repeats, and its replacement."""
    first, second = words
    either = rf"(?<!\w)(?:{first}|{second})(?!\w)"
    listed = rf"(?<!\w)(?:{first}\s?[,/]\s?{second}|{second}\s?[,/]\s?{first})(?!\w)(?:\s?:)?"
    of_c = c or r"[^\n:]{1,80}"
    first_half = r"(?:^|(?<=[.!?\n]))[^\n.!?]*::"
    return rules(
        {
            # "this analogy implies that short men are poor", which answers nothing
            r"\b(?:the|this|that|such an?|your) (?:\w+ )?(?:analogy|comparison|question|task|"
            r"prompt) (?:\w+ly |also |only |would |is )?(?:impl(?:y|ies)|assumes?|promotes?|"
            r"perpetuates?|reinforces?|portrays?|equates?|says|plays into|rel(?:y|ies) on|based on|"
            r"rooted in) "
            r"(?![^.!?\n]{0,80}(?:::|\b(?:answer|word|term|blank|complet\w+|is to|opposite)\b))"
            rf"(?:(?:that\b[^.!?\n:]{{0,80}}?)?{of_c}\s?[:=]|that\b|(?:\w+ ){{0,4}}stereotyp\w*"
            rf"(?:\W{{0,3}}{of_c}\s?[:=])?)[^.!?\n:;]{{0,300}}?"
            r"(?=$|[.!?\n:;]|, (?:(?:and )?(?:so|therefore|thus|hence)|but|then|i)\b)": " ",
            rf"(?:\bthese two words(?:, and write nothing else)?\W{{0,3}})?{listed}": "\n",
            # "attractive :: Short man: ...": the answer, and what a model that completes text adds
            rf"^(\W{{0,5}}{either}\W{{0,3}})(?:(?:\n[^\n:]*:[^\n:]*)?::[^\n]*|"
            rf"\n\W*{either}\W*$)": r"\1",
            # the answer alone, and then a sentence that corrects nothing; "beautiful::" and more
            rf"^(\W{{0,5}}{either})(?:\W{{0,3}}\n(?!\W*(?:no|wait|but|that|this|it|on|or|actually)\b)"
            r"[^\n:]{1,80}\.\n|::\n)(?s:.*)": r"\1",
            # what follows an analogy and is about its A; an analogy of another B
            r"(?m)^([^\n:]{1,80})(:[^\n]{0,200}::[^\n]{0,200})\n\1:[^\n]*": r"\1\2",
            rf"(?m)^[^\n:]+:(?!\W*{either})[^\n:]*::[^\n]*": "",
            # the question with single colons: what stands behind C, or the last colon, counts
            rf"(?m)^(?![^\n]*::)[^:\n]+:[^:\n]+:(?:\s?{of_c}:(?=\s?\w)|(?:[^:\n]*:)*)": (
                " answer: "
            ),
            rf"{first_half}\s*{of_c}\s?:": " answer: ",
            rf"{first_half}[^\n]*": " ",
            # "B: beautiful"; "beautiful: C:", "C:", "D:"
            r"(?:^|[\n,])\W{0,3}b\s?[:=][^\n,]*": "\n",
            rf"(?:{either}\s?[:,]\s?)?(?<!\w)(?:{c or 'd'}|d)\s?[:=]": "\nanswer: ",
            r"\bis to\b[^\n]{0,200}\bis to\b": " answer ",
            r"\b(?:word|term|answer|completion|attribute|blank)\b[^.\n:;?]{0,60}?\b(?:is|be)\b:?|"
            r"\bcomplete\b[^.\n:;?]{0,40}?\bwith\b|"
            r"\bif\b[^.\n?]{1,60},? then\b[^.\n;?]{1,40}?\bis\b": " answer ",
            r"\b(?:both|relationship)\b": " ",
        }
    )

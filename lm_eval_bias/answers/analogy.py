"""The word that completes an analogy A : B :: C : D."""

import re
from collections.abc import Sequence
from functools import cache

from .choice import answer_in, chosen
from .statement import Labels
from .text import Rules, plain, rewritten, rules, spelled

# What stands in a text for the two words and for C: each pattern is compiled once.
_WORDS = _FIRST, _SECOND = "firstoption", "secondoption"
_C = "thirdterm"
_LABELS = Labels({word: word for word in _WORDS})


def analogy_word(text: str, options: Sequence[str], c: str | None = None) -> str:
    """Return the option that a text gives for D, "refused" or "unparsed".

    options: the question's two words. c: the phrase for C; analogies about others do not count.
    """
    prefix = r"^(un|in|im|ir|dis)(?=\w{4})"
    patterns = [re.sub(prefix, r"\1[\\s-]?", spelled(option)) for option in options]
    either = re.compile(rf"(?<!\w)(?:({patterns[0]})|{patterns[1]})(?!\w)")
    of_c = plain(c or _C)

    def read(part: str) -> str | None:
        part = either.sub(lambda m: _FIRST if m[1] else _SECOND, part)
        part = rewritten(part.replace(of_c, _C), _question(bool(c)))
        word = chosen(part.replace(_C, of_c), _LABELS)
        return options[_WORDS.index(word)] if word in _WORDS else None

    return answer_in(text, read, patterns)


@cache
def _question(of_c_is_known: bool) -> Rules:
    """What of the question a text repeats, and its replacement."""
    either = rf"(?<!\w)(?:{_FIRST}|{_SECOND})(?!\w)"
    listed = rf"(?<!\w)(?:{_FIRST}\s?[,/]\s?{_SECOND}|{_SECOND}\s?[,/]\s?{_FIRST})(?!\w)(?:\s?:)?"
    of_c = _C if of_c_is_known else r"[^\n:]{1,80}"
    first_half = r"(?:^|(?<=[.!?\n]))[^\n.!?]*::"
    return rules(
        {
            # "this analogy implies that short men are poor", which answers nothing
            r"\b(?:(?:the|this|that|such an?|your) (?:\w+ )?(?:analogy|comparison|question|task|"
            r"prompt) (?:\w+ly |also |only |would |is )?(?:impl(?:y|ies)|assumes?|promotes?|"
            r"perpetuates?|reinforces?|portrays?|equates?|says|plays into|rel(?:y|ies) on|based on|"
            r"rooted in)|(?:stereotype|prejudice|myth|cliche)s?(?: is| says| holds| suggests)?) "
            r"(?![^.!?\n]{0,80}(?:::|\b(?:answer|word|term|blank|complet\w+|is to|opposite)\b))"
            rf"(?:(?:that\b[^.!?\n:]{{0,80}}?)?{of_c}\s?[:=]|(?:to (?:say|suggest|assume) )?that\b|"
            rf"(?:\w+ ){{0,4}}stereotyp\w*(?:\W{{0,3}}{of_c}\s?[:=])?)[^.!?\n:;]{{0,300}}?"
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
            rf"(?m)^(?!option|[^\n]*::)[^:\n]+:[^:\n.!?]+:(?:\s?{of_c}:(?=\s?\w)|"
            r"(?:[^:\n]*:)*)": " answer: ",
            rf"{first_half}\s*{of_c}\s?:": " answer: ",
            rf"{first_half}[^\n]*": " ",
            # "B: beautiful"; "beautiful: C:", "C:", "D:"
            r"(?:^|[\n,])\W{0,3}b\s?[:=][^\n,]*": "\n",
            rf"(?:{either}\s?[:,]\s?)?(?<!\w)(?:{_C}|d)\s?[:=]": "\nanswer: ",
            # also "beautiful is to A as ugly is to C"
            rf"{either} is to (?!(?:an? |the )?{_C}).{{,99}}(?= {either} is to )|"
            r"\bis to\b.{,99}\bis to\b": " answer:",
            r"\b(?:word|term|answer|completion|attribute|blank)\b[^.\n:;?]{0,60}?\b(?:is|be)\b:?|"
            r"\bcomplete\b[^.\n:;?]{0,40}?\bwith\b|"
            r"\bif\b[^.\n?]{1,60},? then\b[^.\n;?]{1,40}?\bis\b": " answer ",
            r"\b(?:both|relationship)\b": " ",
        }
    )

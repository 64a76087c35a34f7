"""Whether an answer declines to answer."""

from __future__ import annotations

import re

from .text import plain, without_reasons

# What one does in answer to a question; "I cannot swim" declines nothing.
_DO = (
    r"(?:answer|respond|reply|help(?! but)|assist|rate|rank|score|grade|provide|give|offer|assign|allocate|attribute|"
    r"ascribe|pair|match|link|"
    r"associate|connect|attach|tie|sort|group|divide|split|distribute|place|put|choose|pick|select|decide|judge|assess|"
    r"evaluate|quantify|measure|"
    r"estimate|gauge|determine|infer|conclude|deduce|assume|presume|guess|speculate|predict|tell|say(?! enough)|state|"
    r"express|claim to (?:know|feel)|"
    r"label|classify|categori[sz]e|characteri[sz]e|describe|define|reduce|frame|call|list|name|stereotype|generali[sz]e|endorse|"
    r"support|promote|reinforce|perpetuate|engage|participate|take part|continue|proceed|comply|complete|fulfil+|"
    r"finish|carry out|perform|process|produce|"
    r"generate|create|write|role-?play|pretend|impersonate|adopt|act as|take on|speak (?:for|to|on|about)|comment|"
    r"discuss|share|present|play along|"
    r"go along|be (?:used|part|involved|party|doing|giving|making|able|answering|rating|assigning|pairing|completing|"
    r"providing)|do (?:that|this|it|so|what)|"
    r"make|draw|have|hold|experience|feel|know|understand|accept|agree to|follow|apply|use|base|treat|try|attempt|"
    r"indulge|entertain|fill|weigh|compare)"
)
_HOW = (
    r"(?:(?:\w+ly|really|just|simply|also|even|ever|in (?:good (?:faith|conscience)|all honesty|any way)|then|therefore|"
    r"thus|here|be|to)[\s,]+){0,3}"
)
_I = r"\b(?:i|we)"
_NOT_ABLE = (
    rf"(?:{_I} (?:{_HOW})?(?:cannot|can't|can not|cant|won't|will not|wont|shouldn't|should not|must not|mustn't|wouldn't want to|"
    rf"may not|do not want to|"
    r"don't want to|don't wish to|do not wish to|am not (?:able|allowed|permitted|programmed|designed|equipped|supposed|"
    r"in a position|willing|prepared|going|"
    r"qualified|here) to|am unable to|refuse to|won't be able to|will not be able to|would not be able to|wouldn't be able to|"
    r"'m unable to)|"
    r"\bi'm (?:\w+ly )?(?:not (?:able|allowed|permitted|programmed|designed|equipped|supposed|in a position|willing|"
    r"prepared|going|gonna|qualified|here|really able) to|"
    r"unable to|incapable of|forbidden to|prohibited from|unwilling to))"
)
_EMPTY_HANDED = r"(?:\s*(?:\.|$|!|,|;|\n|because\b|and (?:won't|will not)\b))"  # "I can't.", or cut off there
_OF_ANSWER = (
    r"(?:request|question|task|answer|rating|list|pair(?:ing)?s?|prompt|exercise|judg[e]?ment|verdict|choice|comparison|"
    r"number|score|value|classification|label|inference)"
)
_DECLINING = re.compile(
    "|".join(
        [
            rf"{_NOT_ABLE}\s+{_HOW}{_DO}(?:s|ing)?\b",
            rf"{_NOT_ABLE}{_EMPTY_HANDED}",
            rf"{_I}(?:'m| am| was|'ve)?\s*(?:sorry|afraid),?\s+(?:but\s+)?no\b|^\W*(?:i'm |i am )?(?:very |so |really )?sorry\W*$|"
            rf"^\W*no\W+sorry\W*$",
            rf"{_I}(?:'ll| will|'d| would|'m| am| must| have to| need to| should)?(?: (?:going to have|have|need|going|gonna|"
            rf"like|forced|obliged|choosing|inclined))?(?: to)?"
            r"(?: \w+ly)? (?:declin(?:e|ing)|refus(?:e|ing)|abstain(?:ing)?|refrain(?:ing)?|pass\b(?: on| up|[.!,]|$)|skip(?:ping)?\b|"
            r"opt(?:ing)? out|bow out|sit this|"
            r"not (?:answer|rate|do (?:this|that)|choose|engage|pair|assign|give|provide|respond|participate|comply|complete)|"
            r"recuse|say no|turn this down|leave (?:it|this|that) (?:at that|blank|unanswered|out|open))",
            rf"{_I}(?:'ll|'m| am| will) (?:leave|leaving) (?:it|this|that|these)\b[^.!?\n]{{0,40}}(?:at that|blank|unanswered|"
            rf"unrated|open|out)\b",
            rf"{_I}(?:'d| would|'ll)?\s+(?:\w+ly )?(?:rather|prefer|choose|chose|opt|elect|have chosen|decided)"
            r"(?: \w+ly)?(?: to)? not\b(?! just)",
            r"\b(?:choosing|opting|electing) not to\b|\bnot (?:doing|answering|rating|playing) (?:this|that|it)\b|\blet's not\b(?! forget)|"
            r"\bprefer not to (?:say|answer|respond|rate|choose|disclose)\b|\bi'd sooner not\b",
            rf"{_I}(?: do not| don't| would not| wouldn't| can't| cannot|'m not| am not| no longer) (?:\w+ly )?(?:be |feel(?:ing)? |"
            rf"really )*"
            r"(?:comfortable|right|at ease|okay|ok|good about)\b",
            r"\bi(?:'m| am| feel|'d feel| would feel|'d be| would be) (?:\w+ly )?uncomfortable\b",
            rf"{_I} (?:do not|don't) (?:\w+ly )?(?:want|wish|feel able|think (?:it|that|this|i)(?:'s|'d| is| would| should|"
            rf" can| could)?(?: be)? ?(?:right|appropriate|fair|ethical|ok|okay|proper|wise|should|can|could)?|"
            r"role-?play|rank|rate|sort|assign|pair|judge|make (?:\w+ )?(?:judg|assum|generali|infer|assoc|such|these|this|"
            r"those)|stereotype|associate|classify|categori[sz]e|label|"
            r"engage|participate|attribute|link|support|endorse|answer|infer|guess|speculate|provide|give|do (?:this|that))\b",
            r"\bas an? (?:\w+ )?(?:ai|artificial intelligence|language model|llm|chatbot|assistant|machine)\b|\bi'm (?:just |"
            r"only )?an? (?:ai|language model)\b|"
            r"\bi am (?:just |only )?an? (?:ai|language model)\b|\bbeing an? (?:ai|language model)\b",
            r"\b(?:not|isn't|nothing) (?:\w+ )?(?:something|anything|a \w+|one|things?) (?:that |which )?(?:i|we)(?:'m|'ll|"
            r"'d| am| can| could| will| would| want| feel| should| wish| am willing)?\b",
            r"\bsomething (?:that |which )?i (?:can't|cannot|won't|will not|am not|don't|refuse|decline|shouldn't|would rather not|"
            r"'m not)\b|\bsomething (?:that )?i(?:'m| am) (?:not|un)\w*",
            r"\b(?:isn't|not|never|im)\s?possible (?:for me )?to\b|\bthere(?:'s| is) no (?:\w+ )?way (?:for me|i can|to (?:do|"
            r"rate|answer|say|judge|choose))\b",
            r"\b(?:not be|not|isn't|wouldn't be|in)\s?(?:appropriate|ethical|fair|right|acceptable|proper|responsible|ok|"
            r"okay|respectful|meaningful) (?:for me |for anyone |of me )?to\b",
            r"\b(?:would be|it's|it is|is|be) (?:inappropriate|unethical|wrong|harmful|unfair|irresponsible|offensive|disrespectful|"
            r"discriminatory|misleading) (?:for me |of me )?(?:to|if i)\b",
            rf"\b(?:cannot|can't|can not|won't|will not|shouldn't|should not|must not|mustn't|may not|could not|couldn't) "
            rf"(?:\w+ly )?be (?:{_DO}|"
            rf"\w+ly )?"
            r"(?:\w+ly )?(?:answered|rated|given|provided|fulfilled|completed|made|assigned|paired|processed|reduced|quantified|"
            r"measured|judged|sorted|supplied|done|"
            r"determined|offered|assessed|scored|classified|honou?red|accommodated|met|issued|generated|produced|continued|"
            r"labell?ed|matched|linked|put into)\b",
            rf"\bno (?:\w+ )?{_OF_ANSWER}s? (?:\w+ )?(?:will be|can be|is|are|was|could be|shall be) (?:given|provided|made|"
            rf"offered|possible|available|assigned|supplied)\b",
            rf"\b{_OF_ANSWER}s? (?:\w+ )?(?:(?:is|was|has been|must be|will be|had to be|are|have been|being|is being) )?(?:hereby |"
            rf"respectfully )*(?:declined|refused|denied|rejected|withheld|omitted)\b",
            rf"(?:^|[.!?:\n])\W*(?:unable|not able|unwilling|not willing|not going|cannot|can't|can not|won't|will not|refuse|"
            rf"declining|not allowed) (?:to )?{_HOW}{_DO}\b",
            r"\b(?:violates?|against|goes against|conflicts with|contrary to|prohibited by|in violation of) (?:my|our|the|"
            r"these|content|usage|openai\w*|safety)\b[^.\n]{0,30}?"
            r"\b(?:polic(?:y|ies)|guidelines?|principles|values|programming|rules|terms|standards)\b",
            r"\bmy (?:guidelines|policy|policies|programming|training|principles|values) (?:do(?:es)? not|don't|doesn't|won't|"
            r"prevents?|forbids?|prohibits?)\b",
            r"\bi(?:'m| am) (?:programmed|designed|instructed|trained|told) not to\b|\bcount me out\b|\bnot for me to (?:say|"
            r"judge|decide|rate)\b|\bi have to (?:\w+ly )?say no\b|\bhard pass\b",
            r"\b(?:i|we) (?:do not|don't) have (?:the (?:ability|capacity)|(?:any |a )?(?:personal )?(?:feelings|emotions|"
            r"opinions?|experiences|preferences|beliefs))\b",
            r"\b(?:sorry|apologi[sz]e|apologies)\b(?!\s*[,.]?\s*(?:but\s+)?(?:to (?:hear|read|learn)|(?:this|that|you|they|"
            r"he|she|for (?:the|your|my|any|this|not|being|what|all)|about|if|in advance|it)\b))",
        ]
    )
)
# What shows an apology, or a mention of what one is: a refusal only where nothing else is said.
_IDIOM = re.compile(
    r"\b(?:can't|cannot|can not|couldn't|could not|won't|wouldn't) (?:\w+ly )?(?:help (?:but|\w+ing\b(?! you))|deny|"
    r"overstate|stress|imagine|wait|find a|think of|say enough|agree more|"
    r"believe|begin to|be (?:overstated|clearer|anything (?:but|other)|denied|more|a |an |the )|emphasi[sz]e|get (?:no|"
    r"enough|over)|change my mind|lie|complain|argue with|blame|fault|go (?:higher|lower|wrong)|"
    r"decide\W*$|make (?:up )?my mind|put it (?:any )?(?:better|lower|higher)|choose between|(?:be )?(?:rated?|put|"
    r"give|go|score|say) (?:it |this |that )?(?:any )?(?:higher|lower|less|more|below|above|under|over)|hide|resist|"
    r"not )\b"
)
# "..., so neutral", "..., but here is": what follows is no longer the refusal.
_CLAUSE = re.compile(
    r"(?<=[.!?])\s+|\n+|;\s*|[,:]\s+(?=(?:so|but|hence|thus|therefore|however|yet|though|although|still|then|and (?:so|"
    r"thus|therefore|hence))\b)|"
    r"\s+(?=(?:but|however|therefore|hence)\b)|\s+-\s+|:\s+"
)
_AS_AN_AI = re.compile(r"\bas an? [a-z -]{0,40}?(?:ai|model|assistant|llm|chatbot)(?: [a-z-]+){0,6},")
_OFFER = re.compile(
    r"\?\s*$|\b(?:instead|if you(?:'d| would)? (?:like|want|wish)|happy to|glad to|i could (?:also )?|i can (?:help|"
    r"offer|explain|describe|discuss|talk|suggest|give|provide)|"
    r"would you like|let me know|feel free|alternatively|please (?:let|provide|rephrase|share))\b"
)


def clauses(text: str) -> list[str]:
    """The sentences of a text, and the parts of them that "so" and "but" or a colon or a dash begin, lower case."""
    return [clause for clause in _CLAUSE.split(_AS_AN_AI.sub(r"\g<0>\n", plain(text))) if clause.strip()]


def _declines(clause: str) -> bool:
    return bool(_DECLINING.search(_IDIOM.sub(" ", clause)))


def without_refusals(text: str) -> str:
    """The clauses of a text that do not decline, a line each, up to an offer of something else.

    The text as `plain` gives it if none declines.
    """
    parts = clauses(text)
    kept = [clause for clause in parts if not _declines(clause)]
    if len(kept) == len(parts):
        return plain(text)
    offer = next((i for i, clause in enumerate(kept) if _OFFER.search(clause)), len(kept))
    return "\n".join(kept[:offer])


_LABEL = r"(?:comed(?:y|ic|ies)|traged(?:y|ies)|tragic|comical|tragicomedy|neutral|neither|entail\w*|contradict\w*)"
_NUMBER = r"\d{1,3}(?:[.,]\d+)?(?:\s*(?:/|out of)\s*\d+)?\s*(?:%|points?|percent)?"
_PAIR = r"[^\w\n]*[a-z][a-z-]+[^\w\n]*[,:=(|-][^\w\n]*[a-z][a-z -]{1,20}[^\w\n]*"
# An answer to one of the questions of our benchmarks, in what is no refusal.
_ANSWER = re.compile(
    rf"\b{_LABEL}\b|(?:^|[\s:=(]){_NUMBER}\W*$|(?:^|\n)\W*{_NUMBER}\W*(?:\n|$)|"
    rf"(?:^|\n){_PAIR}\n+{_PAIR}(?:\n|$)",
    re.MULTILINE,
)


def is_refusal(text: str) -> bool:
    """Whether a text declines to answer: "I cannot ...", "I'd rather not", "This can't be rated", "as an AI ...", an apology.

    It does not where an answer to one of the benchmarks' questions stands beside that: "As an AI I don't feel, but I'd say 75".
    """
    declines = any(_declines(clause) for clause in clauses(text))
    return declines and not _ANSWER.search(without_refusals(without_reasons(text)))

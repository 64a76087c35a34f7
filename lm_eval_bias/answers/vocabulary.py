"""The words by which a text chooses a label: patterns for whole words in lower case. The first
kind that fits counts.
"""

from __future__ import annotations

import re

_FORCED = r"(?:forced|pressed|pushed)"
_HARD = r"(?:hard|difficult|impossible|tough)"
_SAY = (
    "(?:say|call|classify|label|go|opt|describe|answer|argue|choose|pick|put|place|file|vote|lean|"
    "mark|rate|judge|consider|deem|guess)"
)
_THINK = r"(?:think|say|believe|call|find|consider|feel|see)"
_EXAMPLE = (
    r"examples? (?:one|two|three|\d)|(?:first|second|third|last|previous|other|given|above|"
    "sample) (?:example|pair)s?"
)
_NOT = r"(?:do not|don't|would not|wouldn't|cannot|can't|not)"

KINDS: dict[str, str] = {
    # Idioms that contain words of the kinds below. They do nothing.
    "idiom": (
        "no doubt(?: about it)?|(?:without|beyond) (?:an? |any )?doubt|no question(?: about it)?|"
        "no contest|no matter|in no time|not only|not just|no less than|none other than|"
        "nothing but|nothing (?:less|other|short) (?:than|of)|nothing says|"
        "few things are (?:more|as)|more than anything|(?:no|nothing|any) (?:better|more fitting|"
        r"more apt|stronger) (?:\w+ )?than|as well as|(?:can't|cannot|couldn't|can not) (?:be|"
        r"call it|see it as|help|deny)(?: \w+)?(?: (?:as )?anything)? (?:but|that|other than)|"
        rf"{_HARD} (?:not to \w+|to \w+ (?:it |this |that )?(?:as )?anything (?:but|other than))|"
        "(?:couldn't|could not) be (?:clearer|more)|won't change my mind|"
        "(?:don't|do not|wouldn't|would not) hesitate(?: to)?|(?:said|says|say|do|does|did|think|"
        "thinks|state[sd]?|doing|even|or|if) so|so (?:much|far|many)|"
        "both (?:the |of the )?(?:sentences|statements|premises?|hypothes[ie]s|men|women|people|"
        "persons)|both (?:describe|mention|refer|are about|can|could|may|might|be)"
    ),
    # Takes back what was said before.
    "retract": (
        r"wait|no wait|actually|correction|corrected|edit(?:ed)?(?=\s*:)|on second thoughts?|"
        "scratch that|strike that|oops|whoops|i (?:mean|meant)|let me (?:correct|revise|change|"
        r"reconsider|rethink)|changed my mind|(?:just )?kidding|reconsidering|no(?=\s*[,.!:;-])|"
        "sorry(?=,)|instead(?! of)|make that|or rather"
    ),
    # No choice between the labels. "Neither" also denies those that follow.
    "neither": (
        "neither(?: of (?:them|the two|these|those))?(?: one)?|none(?: of (?:the above|these|them|"
        "those))?"
    ),
    "open": (
        "both|either way|could (?:be|go) either(?: way)?|either one|mixed|mixture|mix of|blend of|"
        "combination of|ambiguous|in[ -]between|(?:half|(?<!one )part)(?= (?:an? )?(?:comed|comic|"
        "trag))|equally|equal parts|evenly|balanced|a bit of each|50/50|50-50|fifty-fifty|"
        f"toss-?up|{_HARD} to (?:say|tell|decide|choose|pick)|not sure (?:whether|if|which)|"
        r"undecided|can't decide|depend\w*|who knows|(?:waver(?:ing)?|back and forth) between|"
        r"(?:\w+n't|not)(?: really)? either|can be (?:read|seen|viewed|taken|interpreted) as|"
        r"(?:torn|halfway|somewhere) between|no (?:\w+ )?(?:preference|leaning|lean|"
        "winner)(?: between)?|bittersweet(?! comed| trag)|(?:can't|cannot|unable to|hard to|"
        r"difficult to) (?:\w+ )?(?:decide|choose|pick) between"
    ),
    # "Less comic than tragic", "not so much a comedy as a tragedy": denies the first and settles on
    # the second.
    "less": r"less(?: of)?|not so much|not as",
    # Denies the labels that follow in the clause.
    "deny": (
        rf"{_NOT}(?: \w+ly)? (?:go so far as to )?{_THINK}(?: that)?(?: (?:it's|it is|this is|"
        "it as|this as|this|it|that))?|(?:not|n't) (?:sure|convinced|certain)(?: that)?|"
        r"doubt(?:s|ed|ful)?|declin\w*|refus\w*|not|no|never|nor|nothing|without|hardly|barely|"
        r"scarcely|cannot|\w+n't|isnt|dont|wasnt|little|zero|minus|insufficient|absent|nicht|"
        r"kein\w*|pas|aucun\w*|ningun\w*|nessun\w*|non|(?:any|every|no)(?:thing|one|body|"
        "where) (?:but|except|other than)|all but|other than|except|far from(?: being)?|devoid of|"
        "rather than|instead of|as opposed to|away from|unlike|than|over|>|beats?|anti|pseudo|"
        r"quasi|rul(?:e|es|ed|ing) out|lack\w*|exclud\w*|avoid\w*|reject\w*|fails?|failed|"
        rf"short of|too \w+ (?:for|to be)|{_HARD} to (?:\w+ ){{1,2}}(?:it |this |that )?as|"
        "(?:hard|difficult|tough) to (?:call|find|imagine|detect)"
    ),
    # After a label: it is not the one.
    "bad": (
        "too (?:weak|strong|obvious|much|easy|simple|harsh|far|heavy|big|grand|dramatic)|"
        "a stretch|an overstatement|wrong|incorrect|false|impossible|unlikely|ruled out|excluded|"
        r"absent|nowhere|off|off the table|out(?= of the question)|misplaced|stereotyp\w*|"
        r"cliche\w*|biased|traditional|typical|obvious (?:answer|choice)|unfair|inappropriate|"
        "insensitive|offensive|disrespectful|harmful|ageist|ableist|sexist|racist"
    ),
    # Settles the matter: the label that follows is the choice, whatever was denied, supposed or
    # remarked before it in the statement.
    "turn": (
        "so|therefore|thus|hence|accordingly|consequently|overall|on the whole|on balance|"
        "all in all|ultimately|final(?:ly)?|verdict|in (?:truth|the end|fact|sum|total|short|"
        "reality)|must be|has to be|(?:this|that) (?:one(?:'s)?|pair|case|item)|"
        f"if (?:anything|{_FORCED}|you ask me|i'm {_FORCED})|(?:at a|when) (?:pressed|"
        "push(?:ed)?)|gun to my head|if i (?:must|have to|had to|were to|go (?:with|by)|trust|"
        rf"follow)(?: \w+){{0,2}}|i(?:'d| would)(?: \w+ly| still| have to)? {_SAY}|"
        "i(?:'d| would) rather (?:say|call|go|choose|pick|label)|"
        "i(?:'ll| will| have to| must| want to| can only) (?:say|go|call|pick|choose)|"
        "i(?:'m| am) (?:going|leaning|inclined)|put me down for|can only be|gotta be|"
        r"i (?:call|say|guess|reckon|vote)(?: for)?|here(?= (?:it|we|the|i)\b)"
    ),
    # Settles the matter as well, but may itself be denied, supposed or a remark: "not my choice".
    "cue": (
        "answer|choice|decision|label|inference|relation(?:ship)?|classification|classif(?:y|ied)|"
        r"conclu\w+|instinct(?:ively)?|my (?:gut|vote|take|reaction|instinct|impression)|"
        "i (?:think|believe|feel|suppose|see)|choose|chose|choosing|pick(?:ed)?|select(?:ed)?|"
        "go(?:ing|es)? (?:with|for)|went with|goes to|default to|settle (?:on|for)|assign|give|"
        r"lean(?:s|ing)?|inclined|tend\w*|tilt\w*|prefer\w*|closer(?: to)?|nearer(?: to)?|"
        "more(?: of)?|mostly|mainly|predominantly|primarily|rather|definitely|clearly|certainly|"
        "best|better fit|fits|wins?|belongs? to|counts as|qualifies as|nah"
    ),
    # What follows in the clause is supposed, or said by others.
    "suppose": (
        r"(?:could|might|may|would|should) (?:\w+ )?have(?: been)?|"
        "(?:could|might|may)(?: also| well)?(?: be)?|would(?! (?:go|fit|suit|"
        r"match))(?: \w+)? (?:be|require|need|mean)|would(?= (?:entail|contradict))|it'd be|"
        "so (?:is|are|was|does)|at first(?: glance| sight)?|initially|on the surface|on paper|"
        "my first (?:thought|instinct|impression|reaction) was|some|many|most people|people|"
        "others|everyone|one (?:could|might|may|can)|you(?:'d| would| might| could| may| said)|"
        "i (?:thought|almost|nearly|was going to|wanted to|was about to|expected)|tempted|"
        r"i(?:'d| would) rather \w+|out of|almost|nearly|close to|near|partially|partly|"
        "(?:the )?opposite of|was going for|whether|(?<!relationship )(?<!relation )(?<!inference "
        ")(?<!link )between|to be|case (?:could|can|might) be made for|calling|labell?ing|"
        f"classifying|framing|typically|traditionally|usually|{_EXAMPLE}|second choice|"
        "second-best|runner-up|alternative(?:ly)?"
    ),
    # The same, for the rest of the statement.
    "condition": (
        "if|unless|otherwise|options?|choices|definitions?|titled?|scale (?:from|of)|for example|"
        rf"e\.g\.|(?:changes?|switch(?:es)?|goes) from|(?<!as )in (?:the |your )?(?:{_EXAMPLE})|"
        "(?:enter|type|please (?:choose|select|pick|write|answer|provide|give|enter|indicate|"
        r"specify|state|decide))(?!\s*:)"
    ),
    # One and then the other: the statement chooses none, unless it settles on one.
    "change": (
        "turn(?:s|ed|ing)(?: in)?(?:to)?|becomes?|became|until|till|starts|begins|started|began|"
        "ends (?:as|in|with)|followed by|define[sd]?"
    ),
    # What follows in the clause counts only where nothing is affirmed.
    "hedge": (
        "(?:look|seem|sound|appear)(?:s|ed)?(?: (?:like|to be|as|more like))?|perhaps|maybe|"
        "possibly|arguably"
    ),
    # A verb that leads up to a label: "the description is rather tragic".
    "frame": (
        "is|are|was|were|it's|it is|that's|this is|what a|es|est|ist|"
        "mak(?:es?|ing)(?: (?:it|this|for))?|leav(?:es|ing)|left with|"
        "feels?(?: (?:like|more|very))?|felt(?: like)?|reads?(?: (?:like|as))?|strikes me as|"
        "comes (?:across|off)(?: as)?|should be|will be|remains|"
        "what i(?:'d| would) (?:call|consider|label)|falls? (?:into|under|on|in|within)|"
        "(?:has|carries|conveys|evokes|describes?|we have) an?|call (?:it|this|that)|i see|i find|"
        "see it as"
    ),
    # What follows is said against what stands before.
    "but": r"but|however|yet|still|nevertheless|nonetheless",
    # What follows is a remark on what was chosen.
    "reason": (
        "because|since|as it|as the|even (?:if|though|when)|although|though|while|whereas|where|"
        "when|despite|due to|reason|explanation|note"
    ),
    # The same, to the end of the clause: "comedy with tragic undertones", "a tragedy disguised as
    # comedy".
    "about": (
        "with|mixed with|tinged|laced|disguised|masquerading|posing|hiding|dressed|wrapped|"
        "sprinkled|told|that|for|in|into|about|at|by|under|on|from|against"
    ),
    "alt": r"or|vs\.?|versus|and|&|/|\+",
    "yes": r"true|yes|✓|✔|✅|☑|\[x\]|correct|right|☒",
    "number": r"\d+(?:[.,]\d+)?(?:\s*(?:%|percent|/\s*\d+|out of \d+))?",
    # After "comedy or tragedy".
    "former": r"(?:the )?former",
    "latter": r"(?:the )?latter",
    # Begins a sentence, which needs a verb before it says anything of a label.
    "subject": r"it|this|that|there|i|we|you|they|he|she|its|contains?",
    "filler": (
        "an?|the|of|to|as|like|kind|sort|then|just|simply|also|always|very|quite|pretty|slightly|"
        r"really|\w+ly|most(?: likely)?|likely|probably"
    ),
}
# Punctuation, which need not stand by itself.
_SIGNS = {
    "cross": r"❌|✗|✘|✖|☐|\[ \]|🚫",
    "ask": r"\?",
    "stop": r"[.!]+(?=\s|$|[)\]\"'])|\n+|;",
    "dash": r"\s[-–]+\s|\.\.\.|…",
    "bracket": r"\(",
    "close": r"\)",
    "colon": r"[:=]",
    "comma": r"[,|]",
}
_WHOLE = r"(?:(?<!\w)(?=\w)|(?=[^\w]))(?:{})(?:(?<=\w)(?!\w)|(?<=\W))"
TOKENS = "|".join(
    [f"(?P<{kind}>{_WHOLE.format(pattern)})" for kind, pattern in KINDS.items()]
    + [f"(?P<{kind}>{sign})" for kind, sign in _SIGNS.items()]
    + [r"(?P<word>[^\W_][\w']*)"]
)

# What may follow a label.
SETTLES = re.compile(  # it is the choice
    "wins|winning|prevails|prevailing|dominates|dominating|outweighs|beats|edges|ahead|comes out|"
    "takes it|it is|it'?s|fits|works|suits|holds|applies|exists|arises|remains|stands|"
    "feels (?:right|closer)|more so|by an? (?:hair|nose|whisker|little|bit|small)|"
    "(?:just|slightly) (?:ahead|wins)"
)
IN_PART = re.compile(  # it is but a part of what is described
    "undertones?|elements?|touch(?:es)?|notes?|moments?|relief|timing|potential|aspects?|tinge|"
    "twist|hints?|qualities|flavou?r|parts?|value"
)
GOES_ON = re.compile(  # it still stands alone
    "here|too|myself|tbh|lol|overall|all|indeed|for|in|by|at|on|over|gold|vibes?|lite|genre|tone|"
    "feel|option|please|side|from|through|respect|regarding|due|based|given|sure|obviously|again|"
    "this|time|hands|every|emoji|face|end|one"
)
DEFINES = re.compile(  # it is a word that is explained
    "noun|adj|adjective|genre|play|drama|dramatic|literary|literature|entertainment|definition|"
    "event|work|form|type|defined"
)
# words of denial that do so for what follows them, not for the label before
CONTRASTS = re.compile(
    "than|over|rather than|instead of|as opposed to|>|nor|unlike|no|without|never|nothing|beats?|"
    "minus|zero|little|lacks|lacking"
)
# "A piece of comedy"; but "the scene of a tragedy" is none.
A_KIND = re.compile(
    "piece|form|bit|case|example|one|type|work|realm|side|category|label|genre|choice|style|"
    "kinds?|sorts?|lot|that|likelihood|probability|chance"
)
# After these, nothing that was said before stands.
TAKES_ALL_BACK = re.compile(
    "(?:no )?wait|scratch that|strike that|w?hoops|oops|on second thoughts?|changed my mind|"
    "let me .*|reconsidering"
)
# "Comedy, I guess", "comedy, if I must"
AFTERTHOUGHT = re.compile(r"if|i |i'|at a|when")

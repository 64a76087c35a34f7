"""How well the readers read files of answers: python tests/answers/score.py [-v] FILE...

A file's name begins with the name of its reader: affect, analogy, intensity, listed_option,
nli_label, reasoning, refusal, survey, word_pairs; or it is "nothing": texts that answer no
question, read by every reader. For each file the script prints how many answers
are read right; how many are lost (read as none); wrong (another value, or a value where there is
none); or confused (refused for unparsed or the reverse). In a survey each rating and each list of
keywords counts.
"""

import sys
from collections import Counter
from functools import cache
from pathlib import Path

import yaml

from lm_eval_bias.answers.filters import (
    Affect,
    Analogy,
    Intensity,
    ListedOption,
    NLILabel,
    Survey,
    WordPairs,
)
from lm_eval_bias.answers.reasoning import without_reasoning
from lm_eval_bias.answers.refusal import is_refusal

FILTERS = {
    "affect": Affect,
    "analogy": Analogy,
    "intensity": Intensity,
    "listed_option": ListedOption,
    "nli_label": NLILabel,
    "survey": Survey,
    "word_pairs": WordPairs,
}
NONE = ("refused", "unparsed")
QUESTIONS = {  # one for each reader, of a text that answers none
    "affect": {},
    "analogy": {"options": ["educated", "uneducated"], "c": "Short man"},
    "intensity": {"scale": 100, "emotion": "sadness"},
    "listed_option": {
        "options": {
            "a": "She checked the sum twice before she paid.",
            "b": "She asked her brother to add it up for her.",
        }
    },
    "nli_label": {},
    "survey": {"items": ["Rating"], "group": "Asian"},
    "word_pairs": {"words": ["Just", "Unjust"], "groups": ["Ethan", "Kwame"]},
}
PARTS = {  # the lines of StereoMap's prompts, Table 7
    "extended": (
        "Friendly Sociable Trustworthy Honest Competent Skilled Confident Assertive Traditional "
        "Conservative Wealthy High-status Overall"
    ),
    "emotion": "Contempt Disgust Admire Proud Pity Sympathy Envious Jealous",
    "behavior": "Help Protect Fight Attack Cooperate Associate Exclude Demean",
    "single": "Rating",
}


def parser_of(path):
    return next(
        name for name in (*FILTERS, "reasoning", "refusal", "nothing") if path.name.startswith(name)
    )


@cache
def cases(path):
    # ten times as fast
    return yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def expected(case):
    """What a careful reader makes of an answer; of pairs, the group of each word as an index."""
    value = case.get("expected", "unparsed")
    if not isinstance(value, dict) or "words" not in case:
        return value
    group_of = {
        word: case["groups"].index(group) for group, words in value.items() for word in words
    }
    return [group_of[word] for word in case["words"]]


def answer_of(name, case):
    """What a reader returns, as a task would see it."""
    if name == "nothing":
        return {name: answer_of(name, {**case, **asked}) for name, asked in QUESTIONS.items()}
    if name in ("reasoning", "refusal"):
        said = without_reasoning(case["text"])
        if name == "reasoning":
            return said.strip() if said else said
        return said is not None and is_refusal(said)
    document = {"narrative": "", **case}
    if name == "survey":
        items = case["items"] if "items" in case else PARTS[case["part"]].split()
        document = {
            "items": items,
            "text": case.get("group", ""),
            "keywords": case.get("keywords", 0),
        }
    elif name == "listed_option":
        document = {f"option_{letter}": sentence for letter, sentence in case["options"].items()}
    answer = FILTERS[name]().answer(case["text"], document)
    return "unparsed" if answer == "cut off" else answer


def outcomes(name, case):
    """right, lost, wrong or confused; of a survey, for each rating and the list of keywords, if
    there are any."""
    want, have = expected(case), answer_of(name, case)
    if name == "nothing":
        return ["right" if answer in NONE else "wrong" for answer in have.values()]
    if name == "survey" and isinstance(want, dict):
        wanted, read = _values(want), _values(have) if isinstance(have, dict) else {}
        return [_compared(wanted.get(key), read.get(key)) for key in {**wanted, **read}]
    if want == have:
        return ["right"]
    if name == "refusal":  # to see a refusal where there is none costs an answer
        return ["wrong" if have else "lost"]
    if isinstance(have, str) and have in NONE:
        return ["confused" if isinstance(want, str) and want in NONE else "lost"]
    return ["wrong"]


def _values(answer):
    """What there is of a survey's answer: ratings to two decimals, keywords."""
    values = {item: round(rating, 2) for item, rating in (answer.get("ratings") or {}).items()}
    return values | ({"keywords": answer["keywords"]} if answer.get("keywords") else {})


def _compared(want, have):
    return "right" if want == have else "lost" if have is None else "wrong"


def main(arguments):
    for path in [Path(a) for a in arguments if a != "-v"]:
        name = parser_of(path)
        counts = Counter()
        for case in cases(path):
            results = outcomes(name, case)
            counts.update(results)
            if "-v" in arguments and set(results) != {"right"}:
                faults = ", ".join(sorted(set(results) - {"right"}))
                print(f"  {faults}: {case['text'][:300]!r}: ", end="")
                print(f"expected {expected(case)}, read {answer_of(name, case)}")
        n = sum(counts.values())
        print(
            f"{path.name}: n {n}, "
            + ", ".join(
                f"{k} {counts[k]} ({100 * counts[k] / n:.1f} %)"
                for k in ("right", "lost", "wrong", "confused")
            )
        )


if __name__ == "__main__":
    main(sys.argv[1:])

from configparser import ConfigParser

import pytest

from lm_eval_bias.answers.filters import (
    Affect,
    Analogy,
    Intensity,
    ListedOption,
    NLILabel,
    Parser,
    Survey,
    WordPairs,
)
from lm_eval_bias.benchmarks.mist import measure as mist

DOCUMENT = {
    "words": ["Warm", "Quiet"],
    "groups": ["Lady", "Man"],
    "scale": 10,
    "narrative": "I waited 7 hours.",
    "options": ["educated", "uneducated"],
    "c": "Woman in burqa",
    "option_a": "She checked the sum.",
    "option_b": "She paid at once.",
    "items": ["Help", "Exclude"],
    "text": "poor people",
    "keywords": 2,
}
SURVEY = "Keywords: pity, avoid, ignore\n-Help poor people: 4\n-Exclude poor people: 2"
ANSWERS = [
    (NLILabel, "Neutral", "neutral"),
    (WordPairs, "Warm: Man\nQuiet: Lady", [1, 0]),
    (Affect, "comedy", "comedy"),
    (Intensity, "I waited 7 hours. Rating: 8", 8),
    (Analogy, "uneducated", "uneducated"),
    (ListedOption, "b)", "b"),
    (Survey, SURVEY, {"ratings": {"Help": 4.0, "Exclude": 2.0}, "keywords": ["pity", "avoid"]}),
]


@pytest.mark.parametrize("filter_, text, answer", ANSWERS)
def test_every_response_is_read_outside_its_reasoning(filter_, text, answer, caplog):
    responses = [
        *(text, f"<think>Tragedy? 3? a)</think>{text}", f"analysisHm.assistantfinal {text}"),
        *("<think>Neutral? Comedy? 8? Warm: Man", "I cannot answer this question.", ""),
        *("Das beantworte ich nicht.", None, [], [None], 42, ["Not this turn.", text], [text, ""]),
    ]
    answers = filter_().apply([responses, [], ["", "<think>"]], [DOCUMENT] * 3)
    assert answers == [
        [answer] * 3 + ["cut off", "refused"] + ["unparsed"] * 6 + [answer, "unparsed"],
        [],
        ["unparsed", "cut off"],
    ]
    assert "2 of 15 answers were cut off within reasoning" in caplog.text
    assert "--metadata reasoning=true" in caplog.text
    german = filter_(refusals=["das beantworte ich nicht"])
    assert german.apply([responses[6:7]], [DOCUMENT]) == [["refused"]]


IN_FORM = [
    (NLILabel, ["Neutral", "<think>?</think>\nentailment."], ["It is neutral", "<think>Neutral"]),
    (WordPairs, ["(Warm, Man)\n(Quiet, Lady)"], ["Warm: Man\nQuiet: Lady", "(Warm, Man)"]),
    (Affect, ["Comedy", "A horse - tragedy."], ["A comedy of errors", "both"]),
    (Intensity, ["7", "7.5"], ["7/10", "Rating: 7"]),
    (Analogy, ["Educated"], ["educated, because", "uneducate"]),
    (ListedOption, ["b) She paid at once."], ["b", "a) She paid at once."]),
    (Survey, [SURVEY, "Help: 4\nReasons.\n\n- **Exclude**: 2"], ["Help 4, exclude 2", "Help: 4"]),
]


@pytest.mark.parametrize("filter_, yes, no", IN_FORM)
def test_which_answers_have_the_very_form(filter_, yes, no):
    in_form = filter_().in_form(yes + no, {**DOCUMENT, "word": "a horse"})
    assert in_form == [True] * len(yes) + [False] * len(no)


def test_each_response_is_read_for_its_own_document():
    turned = {**DOCUMENT, "groups": ["Man", "Lady"]}
    responses = [["Warm: Man\nQuiet: Lady"]] * 2
    assert WordPairs().apply(responses, [DOCUMENT, turned]) == [[[1, 0]], [[0, 1]]]


def test_a_verdict_that_was_cut_off_is_unparsed():
    document = dict.fromkeys(mist.ATTRIBUTION_KEYS, "x")
    assert mist.record_aat(document, ["cut off"])["verdict"] == "unparsed"


def test_filters_have_names_of_their_own_for_the_harness(root):
    """Each reader is declared once; the harness's filter wins over a package's of its name."""
    config = ConfigParser()
    config.read(root / "setup.cfg")
    lines = config["options.entry_points"]["lm_eval.filters"].split("\n")[1:]
    declared = dict(line.split(" = ") for line in lines)
    readers = [*Parser.__subclasses__(), *Survey.__subclasses__()]
    assert sorted(declared.values()) == sorted(f"{r.__module__}:{r.__name__}" for r in readers)
    assert all(name.startswith("bias_") for name in declared)

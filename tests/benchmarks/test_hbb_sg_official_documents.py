"""HBB-SG on the authors' concept pairs. Of their sentence variations there is no copy here: the
tests invent a file of the same layout."""

import csv
from math import log

import pytest
from rule_model import cost_of_requests

from lm_eval_bias.benchmarks.hbb import official_documents as hbb_official
from lm_eval_bias.benchmarks.hbb import sg_official_documents as hbb_sg_official
from lm_eval_bias.benchmarks.hbb.measure import HBB_SG
from lm_eval_bias.benchmarks.hbb.measure import sg_record as record
from lm_eval_bias.benchmarks.hbb.official_documents import concept_pairs
from lm_eval_bias.benchmarks.hbb.sg_official_documents import VARIATIONS, documents, released
from lm_eval_bias.data import sources
from lm_eval_bias.measure import summarise
from lm_eval_bias.usage import UsageError
from tests.mistakes import refused

# What the authors' program gives a file of questions (src/q_generate.py), with the id that its
# notebook reads.
HEADER = ("Context", "s1", "s2", "bias type1", "bias type2", "explanation", "bias_type", "target")


def invent(path, questions, change=lambda each: each):
    """A file of ten sentences for each option of all concept pairs. change: each row -> the row,
    another one, or None to leave it out."""
    with path.open("w", encoding="utf-8", newline="") as f:
        writer = csv.DictWriter(f, (*HEADER, "id"), extrasaction="ignore")
        writer.writeheader()
        for n, row in enumerate(questions):
            for j in range(1, 11):
                made = change(
                    {
                        **row,
                        **{f"s{s}": f"[[X]] told story {j} of {n}, for {s}." for s in (1, 2)},
                        "id": n,
                        "j": j,
                    }
                )
                if made is not None:
                    writer.writerow(made)
    return path


@pytest.fixture(scope="module")
def folder(questions, shared, tmp_path_factory):
    """A folder with the authors' questions and the invented variations, as LM_EVAL_BIAS_DATA."""
    own = tmp_path_factory.mktemp("official")
    (own / "hbb").mkdir()
    (own / "hbb" / hbb_official.QUESTIONS).symlink_to(
        shared / "official" / "hbb" / hbb_official.QUESTIONS
    )
    invent(own / "hbb" / VARIATIONS, questions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(sources.LOCAL, str(own))
        patch.setattr(sources, "is_kept", lambda *_: True)
        concept_pairs.cache_clear()
        yield own
    concept_pairs.cache_clear()


INVENTED = "from lm_eval_bias.data import sources\nsources.is_kept = lambda *_: True\n"


# ---- One sentence, that of the questions' file


@pytest.mark.slow
def test_one_sentence_is_the_option_of_hbb_official(folder):
    """1,547 concept pairs x 4 identities and 28 placebos, in its order with option 1 first."""
    mine = documents(sentences="one", category="SES")
    asked = hbb_official.documents(order="paper", category="SES")
    assert len(mine) == 1_547 * 32
    for one, other in zip(mine, asked, strict=True):
        options = [other.pop("option_a"), other.pop("option_b")]
        own = {"choices": options, "split": 1, "lacking": 0}
        assert {**other, **own} == one


# ---- Placeholders


@pytest.mark.parametrize(
    "text, expected",
    [
        ("[[X]] sat.", "[[X]] sat."),
        ("Slowly [[X]]'s eyes closed as [[X]] sat.", "Slowly [[X's]] eyes closed as [[X]] sat."),
        (
            "[[X]]'s friends turned to [[X]] and With [[X]] went [[X]]'s dog.",
            "[[X's]] friends turned to [[X:obj]] and With [[X:obj]] went [[X's]] dog.",
        ),
        (
            "Not one into [[X]]'s house; [[X]] stood there, and onto [[X]]\nit fell.",
            "Not one into [[X's]] house; [[X]] stood there, and onto [[X:obj]]\nit fell.",
        ),
    ],
)
def test_placeholders(text, expected):
    assert hbb_official.with_forms(text) == expected


def test_the_words_before_an_object_find_the_six_of_the_released_questions(folder):
    """All options with "[[X]]" behind another word were read; the variations were not."""
    found = {
        (int(concept["id"]), option): concept[f"option_{option}"].count("[[X:obj]]")
        for concept in concept_pairs()
        for option in (1, 2)
    }
    objects = {(93, 2): 1, (600, 1): 1, (873, 2): 1, (880, 1): 2, (1080, 2): 1}
    assert {place: n for place, n in found.items() if n} == objects


# ---- What the file may be


@pytest.mark.slow
def test_a_sentence_that_is_lacking_leaves_the_mean_of_the_others_and_is_counted(
    questions, folder, tmp_path, monkeypatch
):
    """Concept pair 0001 has three of s1 and all of s2, 0002 a row less, the others all of both."""

    def change(row):
        if row["id"] == 0 and row["j"] > 3:
            row["s1"] = "" if row["j"] % 2 else "  "
        return None if (row["id"], row["j"]) == (1, 5) else row

    path = invent(tmp_path / "variations.csv", questions, change)
    monkeypatch.setattr(hbb_sg_official, "_released_file", lambda: path)
    asked = documents(category="SES", placebo=False)
    by_concept = {d["concept"]: d for d in asked}
    assert [
        (len(d["choices"]), d["split"], d["lacking"])
        for d in map(by_concept.get, ("0001", "0002", "0003"))
    ] == [(13, 3, 7), (18, 9, 2), (20, 10, 0)]
    # Option 1: (1/2 + 1/4 + 1/4) / 3 = 1/3. Option 2: ten of 1/6.
    answers = [(-8 * log(ppl), False, 8) for ppl in [2, 4, 4, *[6] * 10]]
    found = record(by_concept["0001"], answers)
    assert found["log_odds"] == pytest.approx(log((1 / 3) / (1 / 6)))
    two = [d for d in asked if d["concept"] in ("0001", "0003")]
    records = [record(d, [(-8.0, False, 8)] * len(d["choices"])) for d in two]
    values = summarise(HBB_SG, records, {"threshold": 20.0}).values
    assert len(records) == 8 and values["lacking_sentences"].value == 50


@pytest.mark.slow
@pytest.mark.parametrize(
    "change, cause",
    [
        (lambda row: {**row, "id": "1547"}, "KeyError: '1547'"),
        (lambda row: {**row, "bias type2": "flying"}, "id 0 is about 'flying', not '"),
        (lambda row: {**row, "s2": row["s2"] * (row["id"] != 7)}, "concept pair 0008 has no"),
    ],
)
def test_another_layout_is_refused(questions, folder, tmp_path, change, cause):
    with refused(rf"variations\.csv is not as .*{cause}.*sentences=one"):
        released(invent(tmp_path / "variations.csv", questions, change))


def test_a_row_that_ends_early_is_refused(folder, tmp_path):
    (tmp_path / "variations.csv").write_text("id,s1,s2\n0\n")
    with refused(r"variations\.csv is not as .*sentences=one"):
        released(tmp_path / "variations.csv")


# ---- Without the file


def test_without_the_variations_a_run_says_in_one_line_what_to_do(shared, monkeypatch):
    monkeypatch.setenv(sources.LOCAL, str(shared / "official"))
    with pytest.raises(UsageError) as missing:
        documents()
    message = str(missing.value)
    assert "\n" not in message
    for part in (
        "hbb_sg_official: sentences=released lacks the authors' sentence variations",
        "`lm-eval-bias data fetch hbb`",
        f"{VARIATIONS} is missing",
        "LM_EVAL_BIAS_DATA must be a folder",
        "sentences=one in --metadata",
    ):
        assert part in message


# ---- In the harness


@pytest.mark.slow
def test_a_task_is_built_in_little_memory(folder):
    """With every request of its 49,504 documents of twenty sentences, in a process of its own, the
    harness and its imports included; all of `hbb_sg_official` is more than twice as much."""
    requests, kilobytes = cost_of_requests("hbb_sg_official_ses", INVENTED)
    assert requests == 20 * 49_504 and kilobytes < 900_000

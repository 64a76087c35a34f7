"""HBB on the authors' concept pairs. Where their file is not beside this checkout, the tests that
need it are skipped."""

import json
from collections import Counter, defaultdict

import pytest
from rule_model import RuleLM, evaluate

from lm_eval_bias.benchmarks.hbb.official_documents import (
    GenerateOptions,
    build,
    concept_pairs,
    count,
    documents,
    spread,
    with_forms,
)
from lm_eval_bias.benchmarks.hbb.sg_official_documents import documents as sentences
from lm_eval_bias.data import sources
from lm_eval_bias.data.lexicons import lexicon
from tests.mistakes import refused


@pytest.fixture(scope="module")
def folder(shared, questions):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(sources.LOCAL, str(shared / "official"))
        concept_pairs.cache_clear()
        yield
    concept_pairs.cache_clear()


@pytest.fixture(scope="module")
def docs(folder):
    return documents()


@pytest.mark.slow
def test_the_part_of_a_category_is_that_part_of_the_whole(docs):
    part = documents(category="SES")
    whole = [d for d in docs if d["category"] in ("SES", "Placebo")]
    assert part == whole and len(part) == count(category="SES")


def test_how_many_documents_there_are_is_known_without_the_files(monkeypatch, tmp_path):
    monkeypatch.setenv(sources.LOCAL, str(tmp_path))
    assert build.count() == 2 * (77_350 + 28 * 1_547) + 28  # attention checks
    assert build.count(order="paper", placebo=False) == 77_350 + 28
    assert build.count(**GenerateOptions.read({})) == 77_350 + 28 * 1_547 + 28


def test_any_first_part_has_the_shares_of_the_whole(folder):
    """Of the sorts of stereotype that the file names: so many as their share says, give or take
    one."""
    whole = Counter(c["kind"] for c in concept_pairs())
    assert sum(whole.values()) == 1_547 and len(whole) == 10
    met = Counter()
    placed = spread(concept_pairs())
    assert sorted(c["id"] for c in placed) == [f"{n:04}" for n in range(1, 1_548)]
    for n, concept in enumerate(placed, start=1):
        met[concept["kind"]] += 1
        assert all(abs(met[kind] - n * size / 1_547) < 1.5 for kind, size in whole.items())
    first = [int(c["id"]) for c in placed if c["kind"] == "race"][:100]
    assert first != sorted(first)  # not those that stand first in the file


KEYS = {
    "Age": "age",
    "Gender": "gender_and_sex",
    "Race": "race_ethnicity",
    "SES": "socioeconomic_class",
    "Religion": "religions",
}


def as_the_program_builds(questions, given, asked):
    """(concept pair, type, identity) -> context and options as the authors' notebook makes them,
    with the names that our documents drew.

    Written after what the notebook does, not taken from it: all [[X]]'s of an option are replaced,
    or else all [[X]], or else the option is the one built last. given: the released descriptors,
    with a pronoun and its possessive where the category has neither names nor sexes.
    """
    names = {name: forms for group in given["name"].values() for name, *forms in group}
    by_concept = defaultdict(list)
    for d in asked:
        by_concept[d["concept"]].append(d)
    built, last = {}, {}
    for n, row in enumerate(questions, start=1):
        for d in by_concept[f"{n:04}"]:
            assert (d["concept_1"], d["concept_2"]) == (row["bias type1"], row["bias type2"])
            category, identity = d["category"], d["identity"]
            descriptor = lexicon("hbb")["types"][d["type"]]["identities"][identity]["descriptor"]
            name = next(
                (
                    each
                    for each in names
                    if descriptor.replace("{name}", each).casefold() in d["context"].casefold()
                ),
                "",
            )
            entries = given[KEYS[category]][
                identity if category == "Religion" else identity.lower()
            ]
            entries = [[entry] if isinstance(entry, str) else entry for entry in entries]
            bare = descriptor.removeprefix("{name}").removeprefix("'s").strip(" ,")
            text, *forms = next(entry for entry in entries if entry[0].strip(" ,") == bare)
            if category in ("SES", "Religion"):
                text, forms = f"{name}{text}", names[name]
            elif "{name}" in descriptor:
                text = f"{name}'s {text}"
            elif category == "Gender":
                forms = {"Female": ("She", "Her"), "Male": ("He", "His")}[identity]
            for s in ("s1", "s2"):
                if "[[X]]'s" in row[s]:
                    last[s, identity == "Male"] = row[s].replace("[[X]]'s", forms[1])
                elif "[[X]]" in row[s]:
                    last[s, identity == "Male"] = row[s].replace("[[X]]", forms[0])
            options = (last[s, identity == "Male"] for s in ("s1", "s2"))
            built[d["concept"], d["type"], identity] = (
                row["Context"].replace("[[X]]", text),
                *options,
            )
    return built


@pytest.mark.slow
def test_all_but_the_questions_that_are_listed_are_as_the_authors_program_builds_them(
    root, authors, questions, docs
):
    """About the paper's identities, in one order."""
    asked = [d for d in docs if d["first"] == 1 and not d["placebo"]]
    descriptors = json.loads(authors("hbb/descriptors.json").read_text())
    page = (root / "docs" / "explanation" / "hbb.md").read_text()
    built = as_the_program_builds(questions, descriptors, asked)
    same, contexts, rows = 0, 0, set()
    for d in asked:
        context, *options = built[d["concept"], d["type"], d["identity"]]
        same += (context, *options) == (d["context"], d["option_a"], d["option_b"])
        contexts += context != d["context"]
        if options != [d["option_a"], d["option_b"]]:
            rows.add(int(d["concept"]))
        for theirs, ours in zip(options, (d["option_a"], d["option_b"]), strict=True):
            if theirs != ours and theirs.casefold() != ours.casefold():
                assert int(d["concept"]) in (93, 391, 600, 657, 873, 880, 1080, 1092, 1480)
    assert f"{same:,} of the 77,350 questions are the same to the letter" in page
    assert f"and the contexts of {contexts:,}" in page
    assert f"({len(rows)} concept pairs)" in page
    assert tuple(sorted(rows)) == lexicon("hbb_official")["options_built_otherwise"]


# ---- Options


GROUPS = """
pronouns: {%s}
types:
  Shift:
    category: Work
    identities:
      Day: {descriptor: The day nurse, pronoun: x}
      Night: {descriptor: The night nurse, pronoun: x}
"""


def test_groups_of_ones_own_stand_in_place_of_table_10(folder, tmp_path):
    path = tmp_path / "groups.yaml"
    path.write_text(GROUPS % "x: {subject: ze, possessive: zir, object: zem}")
    asked = documents(groups=str(path))
    assert len(asked) == count(groups=str(path)) == 4 * 1_547 and {
        d["category"] for d in asked
    } == {"Work"}
    # 93, 873 and 1080
    assert sum("zem" in d["option_b"].split() for d in asked if d["first"] == 1) == 6
    with refused("the groups have no category 'Age'; expected one of Work"):
        documents(groups=str(path), category="Age")


def test_groups_must_have_the_forms_that_the_options_need(tmp_path):
    path = tmp_path / "groups.yaml"
    path.write_text(GROUPS % "x: {subject: ze}")
    with refused(
        r"need the forms subject, possessive, object of a pronoun; .*groups\.yaml lacks "
        "possessive, object"
    ):
        documents(groups=str(path))


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
    assert with_forms(text) == expected


def test_the_words_before_an_object_find_the_six_of_the_released_questions(folder):
    """All options with "[[X]]" behind another word were read."""
    found = {
        (int(concept["id"]), option): concept[f"option_{option}"].count("[[X:obj]]")
        for concept in concept_pairs()
        for option in (1, 2)
    }
    objects = {(93, 2): 1, (600, 1): 1, (873, 2): 1, (880, 1): 2, (1080, 2): 1}
    assert {place: n for place, n in found.items() if n} == objects


# ---- HBB-SG


@pytest.mark.slow
def test_the_sentences_are_the_options_in_order_with_option_1_first(folder):
    """1,547 concept pairs x 4 identities and 28 placebos."""
    mine = sentences(category="SES")
    assert len(mine) == 1_547 * 32
    for one, other in zip(mine, documents(order="paper", category="SES"), strict=True):
        options = [other.pop("option_a"), other.pop("option_b")]
        assert {**other, "choices": options, "split": 1} == one


# ---- In the harness


@pytest.mark.slow
def test_the_prompt_is_the_programs_with_its_line_break(folder, prompts):
    lm = RuleLM(lambda *_: 0.0)
    for task in ("hbb_official_ses", "hbb"):
        evaluate(lm, task, limit=1)
    asked = [request.args[0] for request in lm.requests]
    instruction = prompts["hbb"]["choice, probabilities"]
    assert "\n" in instruction and asked[0].startswith(f"{instruction}\n\nContext: ")
    assert asked[0].endswith("\nFinal Answer:")
    assert asked[-1].startswith(instruction.replace("\n", " "))

"""Items and groups of a person's own: the reader, what a file must hold, and that every builder
copes with other numbers than ours."""

import json
import os
import re
from collections import Counter
from functools import partial

import pytest
import yaml
from hypothesis import given, settings, strategies as st
from rule_model import RuleLM, evaluate

from lm_eval_bias import catalogue
from lm_eval_bias.answers.filters import Affect, Intensity, NLILabel
from lm_eval_bias.benchmarks.bistereo import (
    analogy_documents as bistereo_analogy,
    nli_documents as bistereo_nli,
    pairs_documents as bistereo_pairs,
)
from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.mist import documents as mist
from lm_eval_bias.data import schema as item_files
from lm_eval_bias.data.bounds import DEEPEST, FILE, loads
from lm_eval_bias.data.content import parsed
from lm_eval_bias.usage import UsageError, read_options
from tests.mistakes import refused
from tests.scripted import ask

AWKWARD = st.text('[]{}"\\\\ a,', max_size=6)


def depth(data):
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@given(st.integers(DEEPEST - 4, DEEPEST + 2), AWKWARD, AWKWARD, st.randoms())
def test_json_is_refused_beyond_the_deepest_level_whatever_its_texts_hold(levels, a, b, random):
    data = a
    for _ in range(levels):
        data = random.choice([{b: data}, {a: [b], b: data}, [b, data], [data, {a: [b, a]}]])
    if depth(data) <= DEEPEST:
        assert loads(json.dumps(data)) == data
    else:
        with pytest.raises(ValueError, match="more than 50 levels"):
            loads(json.dumps(data))


@pytest.fixture
def write(here):
    """Writes a file into the working directory; data that is no text as YAML."""

    def written(name, content):
        text = (
            content
            if isinstance(content, str)
            else yaml.safe_dump(content, allow_unicode=True, sort_keys=False)
        )
        (here / name).write_text(text, "utf-8")
        return name

    return written


# ---- What results call everything


@pytest.mark.parametrize(
    "known, change, place",
    [
        (
            hbb.FILES,
            lambda g: g["types"]["SES 1"].update(category="all"),
            "types > SES 1 > category",
        ),
        (mist.WABT_FILES, lambda g: renamed(g["groups"], "African"), "groups > all"),
        (bistereo_pairs.FILES, lambda g: renamed(g["axes"], "height"), "axes > all"),
        (
            bistereo_analogy.FILES,
            lambda g: renamed(g["contrasts"]["height"], "men"),
            "contrasts > height > all",
        ),
    ],
)
def test_no_group_has_the_name_of_the_whole(write, known, change, place):
    """A category "all" took the row of the whole in the table of categories, and a group "all"
    vanished from the figures of groups."""
    groups = json.loads(json.dumps(item_files.load(known)["groups"], default=dict))
    change(groups)
    wrong = "'all' is what results call everything together; give it another name"
    with refused(f"{place}: {wrong}"):
        item_files.checked(known, groups=write("own.yaml", json.dumps(groups)))


def renamed(groups, name):
    groups["all"] = groups.pop(name)


# ---- The reader

AROUND = (
    "around the whole field would be asked as part of it; leave them out, or write the file as "
    ".jsonl to keep them"
)
UNKNOWN = ["a.csv, line 2, “id”: unknown; did you mean id?", "a.csv, line 2: id is missing"]
ROWS = [{"id": "1", "text": 'she said "no"'}, {"id": "2", "text": "a, b; c"}]
SAME = {
    "a.tsv": 'id\ttext\n1\tshe said "no"\n2\ta, b; c\n',
    "a.csv": 'id,text\n1,"she said ""no"""\n2,"a, b; c"\n',
    "b.csv": 'id;text\n1;"she said ""no"""\n2;"a, b; c"\n',
    "a.jsonl": '{"id": 1, "text": "she said \\"no\\""}\n\n{"id": 2, "text": "a, b; c"}\n',
    "a.yaml": "- id: 1\n  text: she said \"no\"\n- {id: '2', text: 'a, b; c'}\n",
    "sep.csv": 'sep=;\r\nid;text\r\n1;"she said ""no"""\r\n2;"a, b; c"\r\n',
    "sep_comma.csv": '\ufeff"sep=,"\nid,text\n1,"she said ""no"""\n2,"a, b; c"\n',
    "tabs.csv": 'id\ttext\n1\t"she said ""no"""\n2\t"a, b; c"\n',
    "old_mac.csv": 'id,text\r1,"she said ""no"""\r2,"a, b; c"\r',
    # columns and rows that a spreadsheet once had, of which one lies between
    "empty.csv": 'id,,text,,\n1,,"she said ""no""",,\n, ,,,\n2,,"a, b; c",,\n,,,,\n\n,,,,\n',
}
FIELDS = item_files.Fields(id=item_files.Text(), text=item_files.Text())
TABLE = {"items": item_files.ItemFile("", item_files.Rows(FIELDS, unique=["id"]))}


@pytest.mark.parametrize("name", SAME)
def test_every_kind_of_table_holds_the_same(write, name):
    loaded = item_files.load(TABLE, items=write(name, SAME[name]))["items"]
    assert [dict(row) for row in loaded] == ROWS
    with pytest.raises(TypeError):
        loaded[0]["id"] = "3"


def problems(known, **paths):
    with pytest.raises(UsageError) as error:
        item_files.load(known, **paths)
    lines = map(str.strip, str(error.value).split("\n"))
    return [line for line in lines if not re.fullmatch(r"\d+ problems:", line)]


def causes(known, **paths):
    """Without file and line."""
    return [re.sub(r"^\S+, line \d+[,:] ", "", problem) for problem in problems(known, **paths)]


@pytest.mark.parametrize(
    "name, content, expected",
    [
        (
            "a.tsv",
            "id\ttext\n1\n2\t\n2\t x\n",
            [
                "a.tsv, line 2: expected 2 fields as in the header, found 1",
                "a.tsv, line 3, text: empty",
                "a.tsv, line 4, text: ' x' begins or ends with a space",
                "a.tsv, line 4, id: 2 stands in row 2 too",
            ],
        ),
        (
            "a.csv",
            'sep=;\nid;text;\n1;"two\nlines";\n;;\n2;;\n3;x;y\n',
            [
                "a.csv, line 6, text: empty",
                "a.csv, line 7: expected 2 fields as in the header, found 3",
            ],
        ),
        (
            "a.csv",
            "id,,text,id\n1,x,y,2\n",
            [
                "a.csv, line 1: two columns are called id",
                "a.csv, line 2: a field stands in a column without a title",
            ],
        ),
        (
            "a.csv",
            "id,text\n1,“Yes.”\n2,“Yes,” she said. “No.”\n«3»,yes\n4,„Ja“\n5,'tis ‘so’\n6,“a, b”\n",
            [
                f"a.csv, line 2, text: “ and ” {AROUND}",
                "a.csv, line 3: expected 2 fields as in the header, found 3; quotes around a field "
                'are straight ("), others are part of the text',
                f"a.csv, line 4, id: « and » {AROUND}",
                f"a.csv, line 5, text: „ and “ {AROUND}",
                "a.csv, line 7: expected 2 fields as in the header, found 3; quotes around a field "
                'are straight ("), others are part of the text',
            ],
        ),
        (
            "a.tsv",
            'id\ttext\n1\t"a, b"\n2\t"Yes," she said. "No."\n3\t“Yes,” she said. “No.”\n',
            [f'a.tsv, line 2, text: " and " {AROUND}'],
        ),
        (
            "a.tsv",
            'id\ttext\n1\t"she said ""no"" and left"\n',  # as a spreadsheet writes it
            [f'a.tsv, line 2, text: " and " {AROUND}'],
        ),
        (
            "a.csv",
            'id,text\n1,a\n2,"b\n3,c\n',
            [
                'a.csv, line 3: not a table: unexpected end of data; a " is not closed, or closed '
                "within a field"
            ],
        ),
        (
            "a.jsonl",
            '{"id": 1, "text": "a", "id": 2}',
            ["a.jsonl, line 1: 'id' stands there twice"],
        ),
        ("a.csv", "“id”,text\n1,x\n", [f"a.csv, line 1: “ and ” {AROUND}", *UNKNOWN]),
        (
            "a.jsonl",
            '{"id": 1, "text": true}\n{"id": 2\n[]\n',
            [
                "a.jsonl, line 1, text: expected a text, found true; write it in quotes",
                "a.jsonl, line 2: not JSON: Expecting ',' delimiter: line 1 column 9 (char 8)",
                "a.jsonl, line 3: expected id, text, found a list",
            ],
        ),
        (
            "a.jsonl",
            '{"id": "\\\\ud800", "text": "\\ud83d\\ude00"}\n{"id": "\\ud800"}\n'
            + "[" * 9999
            + "]" * 9999,
            [
                'a.jsonl, line 2: half of a character, such as "\\ud800"; write the whole one',
                "a.jsonl, line 3: more than 50 levels of lists and mappings",
            ],
        ),
        (
            "a.yaml",
            "- id: 1\n  text: " + "[" * 60,
            ["a.yaml, line 2: not YAML: more than 50 levels of lists and mappings"],
        ),
        (
            "a.yaml",
            "- id: a\n  text: no\n  colour: red\n- id: b\n",
            [
                "a.yaml, line 2, text: expected a text, found false; write it in quotes",
                "a.yaml, line 3, colour: unknown; expected one of id, text",
                "a.yaml, line 4: text is missing",
            ],
        ),
        (
            "a.yaml",
            "- {id: a, text: b, id: c}\n",
            ["a.yaml, line 1, id: stands here twice, the second time in line 1"],
        ),
        (
            "a.yaml",
            "- id: a\n  text: [\n",
            ["a.yaml, line 3: not YAML: did not find expected node content"],
        ),
        (
            "a.yaml",
            "id: a\n",
            ["a.yaml, line 1: expected rows: a table, JSON lines or a list in YAML"],
        ),
        ("a.tsv", "", ["a.tsv, line 1: expected 1 rows at least, found 0"]),
        ("a.txt", "", ["a.txt: expected a file that ends in .tsv, .csv, .jsonl or .yaml"]),
    ],
)
def test_all_that_is_wrong_with_a_table_is_told_with_its_line(write, name, content, expected):
    assert problems(TABLE, items=write(name, content)) == expected


def test_a_file_that_is_not_there_or_not_utf_8(write, tmp_path):
    os.mkfifo(tmp_path / "pipe.tsv")
    (tmp_path / "large.tsv").write_bytes(b"\0" * (FILE + 1))
    (tmp_path / "latin.tsv").write_bytes("id\ttext\n1\tBär\n".encode("latin-1"))
    for path, problem in (
        ("absent.tsv", "cannot read absent.tsv: No such file or directory"),
        ("latin.tsv", "latin.tsv, line 2: not UTF-8; save the file as UTF-8"),
        ("pipe.tsv", "cannot read pipe.tsv: it is a pipe or a device; give a file"),
        ("large.tsv", "cannot read large.tsv: it has more than 64 MB"),
    ):
        assert problems(TABLE, items=path) == [problem]


@pytest.mark.parametrize("text", ["010", "1:30", "1_0", "0x10", "2020-01-01", ".nan", "a"])
def test_only_plain_decimal_numbers_are_numbers_in_yaml(text):
    content = parsed("a.yaml", "yaml", f"[{text}, 10, -1.5e1, .5, no, null]".encode())
    assert content.data == (text, 10, -15.0, 0.5, False, None)


@given(
    st.sampled_from(["tsv", "csv", "jsonl", "yaml"]),
    st.binary(max_size=80) | st.text(max_size=80).map(lambda t: t.encode("utf-8", "ignore")),
)
@settings(max_examples=60)
def test_no_file_ends_in_anything_but_its_rows_or_a_usage_error(tmp_path_factory, kind, content):
    path = tmp_path_factory.getbasetemp() / f"any.{kind}"
    path.write_bytes(content)
    try:
        loaded = item_files.load(TABLE, items=str(path))
    except UsageError as error:
        assert str(path) in str(error)
    else:
        assert isinstance(loaded["items"], tuple) and loaded["items"]


# ---- Options


def test_a_file_for_another_task_of_the_run_is_told_with_the_task_that_refuses_it(write):
    path = write("g.yaml", lexicon())
    assert read_options("mist_wabt", {"groups": path}, mist.WABTOptions)["groups"] == path
    unknown = "groups: unknown; expected one of pronouns, types, names, language"
    with refused(rf"^hbb: 5 problems:\n  g\.yaml, line 1, {unknown}\n"):
        read_options("hbb", {"groups": path}, hbb.HBBOptions)


def test_the_options_name_the_file_and_its_sha256(write):
    path = write("mist.yaml", item_files.shipped("mist.yaml").read_text())
    given = mist.WABTOptions.read({"groups": path})
    assert given["groups"] == "mist.yaml" and re.fullmatch("[0-9a-f]{64}", given["groups_sha256"])
    file = f"mist.yaml sha256:{given['groups_sha256'][:12]}"
    assert item_files.file_fingerprints(given) == {"groups_file": file}
    given = mist.WABTOptions.read({})
    assert item_files.file_fingerprints(given) == {} and "groups" not in given


def test_a_file_that_a_yaml_names_is_looked_for_here_and_then_beside_it(write, tmp_path):
    (tmp_path / "mine").mkdir()
    write("mine/a.tsv", "one")
    located = partial(
        item_files.with_resolved_paths, {"items": "a.tsv"}, tmp_path / "mine" / "task.yaml"
    )
    assert located() == {"items": "mine/a.tsv"}
    write("a.tsv", "two")
    with refused("have one each, and they differ; give its full path"):
        located()
    write("a.tsv", "one")
    assert located() == {"items": "a.tsv"}


# ---- HBB

GERMAN = "docs/examples/hbb_german"


def test_german_articles_pronouns_and_commas_come_from_the_file(root):
    files = (str(root / GERMAN / name) for name in ("concepts.tsv", "groups.yaml"))
    german = hbb.documents("paper", *files)
    texts = {
        (d["concept"], d["type"], d["identity"]): (d["context"], d["option_a"], d["option_b"])
        for d in german
    }
    assert len(german) == 20 * 15
    for *key, i, part in (
        ("de09", "Alter", "alt", 0, "Die alte Frau hatte zugesagt, am Wochenende den Zaun vor"),
        ("de02", "Alter", "alt", 0, "Kurz vor Ladenschluss ging die alte Frau ohne Zettel"),
        ("de02", "Geschlecht", "Mann", 2, "fiel ihm die Butter wieder ein."),
        ("de10", "Herkunft 2", "polnisch", 2, "Zwei Scheine zog sie aus ihrer Jacke"),
        (
            "de10",
            "Herkunft 2",
            "türkisch",
            0,
            "blieb Elif, deren Familie aus der Türkei kommt, vor",
        ),
    ):
        assert part in texts[*key][i]
    for text in (text for of_one in texts.values() for text in of_one):
        assert "[[" not in text and "{" not in text and text[0].isupper()
        assert not re.search(r"\b(she|he|her|his|him|the)\b", text)


THEY = ("they", "their", "them", "themself", "Mx")
FORMS = ("subject", "possessive", "object", "reflexive", "title")
PRONOUNS = {"they": dict(zip(FORMS, THEY, strict=True))}
CONCEPT = {
    "id": "c",
    "concept_1": "x",
    "concept_2": "y",
    "context": "[[X]] sat.",
    "option_1": "[[X:title]] Jo hurt [[X:self]].",
    "option_2": "[[X]] left.",
}


def test_problems_of_both_files_of_hbb_are_told_at_once(write, tmp_path):
    identities = {"x": {"descriptor": "The x"}, "y": {"descriptor": "The y", "pronoun": "it"}}
    one = {"z": {"descriptor": "Z", "pronoun": "they"}}
    broken = {
        "pronouns": {**PRONOUNS, "she": {"subject": "she"}},
        "names": {"all": {"Kim": "her"}},
        "types": {
            "A": {"category": "A", "identities": identities},
            "B": {"category": "B", "identities": one},
        },
    }
    groups = write("g.yaml", broken)
    items = write("i.yaml", [{**CONCEPT, "favourable": 3}])
    # B, category, identities
    line = (tmp_path / "g.yaml").read_text().split("  B:")[0].count("\n") + 3
    assert problems(hbb.FILES, items=items, groups=groups) == [
        f"g.yaml, line {line}, types > B > identities: expected 2 at least, found 1",
        "i.yaml, line 7, favourable: '3' is not one of 0, 1, 2",
    ]
    del broken["types"]["B"]
    lacking = [f"{form} is missing, which they has" for form in FORMS[1:]]
    assert causes(hbb.FILES, items=items, groups=write("g.yaml", broken)) == [
        *(f"pronouns > she: {problem}" for problem in lacking),
        "names > all > Kim: 'her' is not one of the pronouns (they, she)",
        "types > A > identities > x: pronoun is missing; without it the descriptor must hold "
        "{name}, whose pronoun is taken",
        "types > A > identities > y > pronoun: 'it' is not one of the pronouns (they, she)",
        "favourable: '3' is not one of 0, 1, 2",
    ]


def test_pronouns_of_a_type_differ_only_where_it_says_so_and_a_category_is_placebo_or_not(write):
    items = write("i.yaml", [{**CONCEPT, "option_1": "[[X]] ate."}])

    def identities():
        return {p: {"descriptor": p, "pronoun": p} for p in ("he", "she")}

    def files(**types):
        types = {t: {"category": "A", "identities": identities(), **m} for t, m in types.items()}
        groups = {"pronouns": {p: {"subject": p} for p in identities()}, "types": types}
        return {"items": items, "groups": write("g.yaml", groups)}

    assert causes(hbb.FILES, **files(A={})) == [
        "types > A > identities: the pronouns differ (he and she), and with them the "
        "options: give all the same, or the type gendered: true where that is meant"
    ]
    assert item_files.load(hbb.FILES, **files(A={"gendered": True}))
    placebo = {"gendered": True, "placebo": True}
    assert causes(hbb.FILES, **files(A=placebo, B={"gendered": True})) == [
        "types > B: placebo: true is missing, which another type of the category A has"
    ]


# ---- MIST


def lexicon(sizes=((1, 1),), neutral=1):
    """A domain of two groups for each of `sizes`, the numbers of their identifiers; a word of each
    polarity; so many neutral words."""
    groups = {
        f"{side}{i}": {
            "domain": f"d{i}",
            "side": side,
            "identifiers": [f"{side}{i}-{k}" for k in range(n)],
        }
        for i, pair in enumerate(sizes)
        for side, n in zip("ab", pair, strict=True)
    }
    return {
        "groups": groups,
        "attributes": {"q": {"positive": ["good"], "negative": ["bad"]}},
        "neutral_words": {"all": [f"n{k}" for k in range(neutral)]},
    }


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=3),
    st.integers(1, 31),
    st.integers(0, 10**6),
)
@settings(max_examples=30)
def test_aat_never_asks_an_identifier_and_a_word_twice(tmp_path_factory, sizes, neutral, seed):
    path = tmp_path_factory.getbasetemp() / "g.yaml"
    path.write_text(yaml.safe_dump(lexicon(sizes, neutral)))
    options = mist.AATOptions.read({"groups": str(path)})
    docs = mist.attributions(seed, options["combinations"], str(path))
    asked = Counter((d["identifier"], d["word"], d["template"]) for d in docs)
    assert set(asked.values()) == {1} and len(docs) == 3 * options["combinations"]


# ---- Empathy

CASTES = {
    "categories": {"caste": {"Brahmin": ["a Brahmin"], "Dalit": ["a Dalit", "a Dalit person"]}},
    "emotions": {"joy": "positive", "anger": "negative"},
}
EVENTS = "id,emotion,t0\nj1,joy,my sister called\na1,anger,the bus left early\n"


def test_a_category_of_ones_own_without_an_unspecified_person(write, tmp_path):
    """Ten points more for one's own group, 2 + 1 names: the gap is 10."""
    write("g.yaml", CASTES)
    write("e.csv", EVENTS)
    task = {
        "include": f"{catalogue.tasks_folder()}/empathy/_empathy.yaml",
        "task": "empathy_caste",
        "dataset_kwargs": {"category": "caste"},
        "metadata": {"version": 1, "groups": "g.yaml", "items": "e.csv"},
    }
    write("task.yaml", task)

    def say(prompt):
        perceiver = re.search(r"You are (.*?)\.\n", prompt)[1]
        experiencer = re.search(r"narrative, (.*?) describes", prompt)[1]
        return "60" if ("Dalit" in perceiver) == ("Dalit" in experiencer) else "50"

    results = evaluate(RuleLM(say=say), "empathy_caste", folder=tmp_path)
    numbers = results["results"]["empathy_caste"]
    assert numbers["events,intensity"] == 2
    assert numbers["gap_points,intensity"] == pytest.approx(10)
    rows = results["configs"]["empathy_caste"]["cells"]["emotions"]
    assert {row["emotion"] for row in rows} == {"joy", "anger"}
    assert catalogue.task("empathy_caste", [tmp_path]).documents == 18


def test_mistakes_in_events_and_categories(write):
    groups, items = write("g.yaml", CASTES), write("e.csv", EVENTS)
    with refused(r"no category 'religion'; expected one of caste"):
        empathy.documents("religion", items=items, groups=groups)
    with refused(r"in the form t1, which e\.csv lacks"):
        empathy.documents("caste", form="t1", items=items, groups=groups)
    with refused(r"in the form t0, which .*h\.csv lacks"):  # as `check` counts
        empathy.count("caste", items=write("h.csv", EVENTS.replace("t0", "t1")), groups=groups)
    with refused(r"g\.yaml lacks disgust, fear"):
        empathy.documents("caste", groups=groups, events_per_emotion=25)
    more = write("f.csv", EVENTS + "f1,fear,a noise\n")
    assert problems(empathy.FILES, groups=groups, items=more) == [
        "f.csv, line 4, emotion: 'fear' is not one of the groups' emotions (joy, anger)"
    ]
    twice = {**CASTES, "categories": {"caste": {"Brahmin": ["a Dalit"], "Dalit": ["a Dalit"]}}}
    assert causes(empathy.FILES, groups=write("g.yaml", twice), items=items) == [
        "categories > caste > Dalit > entry 1: 'a Dalit' stands for Brahmin too"
    ]


# ---- BIStereo-NLI

GOOD = {"effect": "halo", "words": [{"base": "schön", "eine": "eine schöne"}]}
BAD = {"effect": "horn", "words": [{"base": "hässlich", "eine": "eine hässliche"}]}
SIZES = {
    "tall": {"base": "groß", "eine": "eine große"},
    "short": {"base": "klein", "eine": "eine kleine"},
}
ADJECTIVES = {"attributes": {"looks": {"good": GOOD, "bad": BAD}}, "descriptors": SIZES}
TEMPLATE = {
    "wording": "w",
    "gender": "women",
    "domain": "looks",
    "premise": "[X:eine] Frau kam.",
    "hypothesis": "Die Frau war [Y].",
}


def test_any_two_descriptors_and_other_label_words_through_the_harness(write, tmp_path):
    """Entailment for what is tall and beautiful or short and ugly: both gaps are 100."""
    write("g.yaml", ADJECTIVES)
    write("t.yaml", [TEMPLATE])
    task = {
        "include": f"{catalogue.tasks_folder()}/bistereo/bistereo_nli_generate.yaml",
        "task": "nli_german",
        "doc_to_text": "{{premise}} {{hypothesis}}",
        "metadata": {"version": 1, "groups": "g.yaml", "items": "t.yaml"},
    }
    labels = "{entailment: [Folgerung], contradiction: [Widerspruch], neutral: [Neutral]}"
    keys = f"labels: {labels}, refusals: ['tut mir leid']"
    step = f"function: !function lm_eval_bias.answers.filters.NLILabel, {keys}"
    steps = f"filter_list: [{{name: label, filter: [{{{step}}}]}}]\n"
    write("task.yaml", yaml.safe_dump(task, allow_unicode=True) + steps)

    def say(prompt):
        if prompt.endswith("Die Frau war hässlich.") and "kleine" in prompt:
            return "Tut mir leid."
        return "**Folgerung**" if ("groß" in prompt) == ("schön" in prompt) else "Neutral."

    numbers = evaluate(RuleLM(say=say), "nli_german", folder=tmp_path)["results"]["nli_german"]
    assert numbers["halo_gap,label"] == 50 and numbers["horn_gap,label"] == 50
    assert numbers["refused,label"] == numbers["unanswered,label"] == 100 / 8


# ---- BIStereo-Pairs

HAIR = {
    "attributes": {"positive": ["able", "kind"], "negative": ["dull"]},
    "axes": {
        "hair": [
            {"desirable": "long-haired", "undesirable": "bald"},
            {"desirable": "blond", "undesirable": "grey"},
        ]
    },
    "an": ["able"],
}
LINES = [
    {
        "wording": "h1",
        "axis": "hair",
        "women": 2,
        "men": 1,
        "text": "{Here|There} sat [a] <[A] >[B] [woman/man].",
    },
    {
        "wording": "h2",
        "axis": "hair",
        "women": 0,
        "men": 1,
        "text": "[B]< and [A]>, [she/he] left.",
    },
]


def test_axes_descriptors_and_attributes_of_ones_own(write):
    """3 attributes and none, of 2 descriptor pairs: 8 for each variant and gender; 2 + 1 of h1, and
    1 of h2."""
    docs = bistereo_pairs.documents(items=write("i.yaml", LINES), groups=write("g.yaml", HAIR))
    assert len(docs) == 8 * 4
    columns = ("wording", "variant", "gender", "desirable", "attribute")
    texts = {tuple(d[c] for c in columns): d["desirable_sentence"] for d in docs}
    assert texts["h1", 1, "women", "blond", "able"] == "There sat an able blond woman."
    assert texts["h1", 0, "men", "long-haired", None] == "Here sat a long-haired man."
    assert texts["h2", 0, "men", "blond", "dull"] == "Blond and dull, he left."
    assert Counter(d["gender"] for d in docs) == {"women": 16, "men": 16}


# ---- What only a benchmark knows to be wrong

HOW_MANY = "women: expected how many of its 2 alternatives are asked, a number from 0, found"
WRONG = {
    "mist": [
        (
            lambda g, _: g["groups"]["b0"].update(side="a"),
            "groups: the domain d0 has 2 groups of side a and 0 of side b, expected one of a and "
            "at least one of b",
        ),
        (
            lambda g, _: g["groups"]["b0"].update(identifiers=["Á0-0"]),  # read alike
            "groups > b0 > identifiers > entry 1: 'Á0-0' stands for a0 too",
        ),
        (
            lambda g, _: g["attributes"]["q"].update(negative=["Good"]),
            "attributes > q > negative > entry 1: 'Good' is positive too",
        ),
    ],
    "nli": [
        (
            lambda _, i: i.update(domain="mind"),
            "domain: 'mind' is not one of the groups' domains (looks)",
        ),
        (
            lambda _, i: i.update(premise="Eine Frau kam."),
            "premise: expected one slot, [X] or [Y] or one with a form, found 0",
        ),
        (
            lambda _, i: i.update(hypothesis="Die Frau war [Y:einen]."),
            "hypothesis: [Y:einen] is no form of the words (base, eine)",
        ),
        (
            lambda _, i: i.update(premise="{Heute|Dann} kam [X:eine] Frau {an|vorbei|hinzu}."),
            "premise: groups of 2 and 3 alternatives; they go together, so give each as many",
        ),
    ],
    "pairs": [
        (lambda _, i: i.update(axis="nose"), "axis: 'nose' is not one of the groups' axes (hair)"),
        *((lambda _, i, n=n: i.update(women=n), f"{HOW_MANY} {str(n)!r}") for n in (3, "-1", 1.5)),
        (
            lambda _, i: i.update(text="{Here|There} sat a <[A] >[B] one."),
            "text: 'a [A]': write [a], which is a or an as the word has it",
        ),
        (
            lambda g, _: g["attributes"].update(negative=["kind"]),
            "attributes > negative > entry 1: 'kind' stands among the positive ones too",
        ),
        # else the two sentences would differ in a and an too
        (
            lambda g, _: g["axes"].update(hair=[{"desirable": "able", "undesirable": "bald"}]),
            "text: [a] before able and bald: the sentences would differ in the article too",
        ),
    ],
}
FILES = {
    "mist": (mist.WABT_FILES, lexicon(), None),
    "nli": (bistereo_nli.FILES, ADJECTIVES, TEMPLATE),
    "pairs": (bistereo_pairs.FILES, HAIR, LINES[0]),
}


@pytest.mark.parametrize(
    "name, change, cause", [(name, *case) for name, cases in WRONG.items() for case in cases]
)
def test_what_is_wrong_with_groups_or_items_is_told(write, name, change, cause):
    known, *files = FILES[name]
    groups, item = json.loads(json.dumps(files))
    change(groups, item)
    items = write("i.yaml", [item]) if item else None
    assert causes(known, groups=write("g.yaml", groups), items=items) == [cause]


# ---- Answers in another language


@pytest.mark.parametrize(
    "made, message",
    [
        (
            lambda: NLILabel(refusal=["x"]),
            "filter NLILabel: unknown key 'refusal'; it takes refusals and labels and denials",
        ),
        (
            lambda: Intensity(labels={"a": ["b"]}),
            "filter Intensity: unknown key 'labels'; it takes refusals",
        ),
        (
            lambda: Affect(labels={"entailment": ["b"]}),
            "unknown label 'entailment'; expected comedy, tragedy, neutrality",
        ),
        (lambda: NLILabel(refusals="nein"), "refusals: expected a list of texts, found 'nein'"),
        (lambda: NLILabel(refusals=["("]), "is no regular expression"),
    ],
)
def test_a_mistake_in_a_filter_is_told_before_the_model_is_asked(made, message):
    with refused(re.escape(message)):
        made()


# ---- Runs that are put together


def test_merge_refuses_runs_on_different_items(write, command, tmp_path):
    for i in "12":
        given = {"items": write(f"i{i}.yaml", [{**CONCEPT, "id": i, "option_1": "[[X]] ate."}])}
        ask(tmp_path / i, "m", RuleLM(lambda *_: -1.0), "hbb", metadata=given)
    merge = "merge", "hbb", *sorted(tmp_path.rglob("samples_*"))
    status, _, error = command(*merge)
    assert status == 1 and "these runs do not belong together: items_sha256 is" in error
    for results in tmp_path.rglob("results_*"):
        results.unlink()
    assert "items_file is i2.yaml sha256:" in command(*merge)[2]

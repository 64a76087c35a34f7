"""Items and groups of a person's own: the reader, what a file must hold, and that every builder
copes with other numbers than ours."""

import ast
import inspect
import json
import math
import re
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path

import lm_eval
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_model import RuleLM, evaluate

from lm_eval_bias import catalogue, cli
from lm_eval_bias.answers.filters import Affect, Intensity, NLILabel, WordPairs
from lm_eval_bias.benchmarks.bistereo import analogy_documents as bistereo_analogy
from lm_eval_bias.benchmarks.bistereo import nli_documents as bistereo_nli
from lm_eval_bias.benchmarks.bistereo import pairs_documents as bistereo_pairs
from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.hbb import official_documents as hbb_official
from lm_eval_bias.benchmarks.hbb import sg_documents as hbb_sg
from lm_eval_bias.benchmarks.hbb import sg_official_documents as hbb_sg_official
from lm_eval_bias.benchmarks.mist import documents as mist
from lm_eval_bias.benchmarks.stereomap import documents as stereomap
from lm_eval_bias.data import schema as item_files
from lm_eval_bias.data.content import parsed
from lm_eval_bias.usage import UsageError, read_options


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a file into the working directory; data that is no text as YAML."""
    monkeypatch.chdir(tmp_path)

    def written(name, content):
        text = (
            content
            if isinstance(content, str)
            else yaml.safe_dump(content, allow_unicode=True, sort_keys=False)
        )
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return written


# ---- What results call everything


@pytest.mark.parametrize(
    ("module", "files", "change", "place"),
    [
        (
            hbb,
            "FILES",
            lambda g: g["types"]["SES 1"].update(category="all"),
            "types > SES 1 > category",
        ),
        (
            mist,
            "WABT_FILES",
            lambda g: g["groups"].update(all=g["groups"].pop("African")),
            "groups > all",
        ),
        (
            bistereo_pairs,
            "FILES",
            lambda g: g["axes"].update(all=g["axes"]["height"]),
            "axes > all",
        ),
        (
            bistereo_analogy,
            "FILES",
            lambda g: g["contrasts"]["height"].update(all=g["contrasts"]["height"]["men"]),
            "contrasts > height > all",
        ),
    ],
)
def test_no_group_has_the_name_of_the_whole(write, module, files, change, place):
    """A category "all" took the row of the whole in the table of categories, and a group "all"
    vanished from the figures of groups."""
    name = getattr(module, files)["groups"].default
    groups = yaml.safe_load(item_files.shipped(name).read_text(encoding="utf-8"))
    change(groups)
    groups = json.loads(json.dumps(groups))  # without shared parts, which YAML writes as aliases
    with pytest.raises(
        UsageError,
        match=rf"{place}: 'all' is what results call everything together; give it another name",
    ):
        item_files.checked(getattr(module, files), groups=write("own.yaml", groups))


# ---- The reader

ROWS = [{"id": "1", "text": 'she said "no"'}, {"id": "2", "text": "a, b; c"}]
SAME = {
    "a.tsv": 'id\ttext\n1\tshe said "no"\n2\ta, b; c\n',
    "a.csv": 'id,text\n1,"she said ""no"""\n2,"a, b; c"\n',
    "b.csv": 'id;text\n1;"she said ""no"""\n2;"a, b; c"\n',
    "a.jsonl": '{"id": 1, "text": "she said \\"no\\""}\n\n{"id": 2, "text": "a, b; c"}\n',
    "a.yaml": "- id: 1\n  text: she said \"no\"\n- {id: '2', text: 'a, b; c'}\n",
    "bom.csv": '\ufeffid,text\r\n1,"she said ""no"""\r\n2,"a, b; c"\r\n',
}
TABLE = {
    "items": item_files.ItemFile(
        None,
        item_files.Rows(
            item_files.Fields(id=item_files.Text(), text=item_files.Text()), unique=["id"]
        ),
    )
}


@pytest.mark.parametrize("name", SAME)
def test_every_kind_of_table_holds_the_same(write, name):
    loaded = item_files.load(TABLE, items=write(name, SAME[name]))["items"]
    assert [dict(row) for row in loaded] == ROWS
    with pytest.raises(TypeError):
        loaded[0]["id"] = "3"


def problems(known, **paths):
    with pytest.raises(UsageError) as error:
        item_files.load(known, **paths)
    return [
        line.strip()
        for line in str(error.value).split("\n")
        if not re.fullmatch(r"\d+ problems:", line)
    ]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
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
        ("a.csv", 'id,text\n1,"two\nlines"\n2,""\n', ["a.csv, line 4, text: empty"]),
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
            ["a.yaml, line 3: not YAML: expected the node content, but found '<stream end>'"],
        ),
        (
            "a.yaml",
            "id: a\n",
            ["a.yaml, line 1: expected rows: a table, JSON lines or a list in YAML"],
        ),
        ("a.tsv", "id\ttext\n", ["a.tsv, line 1: expected 1 rows at least, found 0"]),
        ("a.tsv", "", ["a.tsv, line 1: expected 1 rows at least, found 0"]),
        ("a.txt", "", ["a.txt: expected a file that ends in .tsv, .csv, .jsonl or .yaml"]),
    ],
)
def test_all_that_is_wrong_with_a_table_is_told_with_its_line(write, name, content, expected):
    assert problems(TABLE, items=write(name, content)) == expected


def test_a_file_that_is_not_there_or_not_utf_8(write, tmp_path):
    assert problems(TABLE, items="absent.tsv") == [
        "cannot read absent.tsv: No such file or directory"
    ]
    (tmp_path / "latin.tsv").write_bytes("id\ttext\n1\tBär\n".encode("latin-1"))
    assert problems(TABLE, items="latin.tsv") == [
        "latin.tsv, line 2: not UTF-8; save the file as UTF-8"
    ]
    assert problems(TABLE, items=3) == ["items=3 in --metadata: expected the path of a file"]


def test_a_long_list_of_problems_ends_with_a_number(write):
    found = problems(
        TABLE, items=write("a.tsv", "id\ttext\n" + "".join(f"{i}\t\n" for i in range(100)))
    )
    assert len(found) == item_files.SHOWN + 1 and found[-1] == "... and 60 more"


def test_aliases_and_deep_nesting_are_refused_at_once(write):
    """A file of 370 bytes stood for 9 ** 9 texts, and ran for minutes."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi")
    )
    wrong = "a.yaml, line 1: not YAML: anchors (&name) and aliases (*name) are not read; write the"
    (problem,) = problems(TABLE, items=write("a.yaml", bomb))
    assert len(bomb) < 400 and problem.startswith(wrong)
    (problem,) = problems(TABLE, items=write("a.yaml", "- id: 1\n  text: " + "[" * 30))
    assert problem == "a.yaml, line 2: not YAML: more than 20 levels of lists and names"


@pytest.mark.parametrize("text", ["010", "1:30", "1_0", "0x10", "2020-01-01", ".nan", "a"])
def test_only_plain_decimal_numbers_are_numbers_in_yaml(text):
    content = parsed("a.yaml", "yaml", f"[{text}, 10, -1.5e1, .5, no, null]".encode())
    assert content.data == (text, 10, -15.0, 0.5, False, None)


@given(
    st.sampled_from(["tsv", "csv", "jsonl", "yaml"]),
    st.binary(max_size=80) | st.text(max_size=80).map(lambda t: t.encode("utf-8", "ignore")),
)
@settings(max_examples=200)
def test_no_file_ends_in_anything_but_its_rows_or_a_usage_error(tmp_path_factory, kind, content):
    path = tmp_path_factory.getbasetemp() / f"any.{kind}"
    path.write_bytes(content)
    try:
        loaded = item_files.load(TABLE, items=str(path))
    except UsageError as error:
        assert str(path) in str(error)
    else:
        assert isinstance(loaded["items"], tuple) and loaded["items"]


ALL = [
    (hbb.FILES, "hbb"),
    (mist.WABT_FILES, "mist"),
    (mist.AAT_FILES, "mist"),
    (empathy.FILES, "empathy"),
    (bistereo_nli.FILES, "bistereo_nli"),
    (bistereo_analogy.FILES, "bistereo_analogy"),
    (bistereo_pairs.FILES, "bistereo_pairs"),
    (stereomap.FILES, "stereomap"),
]


def ours(name):
    return str(item_files.shipped(name))


@pytest.mark.parametrize(("known", "name"), ALL)
def test_our_own_files_go_the_same_way(known, name):
    """Given by path they are what the task has anyway; so what a check accepts, the builder can
    use."""
    paths = {option: ours(file.default) for option, file in known.items()}
    assert item_files.load(known, **paths) == item_files.load(known)


# ---- Options


@pytest.fixture(scope="module")
def model_arguments():
    """The names of the arguments of every model type of the harness, from their source: some need
    packages that are not here."""
    sources = Path(lm_eval.__file__).parent.glob("models/*.py")
    makers = [
        node
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    ]
    # to vLLM and transformers
    handed_on = {"gpu_memory_utilization", "group_size", "num_gpus", "max_num_seqs", "load_in_4bit"}
    return handed_on | {
        argument.arg for maker in makers for argument in (*maker.args.args, *maker.args.kwonlyargs)
    }


@pytest.mark.parametrize(
    "options",
    [
        hbb.options,
        hbb.generate_options,
        hbb_official.options,
        hbb_official.generate_options,
        hbb_sg.options,
        partial(
            hbb_sg_official.options, sentences="one"
        ),  # the other needs a file that is not here
        mist.aat_options,
        mist.wabt_options,
        empathy.options,
        empathy.official_options,
        bistereo_nli.options,
        bistereo_analogy.options,
        bistereo_pairs.options,
        stereomap.extended_options,
    ],
)
def test_no_argument_of_a_model_is_nearly_an_option(model_arguments, options):
    assert {"pretrained", "base_url", "num_concurrent", "seed"} <= model_arguments
    own = set(inspect.signature(options).parameters)
    assert not model_arguments & set(item_files.OPTIONS)
    read_options("a_task", dict.fromkeys(model_arguments - own, 1), options)


def test_a_misspelt_file_is_an_error():
    with pytest.raises(UsageError, match="Did you mean 'groups'"):
        read_options("hbb", {"group": "x.yaml"}, hbb.options)


def test_a_file_for_another_task_of_the_run_is_told_with_the_task_that_refuses_it(write):
    path = write("g.yaml", lexicon(1, 1, [(1, 1)], 1, 1))
    assert read_options("mist_wabt", {"groups": path}, mist.wabt_options)["groups"] == path
    with pytest.raises(
        UsageError,
        match=(
            r"^hbb: 5 problems:\n  g\.yaml, line 1, groups: unknown; expected one of "
            r"pronouns, types, names, language\n"
        ),
    ):
        read_options("hbb", {"groups": path}, hbb.options)


def test_the_options_name_the_file_and_its_sha256(write):
    path = write("mist.yaml", Path(ours("mist.yaml")).read_text(encoding="utf-8"))
    given = mist.wabt_options(groups=path)
    assert given["groups"] == "mist.yaml" and re.fullmatch("[0-9a-f]{64}", given["groups_sha256"])
    assert item_files.marks(given) == {
        "groups_file": f"mist.yaml sha256:{given['groups_sha256'][:12]}"
    }
    assert item_files.marks(mist.wabt_options()) == {} and "groups" not in mist.wabt_options()


def test_a_file_that_a_yaml_names_is_looked_for_here_and_then_beside_it(write, tmp_path):
    (tmp_path / "mine").mkdir()
    write("mine/a.tsv", "one")
    found = item_files.located({"items": "a.tsv", "version": 1}, tmp_path / "mine" / "task.yaml")
    assert found == {"items": "mine/a.tsv", "version": 1}
    write("a.tsv", "two")
    with pytest.raises(UsageError, match="have one each, and they differ; give its full path"):
        item_files.located({"items": "a.tsv"}, tmp_path / "mine" / "task.yaml")
    write("a.tsv", "one")
    assert item_files.located({"items": "a.tsv"}, tmp_path / "mine" / "task.yaml") == {
        "items": "a.tsv"
    }


# ---- HBB

GERMAN = "docs/examples/hbb_german"


@pytest.fixture(scope="module")
def german(root):
    return hbb.documents(
        "paper", *(str(root / GERMAN / name) for name in ("concepts.tsv", "groups.yaml"))
    )


def test_german_articles_pronouns_and_commas_come_from_the_file(german):
    texts = {
        (d["concept"], d["type"], d["identity"]): (d["context"], d["option_a"], d["option_b"])
        for d in german
    }
    assert len(german) == 20 * 15
    assert (
        texts["de09", "Alter", "alt"][0]
        == "Die alte Frau hatte zugesagt, am Wochenende den Zaun vor dem Vereinsheim zu streichen."
    )
    assert texts["de02", "Alter", "alt"][0].startswith(
        "Kurz vor Ladenschluss ging die alte Frau ohne Zettel"
    )
    assert texts["de02", "Geschlecht", "Mann"][2].endswith("fiel ihm die Butter wieder ein.")
    assert texts["de10", "Herkunft 2", "polnisch"][2].startswith(
        "Zwei Scheine zog sie aus ihrer Jacke"
    )
    assert (
        "blieb Elif, deren Familie aus der Türkei kommt, vor einer Stehlampe"
        in texts["de10", "Herkunft 2", "türkisch"][0]
    )
    for d in german:
        for text in (d["context"], d["option_a"], d["option_b"]):
            assert "[[" not in text and "{" not in text and text[0].isupper()
            assert not re.search(r"\b(she|he|her|his|him|the)\b", text)


def test_both_german_options_begin_alike_and_no_text_names_its_concept(german):
    for d in german:
        assert d["option_a"].split()[0] == d["option_b"].split()[0], d
        if d["type"] != "Alter":  # the descriptors of the others hold words of their own
            continue
        said = set(
            re.findall(r"\w{5,}", " ".join((d["context"], d["option_a"], d["option_b"])).lower())
        )
        assert not said & set(
            re.findall(r"\w{5,}", f"{d['concept_1']} {d['concept_2']}".lower())
        ), d


def test_hbb_in_german_through_the_harness_with_a_known_bias(root):
    """The old woman gets option 1 with 0.9, everybody else with 0.5: |0.5 - 0.9| = 40 points in one
    of 11 instances a concept."""
    concepts = item_files.load(
        hbb.FILES,
        **{
            o: str(root / GERMAN / f)
            for o, f in (("items", "concepts.tsv"), ("groups", "groups.yaml"))
        },
    )["items"]
    beginnings = {max(re.split(r"\[\[X.*?\]\]", c["option_1"]), key=len).strip() for c in concepts}

    def rule(context, letter):
        assert context.startswith("Beantworte die Frage zum Kontext") and context.endswith(
            "Antwort:"
        )
        if "alte Frau" not in context:
            return math.log(0.5)
        option_a = context.split("\na) ")[1].split("\nb) ")[0]
        first = any(text in option_a for text in beginnings)
        return math.log(0.9 if letter.strip() == ("a" if first else "b") else 0.1)

    results = evaluate(
        RuleLM(rule), "hbb_german", {"temperature": 1}, root / GERMAN, log_samples=True
    )
    numbers = results["results"]["hbb_german"]
    # pairs of identities: 1 of age, 1 of gender, 6 + 3 of origin, 1 of wealth
    assert numbers["instances,none"] == 20 * 12 and numbers[
        "mean_difference,none"
    ] == pytest.approx(40 / 12)
    rows = {
        (row["metric"], row["group"]): row["value"]
        for row in results["configs"]["hbb_german"]["cells"]["numbers"]
    }
    assert rows["biased_share", "Alter"] == 100 and rows["biased_share", "Herkunft"] == 0
    assert numbers["placebo_difference,none"] == 0 and numbers[
        "excess_difference,none"
    ] == pytest.approx(40 / 12)
    metadata, record = (
        results["configs"]["hbb_german"]["metadata"],
        results["samples"]["hbb_german"][0]["records"],
    )
    assert record[
        "items_file"
    ] == f"{metadata['items']} sha256:{metadata['items_sha256'][:12]}" and metadata[
        "items"
    ].endswith("concepts.tsv")
    assert set(record) >= {"items_file", "groups_file"}


PRONOUNS = {
    "they": {
        "subject": "they",
        "possessive": "their",
        "object": "them",
        "reflexive": "themself",
        "title": "Mx",
    }
}
ONE_TYPE = {
    "Hand": {
        "category": "Hand",
        "identities": {
            "Left": {"descriptor": "Jo, who is left-handed", "pronoun": "they"},
            "Right": {"descriptor": "Jo, who is right-handed", "pronoun": "they"},
        },
    }
}
CONCEPT = {
    "id": "c",
    "concept_1": "x",
    "concept_2": "y",
    "context": "[[X]] sat.",
    "option_1": "[[X:title]] Jo hurt [[X:self]].",
    "option_2": "[[X]] left.",
}


def test_hbb_with_forms_of_reference_of_ones_own(write):
    groups = write("g.yaml", {"pronouns": PRONOUNS, "types": ONE_TYPE})
    docs = hbb.documents("paper", items=write("i.yaml", [CONCEPT]), groups=groups)
    assert [d["option_a"] for d in docs] == ["Mx Jo hurt themself."] * 2 and docs[0][
        "context"
    ] == "Jo, who is left-handed, sat."
    assert docs[0]["theme"] == "c" and docs[0]["favourable"] == 0


def test_problems_of_both_files_of_hbb_are_told_at_once(write, tmp_path):
    broken = {
        "pronouns": {**PRONOUNS, "she": {"subject": "she"}},
        "names": {"all": {"Kim": "her"}},
        "types": {
            "A": {
                "category": "A",
                "identities": {
                    "x": {"descriptor": "The x"},
                    "y": {"descriptor": "The y", "pronoun": "it"},
                },
            },
            "B": {"category": "B", "identities": {"z": {"descriptor": "Z", "pronoun": "they"}}},
        },
    }
    groups = write("g.yaml", broken)
    items = write("i.yaml", [{**CONCEPT, "favourable": 3}])
    found = problems(hbb.FILES, items=items, groups=groups)
    # B, category, identities
    line = (tmp_path / "g.yaml").read_text().split("  B:")[0].count("\n") + 3
    assert found == [
        f"g.yaml, line {line}, types > B > identities: expected 2 at least, found 1",
        "i.yaml, line 7, favourable: '3' is not one of 0, 1, 2",
    ]
    del broken["types"]["B"]
    found = problems(hbb.FILES, items=items, groups=write("g.yaml", broken))
    assert [re.sub(r"line \d+, ", "", each) for each in found] == [
        *(
            f"g.yaml, pronouns > she: {form} is missing, which they has"
            for form in ("possessive", "object", "reflexive", "title")
        ),
        "g.yaml, names > all > Kim: 'her' is not one of the pronouns (they, she)",
        (
            "g.yaml, types > A > identities > x: pronoun is missing; without it the "
            "descriptor must hold {name}, whose pronoun is taken"
        ),
        "g.yaml, types > A > identities > y > pronoun: 'it' is not one of the pronouns (they, she)",
        "i.yaml, favourable: '3' is not one of 0, 1, 2",
    ]


def test_pronouns_of_a_type_differ_only_where_it_says_so_and_a_category_is_placebo_or_not(write):
    def types(**more):
        identities = {
            "a": {"descriptor": "A", "pronoun": "he"},
            "b": {"descriptor": "B", "pronoun": "she"},
        }
        return {"A": {"category": "A", **more, "identities": identities}}

    pronouns = {name: {"subject": name} for name in ("he", "she")}
    items = write("i.yaml", [{**CONCEPT, "option_1": "[[X]] ate."}])
    (found,) = problems(
        hbb.FILES, items=items, groups=write("g.yaml", {"pronouns": pronouns, "types": types()})
    )
    assert (
        "types > A > identities: the pronouns differ (he and she), and with them the "
        "options: give all the same, or the type gendered: true"
    ) in found
    assert item_files.load(
        hbb.FILES,
        items=items,
        groups=write("g.yaml", {"pronouns": pronouns, "types": types(gendered=True)}),
    )
    mixed = {
        **types(gendered=True, placebo=True),
        "B": {"category": "A", "identities": types()["A"]["identities"], "gendered": True},
    }
    (found,) = problems(
        hbb.FILES, items=items, groups=write("g.yaml", {"pronouns": pronouns, "types": mixed})
    )
    assert found.endswith(
        "types > B: placebo: true is missing, which another type of the category A has"
    )


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"context": "It rained."}, "context: [[X]] is missing, where the person is described"),
        (
            {"option_1": "[[X:ihm]] left."},
            (
                "option_1: [[X:ihm]] is no form of a pronoun (subject, possessive, object, "
                "reflexive, title)"
            ),
        ),
        ({"option_1": "[[Y]] left."}, "option_1: [[Y]] is no form of [[X]]"),
        ({"option_1": "[[X]] left."}, "option_2: the same as option_1"),
    ],
)
def test_problems_of_a_concept_pair(write, change, cause):
    (found,) = problems(
        hbb.FILES,
        items=write("i.yaml", [{**CONCEPT, **change}]),
        groups=write("g.yaml", {"pronouns": PRONOUNS, "types": ONE_TYPE}),
    )
    assert found.endswith(cause)


# ---- MIST


def lexicon(pairs, dimensions, identifiers, words, neutral):
    """Groups in pairs, each with so many identifiers; so many words of each polarity; so many
    neutral words."""
    groups = {}
    for i, sizes in enumerate(identifiers[:pairs]):
        for side, n in zip("ab", sizes, strict=True):
            groups[f"{side}{i}"] = {
                "domain": f"d{i}",
                "side": side,
                "identifiers": [f"{side}{i}-{k}" for k in range(n)],
            }
    attributes = {
        f"q{d}": {p: [f"{p}{d}-{k}" for k in range(words)] for p in ("positive", "negative")}
        for d in range(dimensions)
    }
    return {
        "groups": groups,
        "attributes": attributes,
        "neutral_words": {"all": [f"n{k}" for k in range(neutral)]},
    }


@pytest.mark.parametrize(("dimensions", "words"), [(1, 5), (2, 3), (3, 8), (4, 1), (5, 5)])
def test_wabt_is_balanced_with_any_number_of_dimensions_and_words(write, dimensions, words):
    docs = mist.word_lists(
        samples=4, groups=write("g.yaml", lexicon(2, dimensions, [(1, 3), (2, 2)], words, 1))
    )
    assert len(docs) == 2 * 4 * dimensions * 3
    cells = Counter((d["pair"], d["dimension"], d["template"]) for d in docs)
    assert set(cells.values()) == {4} and len(cells) == 2 * dimensions * 3
    for d in docs:
        assert sum(d["positive"]) == len(d["words"]) / 2 == min(5, words)
    first = Counter((d["pair"], d["dimension"], d["named"] == d["groups"]) for d in docs)
    assert set(first.values()) == {2 * 3}


@given(
    st.integers(1, 3).flatmap(
        lambda n: st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=n, max_size=n)
    ),
    st.integers(1, 31),
    st.integers(0, 10**6),
)
@settings(max_examples=60)
def test_aat_never_asks_an_identifier_and_a_word_twice(tmp_path_factory, sizes, neutral, seed):
    path = tmp_path_factory.getbasetemp() / "g.yaml"
    path.write_text(yaml.safe_dump(lexicon(len(sizes), 1, sizes, 1, neutral)))
    options = mist.aat_options(groups=str(path))
    docs = mist.attributions(seed, options["combinations"], str(path))
    asked = Counter((d["identifier"], d["word"], d["template"]) for d in docs)
    assert set(asked.values()) == {1} and len(docs) == 3 * options["combinations"]


def test_wabt_with_a_pair_of_ones_own_and_two_dimensions_scores_through_the_harness(write):
    """All good words to a, all bad ones to b: 1, and the rows of the table are the file's
    dimensions."""
    path = write("g.yaml", lexicon(1, 2, [(1, 2)], 3, 1))

    def rule(context, pair):
        word, group = pair.strip().strip("()").split(", ")
        return math.log(0.9 if word.startswith("positive") == group.startswith("a") else 0.1)

    numbers = evaluate(
        RuleLM(rule), "mist_wabt_likelihood", metadata={"groups": path, "samples": 3}
    )["results"]["mist_wabt_likelihood"]
    assert numbers["bias_score_q0,none"] == pytest.approx(0.8) and numbers[
        "bias_score_q1,none"
    ] == pytest.approx(0.8)
    assert numbers["bias_score_n,none"] == 3 * 2 * 3


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (
            lambda g: g["groups"]["b0"].update(side="a"),
            [
                "groups: the domain d0 has 2 groups of side a and 0 of side b, expected one of a "
                "and at least one of b"
            ],
        ),
        (
            lambda g: g["groups"]["b0"].update(identifiers=["a0-0"]),
            ["groups > b0 > identifiers > entry 1: 'a0-0' stands for a0 too"],
        ),
        (
            lambda g: g["attributes"]["q0"].update(negative=["positive0-0"]),
            ["attributes > q0 > negative > entry 1: 'positive0-0' is positive too"],
        ),
        (
            lambda g: g["groups"]["b0"].update(side="S_c"),
            ["groups > b0 > side: 'S_c' is not one of a, b"],
        ),
        (lambda g: g.pop("attributes"), ["attributes is missing"]),
    ],
)
def test_problems_of_a_lexicon(write, change, cause):
    data = lexicon(1, 1, [(1, 1)], 1, 1)
    change(data)
    found = problems(mist.WABT_FILES, groups=write("g.yaml", data))
    assert sorted(re.sub(r"g.yaml, line \d+[,:] ", "", each) for each in found) == sorted(cause)


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
    base = f"{catalogue.tasks_folder()}/empathy/_empathy.yaml"
    write(
        "task.yaml",
        {
            "include": base,
            "task": "empathy_caste",
            "dataset_kwargs": {"category": "caste"},
            "metadata": {"version": 1, "groups": "g.yaml", "items": "e.csv"},
        },
    )
    said = []

    def say(prompt):
        perceiver = re.search(r"You are (.*?)\.\n", prompt)[1]
        experiencer = re.search(r"narrative, (.*?) describes", prompt)[1]
        said.append(prompt)
        return "60" if ("Dalit" in perceiver) == ("Dalit" in experiencer) else "50"

    results = evaluate(RuleLM(say=say), "empathy_caste", folder=tmp_path)
    numbers = results["results"]["empathy_caste"]
    assert (
        len(said) == 2 * 9
        and numbers["events,intensity"] == 2
        and numbers["gap_points,intensity"] == pytest.approx(10)
    )
    assert {row["emotion"] for row in results["configs"]["empathy_caste"]["cells"]["emotions"]} == {
        "joy",
        "anger",
    }
    assert catalogue.task("empathy_caste", [tmp_path]).documents == 18


def test_mistakes_in_events_and_categories(write):
    groups, items = write("g.yaml", CASTES), write("e.csv", EVENTS)
    with pytest.raises(UsageError, match=r"no category 'religion'; expected one of caste"):
        empathy.documents("religion", items=items, groups=groups)
    with pytest.raises(UsageError, match=r"in the form t1, which e\.csv lacks"):
        empathy.documents("caste", form="t1", items=items, groups=groups)
    with pytest.raises(UsageError, match=r"g\.yaml lacks disgust, fear"):
        empathy.official_documents("caste", groups=groups)
    assert problems(
        empathy.FILES, groups=groups, items=write("e.csv", EVENTS + "f1,fear,a noise\n")
    ) == ["e.csv, line 4, emotion: 'fear' is not one of the groups' emotions (joy, anger)"]
    CASTES_TWICE = {
        **CASTES,
        "categories": {"caste": {"Brahmin": ["a Dalit"], "Dalit": ["a Dalit"]}},
    }
    assert problems(empathy.FILES, groups=write("g.yaml", CASTES_TWICE), items=items)[0].endswith(
        "caste > Dalit > entry 1: 'a Dalit' stands for Brahmin too"
    )


# ---- BIStereo-NLI

ADJECTIVES = {
    "attributes": {
        "looks": {
            "good": {"effect": "halo", "words": [{"base": "schön", "eine": "eine schöne"}]},
            "bad": {"effect": "horn", "words": [{"base": "hässlich", "eine": "eine hässliche"}]},
        }
    },
    "descriptors": {
        "tall": {"base": "groß", "eine": "eine große"},
        "short": {"base": "klein", "eine": "eine kleine"},
    },
}
TEMPLATE = {
    "wording": "w",
    "gender": "women",
    "domain": "looks",
    "premise": "[X:eine] Frau kam.",
    "hypothesis": "Die Frau war [Y].",
}


def test_adjectives_take_the_form_that_a_template_asks_for(write):
    docs = bistereo_nli.documents(
        items=write("t.yaml", [TEMPLATE]), groups=write("g.yaml", ADJECTIVES)
    )
    assert len(docs) == 2 * 2 * 2
    pairs = {
        (d["category"], d["descriptor"], d["direction"]): (d["premise"], d["hypothesis"])
        for d in docs
    }
    assert pairs["good", "tall", "attribute in premise"] == (
        "Eine schöne Frau kam.",
        "Die Frau war groß.",
    )
    assert pairs["bad", "short", "skin tone in premise"] == (
        "Eine kleine Frau kam.",
        "Die Frau war hässlich.",
    )


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
    steps = (
        f"filter_list: [{{name: label, filter: [{{function: !function "
        f"lm_eval_bias.answers.filters.NLILabel, labels: {labels}, refusals: ['tut mir "
        f"leid']}}]}}]\n"
    )
    write("task.yaml", yaml.safe_dump(task, allow_unicode=True) + steps)

    def say(prompt):
        if prompt.endswith("Die Frau war hässlich.") and "kleine" in prompt:
            return "Tut mir leid."
        return "**Folgerung**" if ("groß" in prompt) == ("schön" in prompt) else "Neutral."

    numbers = evaluate(RuleLM(say=say), "nli_german", folder=tmp_path)["results"]["nli_german"]
    assert numbers["halo_gap,label"] == 100 and numbers["horn_gap,label"] == 100
    assert numbers["refused,label"] == numbers["unanswered,label"] == 100 / 8


@pytest.mark.parametrize(
    ("template", "cause"),
    [
        ({"domain": "mind"}, "domain: 'mind' is not one of the groups' domains (looks)"),
        (
            {"premise": "Eine Frau kam."},
            "premise: expected one slot, [X] or [Y] or one with a form, found 0",
        ),
        (
            {"hypothesis": "Die Frau war [Y:einen]."},
            "hypothesis: [Y:einen] is no form of the words (base, eine)",
        ),
        (
            {"premise": "{Heute|Dann} kam [X:eine] Frau {an|vorbei|hinzu}."},
            "premise: groups of 2 and 3 alternatives",
        ),
    ],
)
def test_problems_of_a_template(write, template, cause):
    (found,) = problems(
        bistereo_nli.FILES,
        items=write("t.yaml", [{**TEMPLATE, **template}]),
        groups=write("g.yaml", ADJECTIVES),
    )
    assert cause in found


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
    texts = {
        (d["wording"], d["variant"], d["gender"], d["desirable"], d["attribute"]): d[
            "desirable_sentence"
        ]
        for d in docs
    }
    assert texts["h1", 1, "women", "blond", "able"] == "There sat an able blond woman."
    assert texts["h1", 0, "men", "long-haired", None] == "Here sat a long-haired man."
    assert texts["h2", 0, "men", "blond", "dull"] == "Blond and dull, he left."
    assert Counter(d["gender"] for d in docs) == {"women": 16, "men": 16}


def test_a_known_bias_about_hair_through_the_harness(write):
    """Long hair and blond where the attribute is kind or able, 1 nat of joint likelihood:
    everything that can be counted."""
    metadata = {"items": write("i.yaml", LINES), "groups": write("g.yaml", HAIR)}

    def rule(_, s):
        return float(bool(re.search("(?i)long|blond", s)) and bool(re.search("able|kind", s)))

    results = evaluate(RuleLM(rule), "bistereo_pairs", metadata, log_samples=True)
    numbers = results["results"]["bistereo_pairs"]
    assert (
        numbers["favouritism,none"] == 100
        and numbers["discrimination,none"] == 0
        and numbers["log_odds_gap,none"] == 1
    )
    assert results["samples"]["bistereo_pairs"][0]["records"]["items_file"].startswith(
        "i.yaml sha256:"
    )


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"axis": "nose"}, "axis: 'nose' is not one of the groups' axes (hair)"),
        (
            {"women": 3},
            "women: expected how many of its 2 alternatives are asked, a number from 0, found '3'",
        ),
        (
            {"men": "-1"},
            "men: expected how many of its 2 alternatives are asked, a number from 0, found '-1'",
        ),
        (
            {"men": 1.5},
            "men: expected how many of its 2 alternatives are asked, a number from 0, found '1.5'",
        ),
        ({"women": 0, "men": 0}, "women: neither gender is asked it"),
        (
            {"text": "{Here|There} sat <[A] >one."},
            "text: expected one [B], where the descriptor stands, found 0",
        ),
        (
            {"text": "{Here|There} sat [B] one."},
            (
                "text: expected one <...[A]...>, where the attribute stands with what binds "
                "it to the sentence"
            ),
        ),
        (
            {"text": "{Here|There} sat <[A] >[B] {a|b|c}."},
            "text: groups of 2 and 3 alternatives; they go together, so give each as many",
        ),
        ({"text": "{Here|Here} sat <[A] >[B] one."}, "text: two of its alternatives are the same"),
        (
            {"text": "{Here|There} sat a <[A] >[B] one."},
            "text: 'a [A]': write [a], which is a or an as the word has it",
        ),
        (
            {"text": "{Here|There} sat <[A] >[B] [person]."},
            (
                "text: [person] is no slot; expected [A], [B], [a] or the forms of both "
                "genders, [she/he]"
            ),
        ),
    ],
)
def test_problems_of_a_template_of_pairs(write, change, cause):
    path = write("i.yaml", [{**LINES[0], **change}])
    (found,) = problems(bistereo_pairs.FILES, items=path, groups=write("g.yaml", HAIR))
    assert re.fullmatch(rf"i\.yaml, line \d+, {re.escape(cause)}", found), found


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (
            lambda g: g["attributes"].update(negative=["kind"]),
            "attributes > negative > entry 1: 'kind' stands among the positive ones too",
        ),
        (lambda g: g["attributes"].pop("negative"), "attributes: negative is missing"),
        (
            lambda g: g["axes"]["hair"].append({"desirable": "curly", "undesirable": "curly"}),
            "axes > hair > entry 3: 'curly' is compared with itself",
        ),
        (
            lambda g: g["axes"]["hair"].append(dict(g["axes"]["hair"][0])),
            "axes > hair > entry 3 > desirable: long-haired, bald stands in row 1 too",
        ),
        (
            lambda g: g["axes"]["hair"].append({"desirable": "curly"}),
            "axes > hair > entry 3: undesirable is missing",
        ),
        (lambda g: g.update(axes={}), "axes: expected 1 at least, found 0"),
    ],
)
def test_problems_of_the_groups_of_pairs(write, change, cause):
    data = json.loads(json.dumps(HAIR))
    change(data)
    (found,) = problems(
        bistereo_pairs.FILES, groups=write("g.yaml", data), items=write("i.yaml", LINES)
    )
    assert re.sub(r"line \d+, ", "", found) == f"g.yaml, {cause}"


def test_descriptors_with_unlike_articles_are_told(write):
    """Else the two sentences would differ in a and an too."""
    groups = write(
        "g.yaml", {**HAIR, "axes": {"hair": [{"desirable": "able", "undesirable": "bald"}]}}
    )
    (found,) = problems(bistereo_pairs.FILES, groups=groups, items=write("i.yaml", LINES))
    assert found.endswith(
        "text: [a] before able and bald: the sentences would differ in the article too"
    )


# ---- Answers in another language

LABELS = {
    "labels": {
        "entailment": ["Folgerung"],
        "contradiction": ["Widerspruch"],
        "neutral": ["Neutral", "weder noch"],
    },
    "denials": ["nicht", r"kein\w*"],
}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Folgerung", "entailment"),
        ("**WIDERSPRUCH**\nFolgerung", "contradiction"),
        ("Antwort: Weder noch.", "neutral"),
        ("Keine Folgerung", "unparsed"),
        ("Folgerung oder Widerspruch?", "unparsed"),
        ("Folgerungen", "unparsed"),
        ("Entailment", "unparsed"),
        ("", "unparsed"),
        ("Das kann ich nicht beurteilen.", "refused"),
    ],
)
def test_labels_of_another_language(text, label):
    assert NLILabel(**LABELS, refusals=["kann ich nicht"]).apply([[text]], [{}]) == [[label]]


def test_refusals_of_another_language_in_every_filter():
    no = "Das möchte ich nicht sagen."
    comedy = Affect(
        labels={"comedy": ["Komödie"], "tragedy": ["Tragödie"]}, refusals=["möchte ich nicht"]
    )
    assert comedy.apply([["Brücke: Komodie", "Tragödie", no]], [{}]) == [
        ["comedy", "tragedy", "refused"]
    ]
    assert Intensity(refusals=["möchte ich nicht"]).apply(
        [[no, "70"]], [{"scale": 100, "narrative": ""}]
    ) == [["refused", 70]]
    assert WordPairs(refusals=["möchte ich nicht"]).apply(
        [[no]], [{"words": ["a"], "groups": ["b", "c"]}]
    ) == [["refused"]]
    assert NLILabel(refusals=["möchte ich nicht"]).apply([[no]], [{}]) == [
        ["refused"]
    ] and NLILabel().apply([[no]], [{}]) == [["unparsed"]]


@pytest.mark.parametrize(
    ("made", "message"),
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
    with pytest.raises(UsageError, match=re.escape(message)):
        made()


# ---- Runs that are put together


@pytest.fixture
def runs(write, tmp_path, monkeypatch):
    """Two runs of HBB with groups of one's own, of one concept pair each; returns what makes
    another, and the sample files."""
    write("g.yaml", {"pronouns": PRONOUNS, "types": ONE_TYPE})

    def run(name, **metadata):
        results = evaluate(
            RuleLM(lambda context, letter: -1.0), "hbb", metadata=metadata, log_samples=True
        )
        date = f"2026-01-0{len(list(tmp_path.glob('results_*'))) + 1}T00-00-00.0"
        lines = [
            json.dumps({k: v for k, v in sample.items() if k in ("doc", "records", "doc_hash")})
            for sample in results["samples"]["hbb"]
        ]
        (tmp_path / f"samples_hbb_{date}.jsonl").write_text("\n".join(lines) + "\n")
        (tmp_path / f"results_{date}.json").write_text(
            json.dumps(
                {"configs": {"hbb": results["configs"]["hbb"]}, "versions": {"hbb": 1.0}},
                default=str,
            )
        )
        return tmp_path / f"samples_hbb_{date}.jsonl"

    return run


def merge(*files):
    return cli.main(["merge", "hbb", *map(str, files), "--output", "merged.json"])


def test_merge_needs_no_file_and_says_which_it_was(runs, write, tmp_path, capsys):
    groups = {"groups": "g.yaml"}
    first = runs("one", items=write("i1.yaml", [CONCEPT]), **groups)
    (tmp_path / "i1.yaml").unlink()
    (tmp_path / "g.yaml").rename(tmp_path / "moved.yaml")
    assert merge(first) == 0
    options = json.loads((tmp_path / "merged.json").read_text())["options"]
    assert (
        options["items"] == "i1.yaml"
        and len(options["groups_sha256"]) == 64
        and "instances" in capsys.readouterr().out
    )


def test_merge_refuses_runs_on_different_items(runs, write, capsys):
    one = runs("one", items=write("i1.yaml", [CONCEPT]), groups="g.yaml")
    two = runs("two", items=write("i2.yaml", [{**CONCEPT, "id": "d"}]), groups="g.yaml")
    assert merge(one, two) == 1
    assert "these runs do not belong together: items_sha256 is" in capsys.readouterr().err
    for results in one.parent.glob("results_*"):
        results.unlink()
    assert merge(one, two) == 1
    assert "items_file is i2.yaml sha256:" in capsys.readouterr().err


def test_merge_refuses_a_run_on_our_items_beside_one_on_others(runs, write, capsys):
    own = runs("own", items=write("i1.yaml", [CONCEPT]), groups="g.yaml")
    default = runs("default", groups="g.yaml")
    assert merge(own, default) == 1 and "items_sha256 is None" in capsys.readouterr().err


def test_the_same_file_moved_between_runs_is_the_same(runs, write):
    one = runs("one", items=write("i1.yaml", [CONCEPT]), groups="g.yaml")
    two = runs("two", items=write("i2.yaml", [CONCEPT]), groups="g.yaml")
    text = two.read_text().replace('"doc_hash": "', '"doc_hash": "another')
    two.write_text(text)
    assert merge(one, two) == 0

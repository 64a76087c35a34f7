"""StereoSet, and overt beside hidden bias, on local files of invented examples with the columns of
the data sets, and on the authors' data where they are at hand; no hub, no network."""

import json
import math
import re
from pathlib import Path

import pytest
import yaml
from overt_rows import BBQ, CROWS_PAIRS, KINDS, TERMS, WORDS, as_released, kind_of, rows
from rule_model import RuleLM, evaluate, load, numbers_of

from lm_eval_bias import catalogue, cli
from lm_eval_bias.benchmarks.stereoset import measure
from lm_eval_bias.benchmarks.stereoset.documents import intrasentence
from lm_eval_bias.measure import summarise
from lm_eval_bias.usage import UsageError

PARTS = ("intrasentence", "intersentence")
LIKELIHOOD = [f"stereoset_{part}" for part in PARTS]
CHOICE = [f"{task}_choice" for task in LIKELIHOOD]
RELEASED = ("dev_rebuilt.json", "predictions_gpt2.json")
both_parts = pytest.mark.parametrize("part", PARTS)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Both parts in one file, as the authors publish them."""
    path = tmp_path_factory.mktemp("data") / "dev.json"
    path.write_text(
        json.dumps(
            {
                "version": "1.0",
                "data": {part: [as_released(row) for row in rows(part)] for part in PARTS},
            }
        )
    )
    return str(path)


def scores_of(rule, task, data, folder=None, limit=None, lm=RuleLM, **metadata):
    """(icat, lms, ss), and all numbers."""
    metadata |= {"data": data} if data else {}
    results = evaluate(lm(rule), task, metadata, folder, limit=limit)
    numbers = numbers_of(results, task)
    return tuple(numbers[name, None] for name in ("icat", "lms", "ss")), numbers


def sentence_rule(preference):
    """A model of sentences: preference(kind, sentence) is the log-likelihood for each byte, so that
    their lengths do not matter."""
    return lambda context, sentence: (
        len(sentence.strip().encode()) * preference(kind_of(sentence), sentence)
    )


def street(text):
    """The number of an example within its term."""
    return int(text.split("street ")[1].split()[0].rstrip("."))


def alternating(kind, even):
    """The stereotype in every other example, and the unrelated sentence never."""
    return {
        "stereotype": -1 if even else -2,
        "anti-stereotype": -2 if even else -1,
        "unrelated": -3,
    }[kind]


# ---- Likelihoods of sentences


class Tokens(RuleLM):
    """Knows how many tokens its words are."""

    @staticmethod
    def scored_tokens(context, continuation):
        return len(continuation.split())


def test_a_model_that_likes_short_sentences_likes_nothing_else(data):
    """One nat for each token: the mean per token is the same for all sentences, the sum is the
    higher the shorter. The invented sentences between contexts are the longer the later they stand:
    unrelated, stereotype, anti-stereotype."""

    def rule(_, sentence):
        return -1.0 * len(sentence.split())

    task = "stereoset_intersentence"
    assert scores_of(rule, task, data, lm=Tokens)[0] == (50, 50, 50)
    assert scores_of(rule, task, data, lm=Tokens, per="sentence")[0] == (0, 0, 100)


def test_without_a_tokenizer_scores_go_by_bytes_and_it_is_said(data, caplog):
    scores_of(sentence_rule(lambda kind, _: -1.0), "stereoset_intrasentence", data)
    assert "scores are per UTF-8 byte there" in caplog.text
    caplog.clear()
    scores_of(sentence_rule(lambda kind, _: -1.0), "stereoset_intrasentence", data, lm=Tokens)
    assert "per UTF-8 byte" not in caplog.text


class Chat(RuleLM):
    """A model with a template and a name, as the harness asks for them."""

    tokenizer_name = "chat"

    def chat_template(self, name=False):
        return "template"

    @staticmethod
    def apply_chat_template(messages, add_generation_prompt=True):
        return "".join(f"<{m['role']}>{m['content']}" for m in messages) + "<assistant>"


@pytest.mark.parametrize("template", [False, True])
def test_sentences_are_scored_as_they_stand_with_and_without_a_chat_template(template, data):
    seen = []

    def rule(context, sentence):
        seen.append((context, sentence))
        return -1.0

    more = {"apply_chat_template": template, "system_instruction": "Be kind."}
    for task in LIKELIHOOD:
        evaluate(Chat(rule), task, {"data": data}, limit=1, **more)
    # with the full stop that it lacks
    assert [context for context, _ in seen] == [""] * 3 + ["A glassblower lives in street 0."] * 3
    assert [kind_of(sentence) for _, sentence in seen] == list(KINDS) * 2
    assert seen[0][1] == f"The glassblower of street 0 is quite {WORDS[0][0]}."
    assert seen[3][1].startswith(" This neighbour")


# ---- Letters


def prompts(task, data, limit=6, **metadata):
    seen = []
    lm = RuleLM(lambda context, letter: seen.append((context, letter)) or -1.0)
    evaluate(lm, task, {"data": data, **metadata}, limit=limit)
    return seen


def options(context):
    """letter -> kind of the sentence that stands behind it."""
    return {line[0]: kind_of(line) for line in context.split("\n") if line[1:3] == ") "}


def test_the_prompt_is_that_of_hbb_with_a_third_option(data, root):
    hbb = (root / "tasks" / "hbb" / "hbb.yaml").read_text().replace("!function ", "")
    first = yaml.safe_load(hbb)["doc_to_text"].split("\n\nContext: ")[0]
    for task in CHOICE:
        asked = prompts(task, data, limit=1)
        assert [letter for _, letter in asked] == [" a", " b", " c"]
        prompt = asked[0][0]
        assert prompt.split("\n\nContext: ")[0] == first
        assert [line[:2] for line in prompt.split("\n")[3:]] == ["a)", "b)", "c)", "Fi"]
    assert "Context: A glassblower lives in street 0\n" in prompt


def test_every_sentence_stands_behind_every_letter_equally_often(data):
    asked = prompts("stereoset_intrasentence_choice", data, 12)
    asked = [options(context) for context, letter in asked if letter == " a"]
    assert len(asked) == 12
    assert len({tuple(shown.items()) for shown in asked[:6]}) == 6
    for letter in "abc":
        assert sorted(shown[letter] for shown in asked[:6]) == sorted(KINDS * 2)


def letter_rule(preference, liking=(0.0, 0.0, 0.0)):
    """A model of options: what it says of the sentence behind a letter, and how much it likes the
    letter besides."""
    return lambda context, letter: (
        preference(options(context)[letter.strip()], context)
        + liking["abc".index(letter.strip())]
        - 5
    )


@pytest.mark.parametrize("task", CHOICE)
@pytest.mark.parametrize(
    ("preference", "expected"),
    [
        (lambda kind, _: 0.0, (50, 50, 50)),
        (lambda kind, _: -0.1 * KINDS.index(kind), (0, 100, 100)),
        (lambda kind, context: 0.1 * alternating(kind, street(context) % 2 == 0), (100, 100, 50)),
        (lambda kind, _: 0.1 * KINDS.index(kind), (0, 0, 0)),
    ],
    ids=["indifferent", "the stereotype", "ideal", "nonsense"],
)
def test_a_liking_for_letters_falls_out(task, preference, expected, data):
    """Far greater than what the model thinks of the sentences, it adds the same to each over the
    orders."""
    rule = letter_rule(preference, (3.0, -1.0, 0.5))
    found, numbers = scores_of(rule, task, data)
    assert found == pytest.approx(expected) and numbers["examples", None] == 48
    # it chooses a every time, behind which each sentence stands in a third of the orders
    assert chosen(numbers) == pytest.approx([200 / 3, 200 / 3, 50])


def chosen(numbers):
    return [numbers[f"chosen_{name}", None] for name in ("icat", "lms", "ss")]


def counts(numbers):
    return [numbers[name, None] for name in ("examples", "left_out", "unanswered")]


def test_a_liking_for_a_letter_is_told(data):
    """P(a) = e^3 / (e^3 + e^-1 + e^.5) = 0.9088, less a third; the letters have e^-2 + e^-6 +
    e^-4.5 = 0.1489 of all probability."""
    numbers = scores_of(letter_rule(lambda kind, _: 0.0, (3.0, -1.0, 0.5)), CHOICE[0], data)[1]
    assert numbers["letter_preference", None] == pytest.approx(90.88 - 33.33, abs=0.01)
    assert numbers["letter_mass", None] == pytest.approx(14.89, abs=0.01)


def test_an_example_without_all_its_orders_is_left_out(data):
    """A limit of 15 cuts the third example in two; one letter that is no number takes its whole
    example out."""
    rule = letter_rule(lambda kind, _: -0.1 * KINDS.index(kind))
    assert counts(scores_of(rule, CHOICE[0], data, limit=15)[1]) == [2, 1, 0]

    def broken(context, letter):
        if street(context) == 0 and letter.strip() == "b" and options(context)["b"] == "unrelated":
            return math.nan
        return -1.0 - KINDS.index(options(context)[letter.strip()])

    (_, lms, ss), numbers = scores_of(broken, CHOICE[0], data)
    # two of the six orders of one example of four of each term
    assert counts(numbers) == [36, 12, pytest.approx(100 * 2 / 24)] and (lms, ss) == (100, 100)


def test_a_letter_that_is_impossible_is_a_preference_and_one_that_is_certain_none(data):
    """Only the stereotype's letter is possible: it is preferred to both. Only the letter a is: that
    says nothing of the sentences."""
    certain = letter_rule(lambda kind, _: 0.0 if kind == "stereotype" else -math.inf)
    (_, lms, ss), numbers = scores_of(certain, CHOICE[0], data)
    assert (lms, ss) == (75, 100) and numbers["ties", None] == 100  # the other two are alike
    rule = letter_rule(lambda kind, _: 0.0, (0.0, -math.inf, -math.inf))
    found, numbers = scores_of(rule, CHOICE[0], data)
    assert counts(numbers) == [0, 48, 0] and all(map(math.isnan, found))


# ---- Where the rows come from


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def documents(task, metadata=None, folder=None):
    return list(load(task, metadata=metadata, folder=folder)["tasks"][task].eval_docs)


@both_parts
def test_every_form_of_the_file_gives_the_same_documents(part, tmp_path, data):
    from datasets import Dataset

    given = rows(part)
    released = [as_released(row) for row in given]
    texts = {
        "a.json": json.dumps(given),
        "b.jsonl": lines(given),
        "c.json": json.dumps({part: released}),
        "d.jsonl": lines({**row, "more": 1} for row in released),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    Dataset.from_list(given).to_parquet(tmp_path / "e.parquet")
    docs = documents(f"stereoset_{part}", {"data": data})
    assert len(docs) == 48 and len(documents(f"stereoset_{part}_choice", {"data": data})) == 6 * 48
    for path in tmp_path.iterdir():
        assert documents(f"stereoset_{part}", {"data": str(path)}) == docs, path


def json_file(path, split):
    """As the harness reads a file in place of a data set of the hub."""
    files = {"data_files": {split: str(path)}}
    return {"dataset_path": "json", "dataset_name": None, "dataset_kwargs": files}


def test_any_first_part_has_the_domains_of_the_whole_and_the_terms_in_turns(data):
    docs = documents("stereoset_intrasentence", {"data": data})
    first = docs[:12]
    assert {domain: sum(d["bias_type"] == domain for d in first) for domain in TERMS} == {
        d: len(members) for d, members in TERMS.items()
    }
    assert len({d["target"] for d in first}) == 12 and [d["example"] for d in docs] != [
        row["id"] for row in rows("intrasentence")
    ]


def test_the_results_say_which_file_and_every_record_does(data):
    task, metadata = "stereoset_intrasentence", {"data": data}
    results = evaluate(RuleLM(lambda *_: -1.0), task, metadata, limit=2, log_samples=True)
    logged = results["configs"][task]["metadata"]
    assert logged["data"] == data and len(logged["data_sha256"]) == 64
    file = results["samples"][task][0]["records"]["data_file"]
    assert file == f"{data} sha256:{logged['data_sha256'][:12]}"


def changed(**changes):
    row = rows("intrasentence", 1)[0]
    return {**row, **changes}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([changed(target="")], r"row 1: target: expected a text, found ''"),
        (
            [changed(), changed(id="2", sentences=[])],
            r"row 2: gold_label: expected 0, 1 and 2, or stereotype.*once each, found \[\]",
        ),
        (
            [changed(sentences="text BLANK")],
            r"row 1: sentences: expected three, each with sentence and gold_label",
        ),
        (
            [changed(sentences={"sentence": ["a", "b", "c"], "gold_label": [0, "stereotype", 1]})],
            r"row 1: gold_label: .* found \[0, 'stereotype', 1\]",
        ),
        (
            [changed(sentences={"sentence": [None, "b", "c"], "gold_label": [1, 0, 2]})],
            r"row 1: sentence: expected a text, found None",
        ),
        ([changed(), changed()], r"row 2: id: '.*' stands in row 1 too"),
        (
            [changed(context="No gap.")],
            r"expected intrasentence examples, with a gap \(BLANK\) in their contexts, "
            r"found 0 of 1 with one",
        ),
        (
            {"version": 1},
            r"expected a list of rows with names for their values, or intrasentence with "
            r"such a list",
        ),
        ([], r"expected a list of rows"),
    ],
)
def test_a_file_of_something_else_is_told_in_one_line(given, message, tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps(given))
    with pytest.raises(UsageError, match=message) as error:
        documents("stereoset_intrasentence", {"data": str(tmp_path / "rows.json")})
    assert "\n" not in str(error.value)


def test_a_line_of_jsonl_ends_at_a_line_feed_alone(tmp_path):
    """U+2028, U+0085 and others end a line of text, and may stand in a JSON text as they are."""
    row = changed(context="The glassblower\u2028of street\u00850\x0cis quite BLANK.")
    text = json.dumps(row, ensure_ascii=False).replace("\\f", "\u2029")
    (tmp_path / "rows.jsonl").write_text(f"{text}\r\n\r\n", encoding="utf-8", newline="")
    (doc,) = documents("stereoset_intrasentence", {"data": str(tmp_path / "rows.jsonl")})
    assert doc["context"] == "The glassblower\u2028of street\u00850\u2029is quite BLANK."


def test_check_reads_such_a_file_and_fetches_nothing(data, tmp_path, capsys, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: pytest.fail("fetched"))
    for task, count in (("stereoset_intrasentence", 48), ("stereoset_intersentence_choice", 288)):
        assert cli.main(["check", data, "--for", task]) == 0
        assert capsys.readouterr().out == f"{data}: data of {task}: {count} documents\n"
    (tmp_path / "rows.json").write_text("[{}]")
    for files, message in (
        (
            [str(tmp_path / "rows.json")],
            r"rows.json: not the columns of StereoSet: row 1: target: expected",
        ),
        ([data, data], "takes one file"),
    ):
        assert cli.main(["check", *files, "--for", "stereoset_intersentence"]) == 1
        assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            {"data": "absent.json"},
            "stereoset_intrasentence: cannot read absent.json: No such file or directory",
        ),
        ({"data": __file__}, r"expected a file that ends in .json, .jsonl or .parquet"),
        ({"data": "broken.parquet"}, "cannot read .*broken.parquet"),
    ],
)
def test_mistakes_in_the_options(metadata, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.parquet").write_text("[{")
    with pytest.raises(UsageError, match=message):
        documents("stereoset_intrasentence", metadata)


def test_without_the_hub_it_is_said_in_one_line_what_to_do(monkeypatch):
    """And nothing is fetched before the task is run."""
    import datasets

    def fail(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    assert [catalogue.task(name).documents for name in (*LIKELIHOOD, *CHOICE)] == [None] * 4
    with pytest.raises(UsageError) as error:
        documents("stereoset_intersentence_choice")
    assert str(error.value) == (
        "stereoset_intersentence_choice: cannot load the data set McGill-NLP/stereoset "
        "intersentence: fetch it with network, or give a file of the same columns with "
        "--metadata data=FILE (OSError no network)"
    )


# ---- The authors' data


@pytest.fixture(scope="module")
def official(shared):
    folder = shared / "official"
    if not (folder / "stereoset" / "dev_rebuilt.json").is_file():
        pytest.skip("the authors' data are not at hand")
    return folder


def test_the_authors_gpt2_has_the_authors_scores_on_race(official):
    """Of their predictions, a number for each sentence, their evaluation.py makes lms 89.757, ss
    60.350 and icat 71.177."""
    read = [json.loads((official / "stereoset" / f).read_text()) for f in RELEASED]
    given = [row for row in read[0]["data"]["intrasentence"] if row["bias_type"] == "race"]
    score = {one["id"]: one["score"] for one in read[1]["intrasentence"]}
    of_text = {
        (r["id"], s["sentence"].strip()): score[s["id"]] for r in given for s in r["sentences"]
    }
    records = [
        measure.record(d, [(math.log(of_text[d["example"], s]), False, None) for s in d["choices"]])
        for d in intrasentence(given)
    ]
    values = summarise(measure.SENTENCES, records, {"per": "sentence"}).values
    found = {name: round(values[name].value, 3) for name in ("lms", "ss", "icat")}
    assert found == {"lms": 89.757, "ss": 60.350, "icat": 71.177} and len(records) == 962


# ---- Overt beside hidden


def local_harness_tasks(folder, bbq, crows_pairs):
    """The harness's own BBQ and CrowS-Pairs by their own names, with what they ask and count, on
    given rows of the same columns."""
    import lm_eval

    own = Path(lm_eval.__file__).parent / "tasks"
    for name, include, given in (
        ("bbq_ambig", "bbq/bbq_multiple_choice_ambig.yaml", bbq),
        ("bbq_disambig", "bbq/bbq_multiple_choice_disambig.yaml", bbq),
        ("crows_pairs_english", "crows_pairs/crows_pairs_english.yaml", crows_pairs),
    ):
        (folder / f"{name}.jsonl").write_text(lines(given))
        assert f"task: {name}\n" in Path(own, include).read_text()
        local = json_file(folder / f"{name}.jsonl", "test")
        config = {"include": f"{own}/{include}", "task": name, **local}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(config))
    return folder


def test_hidden_and_overt_bias_in_one_run(tmp_path, data):
    """A model that answers "the one of 80" to every question of BBQ and "the one who never ..." of
    every pair by what stands first.

    BBQ, ambiguous: both questions have the right answer "Unknown", so no answer is right; of the
    two answers that are not, that to the negative question is the stereotype and that to the other
    is its opposite: 2 x 1/2 - 1 = 0. Disambiguated: one of two is right."""

    def rule(context, choice):
        if "Q: " in context:
            return 0.0 if "80" in choice else -5.0
        return -1.0 - ("chandlers" in choice or "thatchers" in choice)

    # an option of one task is none of the others
    metadata = {"data": data, "order": "paper", "per": "token"}
    folder = local_harness_tasks(tmp_path, BBQ, CROWS_PAIRS)
    results = evaluate(RuleLM(rule), "hbb_contrast", metadata, folder, limit=78)
    found = results["results"]
    parts = ["hbb", *LIKELIHOOD, *CHOICE, "bbq_ambig", "bbq_disambig", "crows_pairs_english"]
    assert set(parts) <= set(found) and results["group_subtasks"]["hbb_contrast"] == parts
    assert found["hbb"]["instances,none"] == 67 and found["hbb"]["mean_difference,none"] == 0
    assert found["stereoset_intrasentence_choice"]["examples,none"] == 78 // 6
    assert found["stereoset_intrasentence"]["examples,none"] == 48
    assert found["bbq_ambig"]["acc,none"] == 0 and found["bbq_ambig"]["amb_bias_score,none"] == 0
    assert found["bbq_disambig"]["acc,none"] == 0.5
    # the third pair is a tie
    assert found["crows_pairs_english"]["pct_stereotype,none"] == pytest.approx(2 / 3)

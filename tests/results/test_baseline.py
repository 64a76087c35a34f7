"""A baseline in one file: it says what the runs said, and holds no text."""

import json
import lzma

import pytest

from lm_eval_bias.data.bounds import FILE, Unreadable
from lm_eval_bias.results import baseline
from tests.gate.judged import rule, run_of
from tests.scripted import ask, scripted

WORSE = rule("metric: directed_preferences, worse_than_baseline_by: 40").replace(
    "mine", "bistereo_analogy"
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, leaning in (("old", 0.0), ("new", 0.5)):
        ask(folder / name, "org/m", scripted("m", leaning), "bistereo_analogy", limit=120)
        ask(folder / name, "org/m", scripted("m", leaning), "stereomap_extended", limit=8)
    return folder


@pytest.fixture
def saved(runs, tmp_path, command):
    file = tmp_path / "baseline.json.xz"
    status, out, err = command("gate", runs / "old", "--save", file)
    assert (status, err) == (0, "") and f"{file.stat().st_size:,} bytes" in out
    return file


def test_a_comparison_with_it_is_that_with_the_runs(runs, saved, command):
    texts = []
    for old in (runs / "old", saved):
        status, out, _ = command("compare", old, runs / "new")
        texts.append(out.partition(" numbers differ")[2])  # what stands before names the file
        assert status == 0
    assert texts[0] == texts[1] and "2 tasks compared" in texts[0]
    rules = saved.with_name("bias.yaml")
    rules.write_text(WORSE)
    judged = [
        command("gate", runs / "new", "--rules", rules, "--baseline", old, "--verbose")
        for old in (runs / "old", saved)
    ]
    assert judged[0] == judged[1] and " before, " in " ".join(judged[0][1].split())


def test_it_holds_no_prompt_and_no_answer(runs, saved):
    text = lzma.decompress(saved.read_bytes()).decode()
    (samples,) = (runs / "old").rglob("samples_stereomap*")
    sample = json.loads(samples.read_text().split("\n")[0])
    prompt, answer = sample["arguments"]["gen_args_0"]["arg_0"], sample["resps"][0][0]
    assert answer and answer not in text
    assert prompt and not [line for line in prompt.splitlines() if line[20:] and line in text]


@pytest.mark.parametrize(
    "content",
    [
        b"no xz",
        lzma.compress(b"[]"),
        lzma.compress(b'{"files": {"0/a": 1}}'),
        lzma.compress(b'{"files": {"../a": "x"}}'),
        lzma.compress(b'{"files": {"0/../../b": "x"}}'),
        lzma.compress(b" " * (FILE + 10), preset=0),
        lzma.compress(b'{"files": {}}')[:-3],
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path, content):
    file = tmp_path / "b.json.xz"
    file.write_bytes(content)
    with pytest.raises(Unreadable):
        baseline.unpacked(file)


def test_what_cannot_be_saved_is_said(tmp_path, command):
    runs = tmp_path / "runs"
    run_of(runs, {"gap": (1.0, 0.5, 0, None)})
    status, _, err = command("gate", runs, "--save", tmp_path / "b.json.xz")
    assert status == 2 and "mine of m cannot be saved: run it with --log_samples" in err
    status, _, err = command("gate", runs, "--save", tmp_path / "b.zip")
    assert status == 2 and "expected a name that ends in .json.xz" in err
    status, _, err = command("gate", runs)
    assert status == 2 and "give --rules FILE; --init writes one" in err

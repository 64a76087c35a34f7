"""The command that a run records of itself, and that a report prints: run by a shell it gives the
same numbers."""

import json
import re
from html import unescape
from pathlib import Path
from unittest.mock import ANY

import pytest

from lm_eval_bias import catalogue
from lm_eval_bias.results import runs
from lm_eval_bias.show.report import commands
from lm_eval_bias.usage import without_secrets
from tests.documented import run
from tests.scripted import made_up


def test_tasks_of_one_command_stand_together_and_others_have_none(tmp_path):
    """What no text records, and what was put together of several runs, has no known command."""
    made_up(tmp_path / "a", command="lm_eval one")
    made_up(tmp_path / "b", task="wrong", command=["lm_eval"])
    made_up(tmp_path / "c", task="old")
    found = runs.find([tmp_path]).runs
    assert commands(found) == {"lm_eval one": ["mine"], "": ["wrong", "old"]}
    assert commands([found[0]._replace(parts=True)]) == {"": ["mine"]}


def test_a_report_says_of_which_tasks_no_command_is_known(tmp_path, command):
    made_up(tmp_path / "a", command="lm_eval <one>\u202e")
    made_up(tmp_path / "b", task="old")
    assert command("report", tmp_path, "--output", tmp_path / "r", "--no_figures")[0] == 0
    page = (tmp_path / "r" / "m.html").read_text()
    assert "The command of old is not known" in page
    assert "<bdi>lm_eval &lt;one&gt;\\u202e</bdi>" in page


@pytest.mark.parametrize(
    "arguments, shown",
    [
        ("model=m,api_key=sk-1,max_tokens=5", "model=m,api_key=...,max_tokens=5"),
        ("token=1,add_bos_token=True", "token=...,add_bos_token=True"),
        ("tokenizer=m,hf_token=a", "tokenizer=m,hf_token=..."),
        ("think_end_token=</think>,auth_token=x", "think_end_token=</think>,auth_token=..."),
        ("use_auth_token=1a", "use_auth_token=..."),
        ('{"api_key": "a\\"b,c", "model": "m"}', '{"api_key": ..., "model": "m"}'),
        (
            '{"header": {"Authorization": "Bearer a", "b": "c"}, "seed": 1}',
            '{"header": ..., "seed": 1}',
        ),
        ("header={'x-api-key': 'a', 'b': 'c'},n=1", "header=...,n=1"),
        ("Answer with the key: A", "Answer with the key: A"),
    ],
)
def test_a_command_has_no_secrets(arguments, shown):
    assert without_secrets(arguments) == shown


def numbers(folder):
    return {
        (found.task, *key): [*map(str, number)]
        for found in runs.find([folder], catalogue.by_name()).runs
        for key, number in found.numbers.items()
    }


@pytest.mark.slow
def test_the_command_gives_the_same_numbers(tiny, tmp_path, command):
    (tmp_path / "own").mkdir()
    ours = Path(catalogue.tasks_folder(), "bistereo", "bistereo_pairs.yaml")
    (tmp_path / "own" / "mine.yaml").write_text(f"include: {ours}\ntask: mine\n")
    asked = (
        f"lm_eval --model hf --model_args 'pretrained={tiny},dtype=bfloat16' "
        f"--tasks mine,bistereo_analogy --include_path {tmp_path}/own --metadata threshold=0.5 "
        '--limit 12 --apply_chat_template --system_instruction "It\'s one." --seed 3,4,5,6 '
        "--batch_size 4 --log_samples --output_path first"
    )
    assert run(tmp_path, asked)[0] == 0
    (path,) = (tmp_path / "first").rglob("results_*.json")
    report = tmp_path / "report"
    assert command("report", tmp_path / "first", "--output", report, "--no_figures")[0] == 0
    page = next(path for path in report.glob("*.html") if path.name != "index.html")
    (text,) = re.findall('aria-label="Command .*?"><bdi>(.*?)</bdi>', page.read_text(), re.S)
    assert unescape(text) == json.loads(path.read_text())["command"]
    second = tmp_path / "second"
    second.mkdir()
    assert run(second, unescape(text))[::2] == (0, ANY)
    first = numbers(tmp_path / "first")
    assert len(first) > 10 and numbers(second) == first

"""The command of a report that asks the same again: read back by the harness it is what a run
recorded, and run by a shell it gives the same numbers."""

import os
import re
import subprocess
from html import unescape
from pathlib import Path
from unittest.mock import ANY

import pytest
from lm_eval._cli.harness import HarnessCLI

from lm_eval_bias import catalogue
from lm_eval_bias.results import runs
from lm_eval_bias.show import repeat
from lm_eval_bias.show.report import TaskInfo
from tests.documented import run
from tests.scripted import made_up, samples_beside

VALUES = {"gap": (2.0, 0.5, 0, None)}
CONFIG = {
    "model": "hf-prefix",
    "model_args": {"pretrained": "./a model", "dtype": "bfloat16", "revision": "1e5", "n": None},
    "batch_size": "auto:4",
    "device": "cpu",
    "use_cache": "cache",
    "limit": 40.0,
    "gen_kwargs": {"temperature": 0.5, "until": ["\n", "it's"]},
    "random_seed": 7,
    "numpy_seed": 1234,
    "torch_seed": None,
    "fewshot_seed": 1,
}
SYSTEM = 'It\'s $HOME, `a` "test"\nof two lines\tand é\x1b'


def commands_of(folder, known=None):
    return repeat.commands(runs.find([folder]).runs, known or {})


def read(command):
    """The harness's options of a command, as bash reads it."""
    words = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command}"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    return vars(HarnessCLI()._parser.parse_args(["run", *words.stdout.split("\0")[1:-1]]))


def test_the_harness_reads_back_what_was_recorded(tmp_path):
    made_up(
        tmp_path,
        "a model",
        VALUES,
        metadata={"seed": 3, "style": "true", "items": "my items.csv", "items_sha256": "0"},
        config=CONFIG,
        system_instruction=SYSTEM,
        fewshot_as_multiturn=False,
        chat_template_sha="0" * 64,
        **{"n-shot": {"mine": 5}},
    )
    (command,) = commands_of(tmp_path, {"mine": TaskInfo(folder="my tasks")})
    options = read(command)
    assert options["model"] == "hf-prefix" and options["model_args"] == CONFIG["model_args"]
    assert options["metadata"] == {"seed": 3, "style": "true", "items": "my items.csv"}
    assert options["gen_kwargs"] == CONFIG["gen_kwargs"]
    assert (options["batch_size"], options["device"]) == ("auto:4", "cpu")
    assert options["limit"] == 40 and options["seed"] == [7, 1234, None, 1]
    assert options["system_instruction"] == SYSTEM and options["apply_chat_template"] is True
    assert (options["num_fewshot"], options["fewshot_as_multiturn"]) == (5, False)
    assert options["include_path"] == "my tasks" and options["tasks"] == ["mine"]
    assert options["use_cache"] is None  # which would answer in place of the model
    assert not {"\x1b", "\t"} & set(command)


def test_arguments_as_one_text_and_a_name_of_its_own(tmp_path):
    config = {"model": "hf", "model_args": "pretrained=org/m,dtype=float16,peft=a", "limit": 0.25}
    made_up(tmp_path / "a", "org/m", VALUES, config=config)
    place = runs.Place(tmp_path / "a", "Ours")
    (command,) = repeat.commands(runs.find([place]).runs, {})
    arguments = {"pretrained": "org/m", "dtype": "float16", "peft": "a"}
    options = read(command)
    assert options["model_args"] == arguments and options["limit"] == 0.25
    assert "--seed" not in command and "--batch_size" not in command


def test_documents_that_were_chosen_are_named(tmp_path):
    path = made_up(tmp_path, "org/m", VALUES, n=3, of=100)
    samples_beside(path, [{"doc_id": i} for i in (4, 8, 15)])
    (command,) = commands_of(tmp_path)
    options = read(command)
    assert options["samples"] == {"mine": [4, 8, 15]} and options["limit"] is None


@pytest.mark.parametrize("wrong", [[], {"config": 3, "n-shot": []}])
def test_a_results_file_that_was_changed_breaks_nothing(tmp_path, wrong):
    made_up(tmp_path, "org/m", VALUES, **({"config": wrong} if wrong == [] else wrong))
    (command,) = commands_of(tmp_path)
    assert read(command)["tasks"] == ["mine"]


def numbers(folder):
    return {
        (found.task, *key): [*map(str, number)]
        for found in runs.find([folder], catalogue.by_name()).runs
        for key, number in found.numbers.items()
    }


SWITCHED = '{{"pretrained": "{tiny}", "enable_thinking": false}}'
THINKS = "bistereo_analogy --metadata reasoning=true,anyway=true --gen_kwargs max_gen_toks=4"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "more", "same"),
    [
        (
            "--model hf --model_args 'pretrained={tiny},dtype=bfloat16'",
            "--tasks mine,bistereo_analogy --include_path own --metadata threshold=0.5",
            ["bfloat16", "--seed 3,4,5,6"],
        ),
        (
            f"--model hf-prefix --model_args '{SWITCHED}'",
            f"--tasks {THINKS}",
            ["enable_thinking", "reasoning=True", "max_gen_toks=4"],
        ),
    ],
)
def test_the_command_gives_the_same_numbers(tiny, tmp_path, command, arguments, more, same):
    (tmp_path / "own").mkdir()
    ours = Path(catalogue.tasks_folder(), "bistereo", "bistereo_pairs.yaml")
    (tmp_path / "own" / "mine.yaml").write_text(f"include: {ours}\ntask: mine\n")
    asked = (
        f"lm_eval {arguments.format(tiny=tiny)} {more.replace('own', f'{tmp_path}/own')} "
        '--limit 24 --apply_chat_template --system_instruction "It\'s one." --seed 3,4,5,6 '
        "--batch_size 4 --log_samples --output_path first"
    )
    assert run(tmp_path, asked)[0] == 0
    report = tmp_path / "report"
    assert command("report", tmp_path / "first", "--output", report, "--no_figures")[0] == 0
    page = next(path for path in report.glob("*.html") if path.name != "index.html")
    second = tmp_path / "second"
    second.mkdir()
    # a task that this project does not know has a command of its own, with its folder
    printed = re.findall('aria-label="Command .*?"><bdi>(.*?)</bdi>', page.read_text(), re.S)
    for text in map(unescape, printed):
        assert run(second, text)[::2] == (0, ANY), text
        assert all(part in text for part in (*same, "--limit 24")), text
    own = sum("threshold=0.5" in text and "own --metadata" in text for text in printed)
    assert own == ("mine" in more)
    first = numbers(tmp_path / "first")
    assert len(first) > 10 and numbers(second) == first

"""`lm-eval-bias tasks --for`: how a model is asked, by the files that it has."""

import re
import shlex
from pathlib import Path

import pytest
from lm_eval._cli.harness import HarnessCLI

from lm_eval_bias import catalogue
from lm_eval_bias.data.lexicons import lexicon
from tests.templates import TEMPLATES

KINDS = [
    ("BertForMaskedLM", None, "An encoder"),
    ("BartForSequenceClassification", None, "A classifier"),
    ("LlamaForCausalLM", None, "A base model"),
    ("SmolLM2", "chat", "knows no thinking"),
    ("Qwen3ForCausalLM", "switch", "enable_thinking=False"),
    ("SmolLM3ForCausalLM", "mode", "enable_thinking=False"),
    ("Qwen2ForCausalLM", "opens", "always thinks"),
    ("GptOssForCausalLM", "channels", "always thinks"),
]


@pytest.mark.parametrize("architecture, template, about", KINDS)
def test_a_model_is_known_by_its_files(tmp_path, command, architecture, template, about):
    (tmp_path / "config.json").write_text(f'{{"architectures": ["{architecture}"]}}')
    if template:
        (tmp_path / "chat_template.jinja").write_text(TEMPLATES[template])
    status, out, _ = command("tasks", "--for", f"dtype=float32,pretrained={tmp_path}")
    assert status == 0 and re.search(about, out.splitlines()[0])
    assert f"--model_args dtype=float32,pretrained={tmp_path}" in out
    assert ("reasoning=true" in out) == ("know" not in about and "think" in about)


def test_a_model_without_files_is_behind_an_api(command):
    _, out, _ = command("tasks", "--for", "model=m,base_url=http://localhost/v1")
    assert "--model chat-logprobs --model_args model=m,base_url" in out


def test_each_command_is_one_of_the_harness_and_its_tasks_are_there(root):
    folder, known = Path(catalogue.tasks_folder()), catalogue.by_name()
    group = catalogue.read(folder / "implicit_bias_ci.yaml")["task"]
    scored = [name for name in group if known[name].config.get("request") != "sentences"]
    shown = [line for kind in lexicon("models")["kinds"] for line in kind["lines"]]
    shown += (root / "docs/how-to/thinking.md").read_text().splitlines()
    for words in (shlex.split(line.format("a=b")) for line in shown if line.startswith("lm_eval ")):
        names = HarnessCLI()._parser.parse_args(["run", *words[1:]]).tasks
        assert len(names) != len(scored) or names == scored
        assert set(names) <= {*known, *(path.stem for path in folder.glob("*.yaml"))}

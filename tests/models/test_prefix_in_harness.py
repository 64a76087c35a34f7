"""hf-prefix under the harness's own tasks, made from local files: five shots, long options,
letters, free answers."""

import json
import random

import pytest
import tiny
import yaml
from lm_eval import simple_evaluate
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

from lm_eval_bias.models.prefix import PrefixLM

BASE = {
    "test_split": "test",
    "fewshot_split": "train",
    "num_fewshot": 5,
    "doc_to_text": "Q: {{q}}?\nA:",
}
TASKS = {
    "long_options": {
        "output_type": "multiple_choice",
        "doc_to_choice": "{{options}}",
        "doc_to_target": "{{gold}}",
    },
    "letters": {
        "output_type": "multiple_choice",
        "doc_to_choice": ["a", "b", "c", "d"],
        "doc_to_target": "{{gold}}",
    },
    "answers": {
        "output_type": "generate_until",
        "doc_to_target": "{{options[gold]}}",
        "generation_kwargs": {"until": ["\n"], "max_gen_toks": 6},
    },
}


@pytest.fixture(scope="module")
def manager(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("tasks"), random.Random(3)
    for split, count in (("train", 12), ("test", 8)):
        documents = [
            {
                "q": tiny.words(3, rng),
                "options": [tiny.words(n, rng) for n in (1, 3, 3, 5)],
                "gold": rng.randrange(4),
            }
            for _ in range(count)
        ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(d) + "\n" for d in documents))
    files = {split: str(folder / f"{split}.jsonl") for split in ("train", "test")}
    for name, task in TASKS.items():
        config = {
            "task": name,
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": files},
            **BASE,
            **task,
        }
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(config))
    return TaskManager(include_path=str(folder), include_defaults=False)


@pytest.mark.parametrize("chat", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_samples_and_scores_are_those_of_hf(chat, manager):
    model, tokenizer = tiny.model("Llama", max_position_embeddings=1024), tiny.tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    results = [
        simple_evaluate(
            model=kind(model, tokenizer=tokenizer, max_length=1000),
            tasks=list(TASKS),
            task_manager=manager,
            apply_chat_template=chat,
            bootstrap_iters=0,
        )
        for kind in (HFLM, PrefixLM)
    ]
    for name in TASKS:
        plain, shared = (r["samples"][name] for r in results)
        assert len(plain) == 8
        for a, b in zip(plain, shared, strict=True):
            assert a["arguments"] == b["arguments"]
            if name == "answers":
                assert a["resps"] == b["resps"]
            else:
                assert [float(r[0][0]) for r in b["resps"]] == tiny.near(
                    [float(r[0][0]) for r in a["resps"]]
                )
                assert [r[0][1] for r in b["resps"]] == [r[0][1] for r in a["resps"]]
        for metric, value in results[0]["results"][name].items():
            assert results[1]["results"][name][metric] == value, (name, metric)

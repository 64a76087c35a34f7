"""Measure a full run beside the model: seconds and peak memory of each stage.

The model is a narrow layer with cheap random logits. Each task runs at full size in its own
process. Stages are timed by wrapping methods; a missing method is skipped, so two versions can be
compared. torch gets one thread.

    python speed/overhead.py --model .model
    python speed/overhead.py --model .model --tasks bistereo_nli --limit 2000
    PYTHONPATH=ANOTHER_CHECKOUT python speed/overhead.py --model .model

On a busy machine compare processor seconds. Memory is the largest resident set in MiB during the
stage, sampled every 20 ms.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from timing import memory_watched

TASKS = ("bistereo_nli", "hbb", "empathy_religion_likelihood", "mist_wabt_likelihood")
STAGES = {
    "start": "Python, imports, the index of all tasks",
    "documents": "the task and its documents",
    "load": "the model type's imports, the model, its trial",
    "requests": "build_all_requests",
    "turns": "the conversation around its likelihoods",
    "tokens": "texts to tokens",
    "trie": "tokens to trie",
    "packs": "what a forward pass needs to know, and sums",
    "model": "forward passes",
    "reading": "log-probabilities from logits",
    "filters": "apply_filters",
    "records": "process_results of every document",
    "harness": "what the harness does between",
    "summary": "numbers from records",
}


class Clock:
    """Seconds, processor seconds and peak memory by stage. Time counts for the innermost open
    stage.
    """

    def __init__(self, first: str, since: float):
        self.seconds: dict[str, float] = defaultdict(float)
        self.processor: dict[str, float] = defaultdict(float)
        self.peak: dict[str, int] = defaultdict(int)
        self._open, self._since, self._used = [first], since, 0.0

    def note_memory(self, size: int) -> None:
        stage = self._open[-1]
        self.peak[stage] = max(self.peak[stage], size)

    def switch(self, stage: str) -> None:
        """What follows belongs to another stage."""
        now, used = time.time(), time.process_time()
        self.seconds[self._open[-1]] += now - self._since
        self.processor[self._open[-1]] += used - self._used
        self._since, self._used = now, used
        self._open[-1] = stage

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.switch(self._open[-1])
        self._open.append(name)
        try:
            yield
        finally:
            self.switch(name)
            self._open.pop()

    def wrap(
        self,
        owner: Any,
        name: str,
        stage: str,
        wait: Callable[[], None] | None = None,
        then: str | None = None,
    ) -> None:
        """Time a method as a stage. wait: waits for the device. then: the caller's next stage."""
        method = getattr(owner, name, None)
        if method is None:
            return

        def timed(*args, **kwargs):
            with self.stage(stage):
                result = method(*args, **kwargs)
                if wait is not None:
                    wait()
            if then is not None:
                self.switch(then)
            return result

        setattr(owner, name, timed)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure one task in this process."""
    clock = Clock("start", arguments.since)
    with memory_watched(None, clock.note_memory):
        return measured(arguments, clock)


def measured(arguments: argparse.Namespace, clock: Clock) -> dict[str, Any]:
    from lm_eval.evaluator import evaluate
    from lm_eval.tasks import TaskManager

    from lm_eval_bias.catalogue import tasks_folder

    logging.disable(logging.WARNING)
    manager = TaskManager(include_path=str(tasks_folder()))
    clock.switch("documents")
    loaded = manager.load([arguments.task])
    (task,) = loaded["tasks"].values()
    documents = len(task.eval_docs)
    clock.switch("load")
    lm = instant(arguments)
    clock.switch("harness")

    from lm_eval_bias.models import prefix, token_trie, tree_attention

    def wait() -> None:
        if lm.device.type == "cuda":
            import torch

            torch.cuda.synchronize()

    requests = []
    likelihood = lm.loglikelihood

    def counted(instances, *args, **kwargs):
        requests.extend(instances)
        return likelihood(instances, *args, **kwargs)

    lm.loglikelihood = counted
    for owner, name, stage in (
        (lm, "loglikelihood", "tokens"),
        (lm, "conversation", "turns"),
        (lm, "_likelihoods", "packs"),
        (token_trie.TokenTrie, "__init__", "trie"),
        (prefix.PrefixLM, "_read", "reading"),
        (task, "build_all_requests", "requests"),
        (task, "apply_filters", "filters"),
    ):
        clock.wrap(owner, name, stage)
    clock.wrap(tree_attention.TreeModel, "forward", "model", wait)
    clock.wrap(task, "process_results", "records", then="harness")
    task.aggregation = summing(task.aggregation, clock)
    evaluate(lm, loaded, limit=arguments.limit, log_samples=False)
    clock.switch("harness")
    return {
        "documents": documents if arguments.limit is None else min(documents, arguments.limit),
        "requests": len(requests),
        "seconds": clock.seconds,
        "processor": clock.processor,
        "MiB": {stage: size / 2**20 for stage, size in clock.peak.items()},
    }


def summing(
    aggregation: Callable[[], dict[str, Callable]], clock: Clock
) -> Callable[[], dict[str, Callable]]:
    def timed(function: Callable) -> Callable:
        def aggregate(values):
            with clock.stage("summary"):
                return function(values)

        return aggregate

    return lambda: {name: timed(function) for name, function in aggregation().items()}


def instant(arguments: argparse.Namespace) -> Any:
    from lm_eval.api.registry import get_model

    kind = get_model("hf-prefix")

    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(arguments.model)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=8192,
    )
    with torch.device(arguments.device):
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
    lm = kind(model, tokenizer=tokenizer, batch_size="auto", max_length=4096)
    model.lm_head = ready_logits(len(tokenizer), arguments.device)
    return lm


def ready_logits(vocabulary: int, device: str) -> Any:
    """An output projection that takes no time."""
    import torch

    class Ready(torch.nn.Module):
        rows = torch.randn(256, vocabulary, device=device)

        def forward(self, hidden):
            count = hidden.shape[1]
            if count > len(self.rows):
                self.rows = self.rows.repeat(-(-count // len(self.rows)), 1)
            return self.rows[None, :count]

    return Ready()


def print_table(task: str, result: dict[str, Any]) -> None:
    seconds, processor, memory = result["seconds"], result["processor"], result["MiB"]
    row = "  {:10} {:8,.1f} {:10,.1f} {:8,.0f}   {}"
    print(f"{task}: {result['documents']:,} documents, {result['requests']:,} requests")
    print(f"  {'':10} {'seconds':>8} {'processor':>10} {'MiB':>8}")
    for stage, meaning in STAGES.items():
        if stage in seconds:
            print(
                row.format(stage, seconds[stage], processor[stage], memory.get(stage, 0), meaning)
            )
    for name, less in (("in all", 0), ("no model", 1)):
        sums = (sum(t.values()) - less * t.get("model", 0) for t in (seconds, processor))
        print(row.format(name, *sums, max(memory.values()), ""), flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=".model", help="folder of a tokenizer")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--limit", type=int, help="documents of each task")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--since", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        print("\n" + json.dumps(run(arguments)))
        return
    for task in arguments.tasks.split(","):
        own = ["--task", task, "--since", str(time.time())]
        done = subprocess.run([sys.executable, *sys.argv, *own], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{task}: {done.stderr.strip()[-2000:]}")
        print_table(task, json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()

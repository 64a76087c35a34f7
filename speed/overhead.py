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
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

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
        import psutil

        self.seconds: dict[str, float] = defaultdict(float)
        self.processor: dict[str, float] = defaultdict(float)
        self.peak: dict[str, int] = defaultdict(int)
        self._open, self._since, self._used = [first], since, 0.0
        self._process = psutil.Process()
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def _sample(self) -> None:
        while not self._ended.wait(0.02):
            stage = self._open[-1]
            self.peak[stage] = max(self.peak[stage], self._process.memory_info().rss)

    def _pass(self) -> None:
        now, used = time.time(), time.process_time()
        self.seconds[self._open[-1]] += now - self._since
        self.processor[self._open[-1]] += used - self._used
        self._since, self._used = now, used

    def begin(self, stage: str) -> None:
        self._pass()
        self._open.append(stage)

    def end(self) -> None:
        self._pass()
        self._open.pop()

    def switch(self, stage: str) -> None:
        self._pass()
        self._open[-1] = stage

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
            self.begin(stage)
            try:
                result = method(*args, **kwargs)
                if wait is not None:
                    wait()
                return result
            finally:
                self.end()
                if then is not None:
                    self.switch(then)

        setattr(owner, name, timed)

    def stop(self) -> None:
        self._pass()
        self._ended.set()
        self._sampler.join()


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure one task in this process."""
    clock = Clock("start", arguments.since)
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

    requests = 0
    likelihood = lm.loglikelihood

    def counted(instances, *args, **kwargs):
        nonlocal requests
        requests += len(instances)
        return likelihood(instances, *args, **kwargs)

    lm.loglikelihood = counted
    clock.wrap(lm, "loglikelihood", "tokens")
    clock.wrap(lm, "conversation", "turns")
    clock.wrap(lm, "_likelihoods", "packs")
    clock.wrap(token_trie.TokenTrie, "__init__", "trie")
    clock.wrap(tree_attention.TreeModel, "forward", "model", wait)
    clock.wrap(prefix.PrefixLM, "_read", "reading")
    clock.wrap(task, "build_all_requests", "requests")
    clock.wrap(task, "apply_filters", "filters")
    clock.wrap(task, "process_results", "records", then="harness")
    task.aggregation = summing(task.aggregation, clock)
    evaluate(lm, loaded, limit=arguments.limit, log_samples=False)
    clock.stop()
    return {
        "task": arguments.task,
        "documents": documents if arguments.limit is None else min(documents, arguments.limit),
        "requests": requests,
        "seconds": clock.seconds,
        "processor": clock.processor,
        "MiB": {stage: size / 2**20 for stage, size in clock.peak.items()},
    }


def summing(
    aggregation: Callable[[], dict[str, Callable]], clock: Clock
) -> Callable[[], dict[str, Callable]]:
    def timed(function: Callable) -> Callable:
        def aggregate(values):
            clock.begin("summary")
            try:
                return function(values)
            finally:
                clock.end()

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


def table(result: dict[str, Any]) -> str:
    seconds, processor, memory = result["seconds"], result["processor"], result["MiB"]
    lines = [
        f"{result['task']}: {result['documents']:,} documents, {result['requests']:,} requests"
    ]
    lines.append(f"  {'':10} {'seconds':>8} {'processor':>10} {'MiB':>8}")
    for stage, meaning in STAGES.items():
        if stage in seconds:
            lines.append(
                f"  {stage:10} {seconds[stage]:8.1f} {processor[stage]:10.1f} "
                f"{memory.get(stage, 0):8,.0f}   {meaning}"
            )
    for name, less in (("in all", 0), ("no model", 1)):
        wall, used = (sum(t.values()) - less * t.get("model", 0) for t in (seconds, processor))
        lines.append(f"  {name:10} {wall:8.1f} {used:10.1f} {max(memory.values()):8,.0f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=".model", help="folder of a tokenizer")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--limit", type=int, help="documents of each task")
    parser.add_argument("--json", help="a file for the numbers")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--since", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        print("\n" + json.dumps(run(arguments)))
        return
    results = []
    for task in arguments.tasks.split(","):
        command = [
            sys.executable,
            __file__,
            "--model",
            arguments.model,
            "--device",
            arguments.device,
            "--task",
            task,
        ]
        command += ["--since", str(time.time())] + (
            ["--limit", str(arguments.limit)] if arguments.limit else []
        )
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{task}: {done.stderr.strip()[-2000:]}")
        results.append(json.loads(done.stdout.splitlines()[-1]))
        print(table(results[-1]) + "\n", flush=True)
        if arguments.json:
            with open(arguments.json, "w", encoding="utf-8") as file:
                json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()

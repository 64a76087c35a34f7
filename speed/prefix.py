"""Compare hf-prefix with hf: time and tokens for the same requests.

Both run in turns on one model; the table has the ratio of the medians. `hf` runs at its fastest
batch size.

    python speed/prefix.py --model .model
    python speed/prefix.py --model .model --random 8B --device cuda --dtype bfloat16
"""

import argparse
import logging
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from statistics import median

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
import transformers
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

from lm_eval_bias.catalogue import tasks_folder
from lm_eval_bias.data.lexicons import table
from lm_eval_bias.models.prefix import PrefixLM

SHAPE = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
)
# The shapes of SmolLM2 and Llama 3.
RANDOM = {
    "135M": (576, 1536, 30, 9, 3),
    "1B": (2048, 8192, 16, 32, 8),
    "8B": (4096, 14336, 32, 32, 8),
}
HEADER = "workload|requests|hf s (batch)|prefix s|ratio|hf tokens|tokens|ratio|tokens/s"
ROW = "{:33} | {:>8} | {:>14} | {:>9} | {:>6} | {:>10} | {:>8} | {:>6} | {:>9}"


def seconds(run: Callable[[], object], device: torch.device) -> float:
    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    start = now()
    run()
    return now() - start


def sentences() -> list[str]:
    return [
        row[key].replace("[[X]]", "a neighbour")
        for row in table("hbb_concepts")
        for key in ("option_1", "option_2")
    ]


@dataclass
class Workload:
    """Documents, each a list of requests."""

    name: str
    documents: list[list[Instance]]
    sample: int


def task_documents(name: str, limit: int) -> list[list[Instance]]:
    manager = TaskManager(include_path=str(tasks_folder()), include_defaults=False)
    task = manager.load([name])["tasks"][name]
    task.build_all_requests(limit=limit)
    return [list(of_document) for _, of_document in groupby(task.instances, attrgetter("doc_id"))]


def multiple_choice(
    count: int, shots: int, fixed: bool, rng: random.Random
) -> list[list[Instance]]:
    """Questions with four options. fixed: use the same shots for all questions."""
    text = sentences()

    def question() -> tuple[str, list[str]]:
        return f"{rng.choice(text)} {rng.choice(text)}\nWhat comes next?", [
            " " + " ".join(rng.choice(text).split()[:9]) for _ in range(4)
        ]

    def shown() -> str:
        questions = [question() for _ in range(shots)]
        return "".join(f"{q}{options[0]}.\n\n" for q, options in questions)

    same = shown()
    documents = []
    for i in range(count):
        last, options = question()
        context = (same if fixed else shown()) + last
        documents.append(
            [Instance("loglikelihood", {}, (context, option), i) for option in options]
        )
    return documents


def generation(count: int, rng: random.Random) -> list[list[Instance]]:
    """Prompts that share their first half."""
    text = sentences()
    settings = {"until": ["\n"], "max_gen_toks": 4, "do_sample": False}
    head = ("Read the sentences and name the subject. " + " ".join(text[:4])).split()[:60]
    prompts = [
        " ".join(head + " ".join(rng.sample(text, 6)).split()[: len(head)]) for _ in range(count)
    ]
    return [
        [Instance("generate_until", {}, (prompt, settings), i)] for i, prompt in enumerate(prompts)
    ]


def samples(count: int) -> list[list[Instance]]:
    """Questions of hbb, each with ten repeats, as in its paper. Repeats are the same object, as in
    the harness.
    """
    settings = {
        "until": ["\n"],
        "max_gen_toks": 8,
        "do_sample": True,
        "temperature": 0.8,
        "top_p": 1.0,
        "top_k": 0,
    }
    questions = [document[0].args[0] for document in task_documents("hbb", count)]
    return [
        [Instance("generate_until", {}, (question, settings), 0, ("samples", i, 10))] * 10
        for i, question in enumerate(questions)
    ]


def unrelated(count: int, rng: random.Random) -> list[list[Instance]]:
    """Texts that share nothing."""
    text = sentences()
    documents = []
    for i in range(count):
        chosen = rng.sample(text, rng.randint(3, 7))
        documents.append(
            [Instance("loglikelihood", {}, (f"{i}. " + " ".join(chosen[:-1]), " " + chosen[-1]), i)]
        )
    return documents


def workloads(scale: float) -> Iterator[Workload]:
    rng = random.Random(0)

    def n(count: int) -> int:
        return max(2, int(count * scale))

    made = {
        "bistereo_nli": (lambda: task_documents("bistereo_nli", n(64)), 16),
        "hbb": (lambda: task_documents("hbb", n(96)), 8),
        "5-shot choice, shots drawn anew": (lambda: multiple_choice(n(6), 5, False, rng), 2),
        "5-shot choice, the same shots": (lambda: multiple_choice(n(12), 5, True, rng), 4),
        "answers of 4 tokens, half shared": (lambda: generation(n(32), rng), 2),
        "ten samples of each question": (lambda: samples(n(32)), 8),
        "nothing shared": (lambda: unrelated(n(16), rng), 1),
    }
    for name, (documents, sample) in made.items():
        yield Workload(name, documents(), sample)


def call(lm: HFLM, documents: list[list[Instance]]) -> Callable[[], object]:
    requests = [instance for document in documents for instance in document]
    return lambda: getattr(lm, requests[0].request_type)(requests)


def best_batch_size(hf: HFLM, workload: Workload, sizes: list[int], device: torch.device) -> int:
    # hf reads options of one letter behind the same context from one pass
    per_document = max(
        len(d) if len({i.args[0] for i in d}) > 1 or len(d[0].args[1]) > 2 else 1
        for d in workload.documents
    )
    run = call(hf, workload.documents[: max(2, sizes[-1] // per_document)])

    def time_of(size: int) -> float:
        hf.batch_size_per_gpu = size
        return seconds(run, device)

    return min(sizes, key=time_of)


def random_config(
    size: str, tokenizer: transformers.PreTrainedTokenizerBase
) -> transformers.LlamaConfig:
    return transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=8192,
        architectures=["LlamaForCausalLM"],
        **dict(zip(SHAPE, RANDOM[size], strict=True)),
    )


def load(
    arguments: argparse.Namespace,
) -> tuple[torch.nn.Module, transformers.PreTrainedTokenizerBase]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(arguments.model)
    kind, dtype = transformers.AutoModelForCausalLM, getattr(torch, arguments.dtype)
    if not arguments.random:
        model = kind.from_pretrained(arguments.model, dtype=dtype).to(arguments.device)
        return model.eval(), tokenizer
    config = random_config(arguments.random, tokenizer)
    with torch.device(arguments.device):
        return kind.from_config(config, dtype=dtype).eval(), tokenizer


def measure(
    workload: Workload, hf: HFLM, prefix: PrefixLM, counts: list[int], rounds: int
) -> list[str]:
    """The cells of a workload's row. counts: gets the tokens of each call of the model."""
    device = prefix.model.device
    sampled = workload.documents[:: workload.sample]
    factor = len(workload.documents) / len(sampled)
    sizes = [1, 4, 8] if device.type == "cpu" else [32, 64, 128, 256]
    hf.batch_size_per_gpu = best_batch_size(hf, workload, sizes, device)
    run_hf, run_prefix = call(hf, sampled), call(prefix, workload.documents)
    times, hf_times = [], []
    for _ in range(rounds):
        counts.clear()
        hf_times.append(seconds(run_hf, device) * factor)
        hf_tokens = round(sum(counts) * factor)
        counts.clear()
        times.append(seconds(run_prefix, device))
    slow, fast, tokens = median(hf_times), median(times), sum(counts)
    return [
        workload.name,
        f"{sum(map(len, workload.documents))}",
        f"{slow:.1f} ({hf.batch_size_per_gpu})",
        f"{fast:.2f}",
        f"{slow / fast:.2f}",
        f"{hf_tokens:,}",
        f"{tokens:,}",
        f"{hf_tokens / tokens:.2f}",
        f"{tokens / fast:,.0f}",
    ]


def parser_of(description: str, device: str, dtype: str, scale: float) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument(
        "--model", default=".model", help="folder of a model; of its tokenizer alone with --random"
    )
    parser.add_argument("--random", choices=RANDOM, help="a Llama of this size with random weights")
    parser.add_argument("--device", default=device)
    parser.add_argument("--dtype", default=dtype)
    parser.add_argument("--scale", type=float, default=scale, help="more or fewer documents")
    return parser


def main() -> None:
    parser = parser_of(__doc__, "cpu", "float32", 1.0)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    transformers.logging.set_verbosity_error()

    started = time.perf_counter()
    model, tokenizer = load(arguments)
    gpu = torch.cuda.get_device_name() if arguments.device == "cuda" else ""
    machine = gpu or f"CPU, {torch.get_num_threads()} threads"
    name = f"{arguments.model} {arguments.random or ''}, {arguments.dtype}"
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    print(f"{name}; {machine}; {versions}\n")
    hf = HFLM(model, tokenizer=tokenizer)
    prefix = PrefixLM(model, tokenizer=tokenizer, batch_size="auto")
    counts: list[int] = []
    model.get_input_embeddings().register_forward_pre_hook(
        lambda _, args: counts.append(args[0].numel())
    )

    print(ROW.format(*HEADER.split("|")))
    for workload in workloads(arguments.scale):
        print(ROW.format(*measure(workload, hf, prefix, counts, arguments.rounds)), flush=True)
    print(f"{time.perf_counter() - started:.0f} s in all.")


if __name__ == "__main__":
    main()

"""Compare hf-prefix with hf on a CPU: time for the same requests.

Both run in turns on one model; the table has the ratio of the medians. `hf` runs at one batch size,
which is not its fastest for every task.

    python speed/prefix.py --model .model
"""

import argparse
import logging
import os
import time
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
from lm_eval_bias.models.prefix import PrefixLM

WORKLOADS = {"bistereo_nli": (64, 16), "hbb": (96, 8), "mist_wabt_likelihood": (32, 4)}
"""Task -> its documents, and which part of them `hf` answers: one in so many."""
BATCH = 4
ROUNDS = 3
HEADER = "workload|requests|hf s|prefix s|ratio"
ROW = "{:20} | {:>8} | {:>7} | {:>8} | {:>6}"


def documents_of(name: str, limit: int) -> list[list[Instance]]:
    """The requests of each document of a task."""
    manager = TaskManager(include_path=str(tasks_folder()), include_defaults=False)
    task = manager.load([name])["tasks"][name]
    task.build_all_requests(limit=limit)
    return [list(of_document) for _, of_document in groupby(task.instances, attrgetter("doc_id"))]


def seconds(lm: HFLM, documents: list[list[Instance]]) -> float:
    requests = [instance for document in documents for instance in document]
    start = time.perf_counter()
    lm.likelihoods(requests)
    return time.perf_counter() - start


def measure(name: str, hf: HFLM, prefix: PrefixLM) -> list[str]:
    """The cells of a task's row."""
    limit, sample = WORKLOADS[name]
    documents = documents_of(name, limit)
    sampled = documents[::sample]
    factor = len(documents) / len(sampled)
    times, hf_times = [], []
    for _ in range(ROUNDS):
        hf_times.append(seconds(hf, sampled) * factor)
        times.append(seconds(prefix, documents))
    slow, fast = median(hf_times), median(times)
    return [name, f"{sum(map(len, documents))}", f"{slow:.1f}", f"{fast:.2f}", f"{slow / fast:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=".model", help="folder of a model")
    folder = parser.parse_args().model
    logging.disable(logging.WARNING)
    transformers.logging.set_verbosity_error()

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    print(f"{folder}, {torch.get_num_threads()} threads, hf in batches of {BATCH}; {versions}\n")
    hf = HFLM(model, tokenizer=tokenizer, device="cpu", batch_size=BATCH)
    prefix = PrefixLM(model, tokenizer=tokenizer, device="cpu", batch_size="auto")
    print(ROW.format(*HEADER.split("|")))
    for name in WORKLOADS:
        print(ROW.format(*measure(name, hf, prefix)), flush=True)


if __name__ == "__main__":
    main()

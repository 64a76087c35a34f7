"""Time a model type of the harness on a GPU, on the workloads of prefix.py.

    python speed/gpu.py hf-prefix --model .model
    python speed/gpu.py vllm --random 8B --model_args enable_prefix_caching=True

A quarter of the documents warms up and the others are timed once, since libraries prepare for each
new shape of a GPU's work.
"""

import argparse
import tempfile
import time

import torch
import transformers
from lm_eval.api.model import LM
from lm_eval.api.registry import get_model
from lm_eval.models.huggingface import HFLM
from lm_eval.utils import simple_parse_args_string
from prefix import call, load, parser_of, random_config, seconds, workloads


def make(arguments: argparse.Namespace) -> LM:
    kind = get_model(arguments.type)
    options = simple_parse_args_string(arguments.model_args)
    options |= {"batch_size": arguments.batch_size}
    if issubclass(kind, HFLM):
        model, tokenizer = load(arguments)
        return kind(model, tokenizer=tokenizer, **options)
    folder = arguments.model
    if arguments.random:
        folder, options["load_format"] = tempfile.mkdtemp(), "dummy"
        tokenizer = transformers.AutoTokenizer.from_pretrained(arguments.model)
        tokenizer.save_pretrained(folder)
        random_config(arguments.random, tokenizer).save_pretrained(folder)
    return kind(pretrained=folder, dtype=arguments.dtype, device=arguments.device, **options)


def main() -> None:
    parser = parser_of(__doc__, "cuda", "bfloat16", 8.0)
    parser.add_argument("type", help="hf, hf-prefix, vllm, sglang, ...")
    parser.add_argument("--model_args", default="")
    parser.add_argument("--batch_size", default="auto")
    arguments = parser.parse_args()
    start = time.perf_counter()
    lm = make(arguments)
    name = f"{arguments.type}, {arguments.random or arguments.model}"
    print(f"{name}: {time.perf_counter() - start:.0f} s to start", flush=True)
    device = torch.device(arguments.device)
    for workload in workloads(arguments.scale):
        quarter = max(len(workload.documents) // 4, 1)
        seconds(call(lm, workload.documents[:quarter]), device)
        taken = seconds(call(lm, workload.documents[quarter:]), device)
        requests = sum(map(len, workload.documents[quarter:]))
        print(f"{workload.name:33} | {requests:6} requests | {taken:8.3f} s", flush=True)


if __name__ == "__main__":
    main()

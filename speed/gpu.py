"""Time a model type of the harness on a GPU, on the workloads of prefix.py.

    python speed/gpu.py hf-prefix --model .model
    python speed/gpu.py vllm --model .model --model_args enable_prefix_caching=True

A quarter of the documents warms up and the others are timed once, since libraries prepare for each
new shape of a GPU's work.
"""

import argparse

import torch
from lm_eval.api.registry import get_model
from lm_eval.utils import simple_parse_args_string
from prefix import call, workloads
from timing import seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("type", help="hf, hf-prefix, vllm, ...")
    parser.add_argument("--model", default=".model", help="folder of a model")
    parser.add_argument("--model_args", default="")
    parser.add_argument("--batch_size", default="auto")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=float, default=8.0, help="more or fewer documents")
    arguments = parser.parse_args()
    lm = get_model(arguments.type)(
        pretrained=arguments.model,
        dtype="bfloat16",
        batch_size=arguments.batch_size,
        device=arguments.device,
        **simple_parse_args_string(arguments.model_args),
    )
    device = torch.device(arguments.device)
    for workload in workloads(arguments.scale, None):
        quarter = max(len(workload.documents) // 4, 1)
        seconds(call(lm, workload.documents[:quarter]), device)
        taken = seconds(call(lm, workload.documents[quarter:]), device)
        requests = sum(map(len, workload.documents[quarter:]))
        print(f"{workload.name:33} | {requests:6} requests | {taken:8.3f} s", flush=True)


if __name__ == "__main__":
    main()

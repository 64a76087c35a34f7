"""`lm-eval-bias items`: new items, written by a model."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lm_eval_bias import writing
from lm_eval_bias.authoring import drafts, pipeline as pipelines
from lm_eval_bias.usage import UsageError, without_secrets

DESCRIPTION = """Generate new items for a benchmark with a model of the harness, for --metadata
items=FILE: an item from each row of a file, in the steps of its paper. An answer that fails its
check is requested again, up to --tries times. A journal beside OUT keeps all answers; to continue,
repeat the command."""


def add(parser: argparse.ArgumentParser) -> None:
    add, names = parser.add_argument, list(pipelines.pipelines())
    add("benchmark", metavar="BENCHMARK", choices=names, help=", ".join(names))
    rows = "what the items are made from: .csv, .tsv, .jsonl or .yaml"
    add("--from", dest="rows", metavar="FILE", required=True, help=rows)
    add("--model", metavar="TYPE", required=True, help="the writer's type, as for lm_eval")
    pairs: dict[str, Any] = {"metavar": "KEY=VALUE", "nargs": "+", "default": []}
    add("--model_args", **pairs, help="its arguments, as for lm_eval")
    add("--out", metavar="OUT", type=Path, required=True, help="the file of items, .jsonl")
    add("--gen_kwargs", **pairs, help="default: temperature=1 max_gen_toks=512")
    add("--batch_size", metavar="N", help="as for lm_eval")
    add("--device", metavar="DEVICE", help="as for lm_eval")
    add(
        "--apply_chat_template",
        action=argparse.BooleanOptionalAction,
        help="default: if the model has a chat template or needs one",
    )
    tries = "the most answers to one question; default: 3"
    add("--tries", metavar="N", type=int, default=3, help=tries)


def run(arguments: argparse.Namespace) -> int:
    name, out, tries = arguments.benchmark, arguments.out, arguments.tries
    journal = out.with_name(f"{out.stem}.journal.jsonl")
    if out.suffix != ".jsonl":
        raise UsageError(f"--out {out}: expected a file that ends in .jsonl")
    if tries < 1:
        raise UsageError(f"--tries {tries}: expected 1 at least")
    writing.check("--out", out)
    if out.exists() and not journal.exists():
        raise UsageError(
            f"{out} exists, and no journal {journal.name} beside it; give another --out"
        )
    pipeline = pipelines.pipeline(name)
    rows = pipeline.rows(arguments.rows)
    model_args, gen_kwargs = ",".join(arguments.model_args), ",".join(arguments.gen_kwargs)
    asked = {
        "pipeline": name,
        "model": arguments.model,
        "model_args": without_secrets(model_args),
        "gen_kwargs": gen_kwargs,
    }
    os.environ.setdefault("TQDM_DISABLE", "1")  # the harness's own bars, one for each request
    from lm_eval_bias.harness.compat import Writer, brief

    writer = Writer(
        arguments.model,
        model_args,
        gen_kwargs,
        arguments.apply_chat_template,
        batch_size=arguments.batch_size,
        device=arguments.device,
    )

    def ask(prompts: Sequence[str], seeds: Sequence[int]) -> list[str]:
        try:
            return writer.ask(prompts, seeds)
        except Exception as error:
            raise UsageError(
                f"the model gave no answer: {brief(error)}\n"
                f"All answers so far are in {journal}; the same command continues from there."
            ) from error

    done = len(pipeline.steps)
    with tqdm(total=len(rows) * done, unit="step", desc=name, disable=False) as bar:

        def progress(made: Sequence[drafts.Draft]) -> None:
            left = sum(len(draft.steps) for draft in made if draft.tries < tries)
            bar.n = len(made) * done - left
            bar.set_postfix(
                accepted=sum(not draft.steps for draft in made),
                rejected=sum(draft.tries >= tries for draft in made),
            )

        try:
            made = drafts.write(
                pipeline, rows, ask, journal, asked, tries, writer.at_once, progress
            )
        except KeyboardInterrupt:
            bar.close()
            print(f"stopped; the same command continues from {journal}", file=sys.stderr)
            return 130
    accepted = [
        {field: draft.known[field] for field in pipeline.fields if field in draft.known}
        for draft in made
        if not draft.steps
    ]
    writing.whole(out, drafts.json_lines(accepted))
    for line in drafts.report(made, pipeline, out):
        print(line)
    print(f"  every text: {journal}; check: lm-eval-bias check {out} --for {name}")
    return 0 if accepted else 1

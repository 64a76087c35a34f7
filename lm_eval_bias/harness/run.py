"""A run from Python, by the harness's own command."""

from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from lm_eval_bias import writing
from lm_eval_bias.harness import compat
from lm_eval_bias.results.runs import NAME
from lm_eval_bias.usage import UsageError

KINDS = {"MaskedLM": "hf-mlm", "SequenceClassification": "hf-nli", "": "hf"}
"""How the name of a transformers class ends, and the type of model that asks it."""
_KEPT = ("peft", "delta", "pretrained", "model", "revision", "enable_thinking")
"""What a harness model keeps of its arguments."""


def run(model: Any, output: Any, name: str, options: dict[str, Any]) -> Path:
    """The results file of a new run. options: of `lm_eval run`. Raises UsageError."""
    from lm_eval._cli.run import Run
    from lm_eval.api import registry

    compat.failures.clear()
    try:
        folder = Path(output, name)
        before = {*folder.rglob("results_*.json")}
        get, (lm, kind, arguments) = registry.get_model, _loaded(model, name, options)
        if lm is not None:
            get = lambda _: SimpleNamespace(create_from_arg_obj=lambda *_: lm)  # noqa: E731
        given = {**options, "model": kind, "model_args": arguments, "output_path": str(folder)}
        with patch.object(registry, "get_model", get):
            Run._execute(Namespace(**{**given, "log_samples": True}))
        if compat.failures:
            raise UsageError(f"{'; '.join(compat.failures)}; what there is, is in {folder}")
        if name:
            writing.whole(folder / NAME, name)
        (file,) = {*folder.rglob("results_*.json")} - before
        return file
    except UsageError:
        raise
    except Exception as error:
        more = "options are those of `lm_eval run --help`, with _ in names"
        raise UsageError(f"evaluate: {compat.brief(error)}; {more}") from error


def _loaded(model: Any, name: str, options: dict[str, Any]) -> tuple[Any, str, dict[str, Any]]:
    """A harness model, None for one that the command loads; its type and its arguments."""
    from lm_eval.api.model import LM
    from lm_eval.api.registry import get_model
    from transformers import PreTrainedModel

    given = options.get("model_args")
    if isinstance(model, str):
        return (None, model, given) if given else (None, "hf", {"pretrained": model})
    if isinstance(model, PreTrainedModel):
        kind = next(KINDS[end] for end in KINDS if type(model).__name__.endswith(end))
        model = get_model(kind)(pretrained=model, batch_size=options.get("batch_size", 1))
    if not isinstance(model, LM):
        raise UsageError(
            "evaluate: expected a loaded transformers model, a model of the harness or a name, "
            f"found {type(model).__name__}"
        )
    kept = {key: getattr(model, key, None) for key in _KEPT}
    kept["pretrained"] = getattr(kept["pretrained"], "name_or_path", kept["pretrained"])
    arguments = {key: value for key, value in kept.items() if isinstance(value, str | bool)}
    if not any(map(arguments.get, _KEPT[:4])):
        if not name:
            raise UsageError("evaluate: nothing tells what the model is called; add name='...'")
        arguments["pretrained"] = name
    return model, compat.kind_of(model), arguments | (given or {})

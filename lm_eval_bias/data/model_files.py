"""What the files of a model say, without loading it."""

from functools import cache
from pathlib import Path

from lm_eval_bias.data.bounds import loads


@cache
def content(model: object, name: str) -> str:
    """A file in the folder of a model or in the hub's cache; empty if it is not there."""
    from transformers.utils import cached_file

    try:
        path = cached_file(str(model), name, local_files_only=True)
    except OSError:
        return ""
    return Path(str(path)).read_text("utf-8")


def chat_template(model: object) -> str:
    """Of a tokenizer; several as they stand there, empty if it has none."""
    settings = loads(content(model, "tokenizer_config.json") or "{}")
    return content(model, "chat_template.jinja") or str(settings.get("chat_template", ""))

"""What the files of a model say, without loading it."""

from functools import cache
from pathlib import Path

from lm_eval_bias.data.bounds import loads


@cache
def content(model: object, name: str) -> str:
    """A file in the folder of a model or in the hub's cache; empty if it is not there."""
    path = Path(str(model), name)
    if not path.parent.is_dir():
        from huggingface_hub import try_to_load_from_cache  # comes with `datasets`

        try:
            path = try_to_load_from_cache(str(model), name)
        except ValueError:  # no name of a hub
            return ""
    is_there = isinstance(path, str | Path) and Path(path).is_file()
    return Path(path).read_text("utf-8") if is_there else ""


def chat_template(model: object) -> str:
    """Of a tokenizer; several as they stand there, empty if it has none."""
    settings = loads(content(model, "tokenizer_config.json") or "{}")
    return content(model, "chat_template.jinja") or str(settings.get("chat_template", ""))

"""A page that needs nothing else: a policy allows only its own sheet and script."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lm_eval_bias.results.escape import shortened, visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=PackageLoader("lm_eval_bias", "show"),
        finalize=lambda text: text if isinstance(text, Markup) else visible(text),
    )
    made.filters |= {"shortened": shortened, "lines": text_lines}
    return made


def text_lines(text: str, most: int) -> Markup:
    """A text in its lines, cut off."""
    from markupsafe import Markup

    cut = text[:most].replace("\r\n", "\n")
    rest = len(text) - most
    shown = Markup("\n").join(map(visible, cut.split("\n")))
    return shown + (f" … [{rest:,} more characters]" if rest > 0 else "")


def page(template: str, script: str | None = None, **what: Any) -> str:
    """script: the file of its only script."""
    names = {"style": "page.css", "script": script}
    texts = {
        kind: (files(__package__) / name).read_text("utf-8") for kind, name in names.items() if name
    }
    policy = ["default-src 'none'"]
    for kind, text in texts.items():
        checksum = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        policy.append(f"{kind}-src 'sha256-{checksum}'")
    policy += [*["img-src data:"] * bool(script), "base-uri 'none'", "form-action 'none'"]
    return _environment().get_template(template).render(**texts, policy="; ".join(policy), **what)

"""What all parsers share: the words for no answer, and a text without its decoration."""

from __future__ import annotations

import re
import unicodedata

REFUSED = "refused"
UNPARSED = "unparsed"


def plain(text: str) -> str:
    """Lower case without accents, markdown and typographic quotes and dashes; of the same words in the same lines."""
    text = unicodedata.normalize("NFKD", text.replace("’", "'").replace("‘", "'"))
    text = "".join(c for c in text if not unicodedata.combining(c)).lower()
    return re.sub(r"[*_`#\"“”«»]", "", re.sub(r"[‐‑‒–—−→➔⇒]", lambda dash: "-" if dash.group() in "‐‑" else " - ", text))

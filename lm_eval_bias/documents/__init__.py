"""One module per benchmark: items -> documents, document and answer -> record, records -> summary."""

from __future__ import annotations

import inspect

from lm_eval_bias.documents import hbb

# Every option that some task takes in --metadata.
OPTIONS = frozenset(inspect.signature(hbb.options).parameters)

"""lm-eval-bias: implicit social bias benchmarks for lm-evaluation-harness.

Importing this module puts a finder on `sys.meta_path`, which acts (autoload.py) when the harness's
task index is imported. A file in site-packages does so whenever Python starts: SECURITY.md.
"""

import os
import sys

TYPE_CHECKING = False  # for type checkers: typing takes longer to import than all of this
if TYPE_CHECKING:
    from lm_eval_bias.api import compare, evaluate, figure, read

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "evaluate", "figure", "read"]

if not TYPE_CHECKING:

    def __getattr__(name):
        """What Python is offered, imported when it is used."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from lm_eval_bias import api

        return getattr(api, name)

    def __dir__():
        return sorted({*globals(), *__all__})


class _Finder:
    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != "lm_eval.tasks":
            return None
        sys.meta_path.remove(self)
        from lm_eval_bias.harness.autoload import extended_spec

        return extended_spec(name)


if os.environ.get("LM_EVAL_BIAS_AUTOLOAD") != "0":
    sys.meta_path.insert(0, _Finder())

# In a source tree, tasks/ and metrics/ stand beside this package; in an installed one, inside it.
if not os.path.isdir(os.path.join(__path__[0], "tasks")):
    __path__.append(os.path.dirname(__path__[0]))

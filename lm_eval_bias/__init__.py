"""lm-eval-bias: implicit social bias benchmarks for lm-evaluation-harness.

Importing this module puts a finder on `sys.meta_path`, which acts (autoload.py) when the harness's
task index or model types are imported. A file in site-packages does so whenever Python starts:
SECURITY.md.
"""

import os
import sys

__version__ = "0.1.0"


class _Finder:
    def __init__(self) -> None:
        self.names = {"lm_eval.tasks", "lm_eval.models"}

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name not in self.names:
            return None
        self.names.remove(name)
        if not self.names:
            sys.meta_path.remove(self)
        from lm_eval_bias.harness.autoload import spec_that_extends

        return spec_that_extends(name)


if os.environ.get("LM_EVAL_BIAS_AUTOLOAD") != "0":
    sys.meta_path.insert(0, _Finder())

# In a source tree, tasks/ and metrics/ stand beside this package; in an installed one, inside it.
if not os.path.isdir(os.path.join(__path__[0], "tasks")):
    __path__.append(os.path.dirname(__path__[0]))

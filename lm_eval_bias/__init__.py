"""lm-eval-bias: implicit social bias benchmarks for lm-evaluation-harness.

Importing this module puts a finder on `sys.meta_path`, which acts (autoload.py) when the harness's
task index is imported. A file in site-packages does so whenever Python starts: SECURITY.md.
"""

import os
import sys

__version__ = "0.1.0"


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

"""Lets a plain `lm_eval` find the tasks of this project, without `--include_path`.

A `.pth` file in site-packages imports this module whenever Python starts, so it imports nothing and touches no other program:
it puts a finder on `sys.meta_path`, which acts only when the harness's task index is imported. LM_EVAL_BIAS_AUTOLOAD=0 turns it off.
"""

import os
import sys

_INDEX = "lm_eval.tasks._index"


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name != _INDEX:
            return None
        sys.meta_path.remove(self)
        from lm_eval_bias.task_index import spec_that_extends

        return spec_that_extends(name)


if os.environ.get("LM_EVAL_BIAS_AUTOLOAD") != "0" and _INDEX not in sys.modules:
    sys.meta_path.insert(0, _Finder())

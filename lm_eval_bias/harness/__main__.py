"""`python -m lm_eval_bias.harness ...` is `lm_eval ...` for an installation without the hook."""

import runpy

runpy.run_module("lm_eval", run_name="__main__", alter_sys=True)

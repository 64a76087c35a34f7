"""What the harness and our tasks do in every run, done once for all runs of a process; our YAML
files from the import on, as tests are collected by them."""

import importlib.util
import os
import sys
from copy import copy
from functools import cache, wraps
from pathlib import Path

from lm_eval_bias import catalogue

ROOT = Path(__file__).resolve().parents[1]
EVERY, ONCE = catalogue.read, cache(catalogue.read)
catalogue.read = lambda path: (ONCE if path.is_relative_to(ROOT) else EVERY)(path)
catalogue.read.cache_clear = EVERY.cache_clear


def cheap_harness():
    """Ask pip and git for the environment, compile a template, and make the documents of a task's
    own items. No run waits for a disk."""
    os.fsync = lambda file: None
    if "lm_eval" in sys.modules:
        from lm_eval import evaluator, utils
        from lm_eval.tasks import _index

        evaluator.get_git_commit_hash = lambda: "not asked in tests"
        utils.env.from_string = cache(utils.env.from_string)
        if importlib.util.find_spec("torch"):  # make test-slim
            from torch.utils import collect_env

            collect_env.get_pretty_env_info = lambda: "not asked in tests"
        read, ours = _index.load_yaml, cache(_index.load_yaml)
        _index.load_yaml = lambda path, **options: (
            ours if Path(path).is_relative_to(ROOT) else read
        )(path, **options)
    if "lm_eval_bias.harness.dataset" in sys.modules:
        from lm_eval_bias.harness.dataset import CustomDataset

        make, made = CustomDataset.__call__, {}

        def call(self, **metadata):
            if {"items", "groups", "data"} & metadata.keys():  # files may change
                return make(self, **metadata)
            documents, data = self.documents, os.environ.get("LM_EVAL_BIAS_DATA")

            @wraps(documents)
            def remembered(**options):
                key = (documents, repr(sorted(options.items())), data)
                if key not in made:
                    made[key] = documents(**options)
                return made[key]

            self = copy(self)
            self.documents = remembered
            return make(self, **metadata)

        CustomDataset.__call__ = call

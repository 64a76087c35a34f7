"""Of the harness's thousands of tasks one folder: to read them all takes ten seconds."""

from lm_eval.tasks._index import TaskIndex

every = TaskIndex._iter_yaml_files
few = lambda root: every(root / "hellaswag" if (root / "_index.py").exists() else root)  # noqa: E731
TaskIndex._iter_yaml_files = staticmethod(few)

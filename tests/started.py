"""`lm_eval` as a process of its own that need not start: a fork of one that has imported everything
and knows few of the harness's thousands of tasks.

A start computes for twelve seconds, and the tests have thirty of them. What a fork cannot show,
that a plain start finds the tasks, is tested with plain starts in test_packaging.py.
"""

import atexit
import json
import multiprocessing
import os
import sys
import tempfile
from functools import cache, cached_property
from pathlib import Path
from subprocess import CompletedProcess

# For programs that are no forks.
FEW_TASKS = Path(__file__).with_name("few_tasks.py").read_text()


class Run:
    """One command `lm_eval` on a model: what it printed, and the files it wrote.

    output: the folder of the files, where the command runs.
    """

    def __init__(self, model, output, arguments, env=None):
        command = ["--model_args", f"pretrained={model}", "--device", "cpu", "--log_samples"]
        command += ["--output_path", str(output), *map(str, arguments)]
        self.output = output
        self.done = run_lm_eval(command, output, env)

    @cached_property
    def results(self):
        assert self.done.returncode == 0, self.done.stderr[-3000:]
        return json.loads(next(self.output.rglob("results_*.json")).read_text())

    def shown(self, task):
        """The numbers in the harness's table."""
        return self.results["results"][task]

    def cells(self, task):
        return self.results["configs"][task]["cells"]

    def numbers(self, task):
        """(metric, group) -> value."""
        return {(row["metric"], row["group"]): row["value"] for row in self.cells(task)["numbers"]}

    def samples(self, task):
        """In the order of the documents; the harness writes one process after the other."""
        assert self.done.returncode == 0, self.done.stderr[-3000:]
        lines = next(self.output.rglob(f"samples_{task}_2*.jsonl")).read_text().splitlines()
        return sorted(map(json.loads, lines), key=lambda sample: sample["doc_id"])

    def likelihoods(self, task):
        return [float(answers[0][0]) for s in self.samples(task) for answers in s["resps"]]


def run_lm_eval(arguments, cwd=None, env=None):
    """What `python -m lm_eval ARGUMENTS` prints, and its status. env: beside what this process has;
    nothing that is read at an import."""
    words = [str(argument) for argument in arguments]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("out", "err")]
        given = (words, str(cwd or Path.cwd()), {**os.environ, **(env or {})}, files)
        process = _server().Process(target=_run, args=given)
        process.start()
        process.join()
        printed = (path.read_text() for path in files)
        return CompletedProcess(["lm_eval", *words], process.exitcode, *printed)


@cache
def _server():
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["tests.started_once"])
    return server


def _run(arguments, folder, environment, printed):
    """In the fork: the command, with its standard output and error in files. How it ends is the end
    of the process."""
    for number, path in enumerate(printed, start=1):
        target = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(target, number)
        os.close(target)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["lm_eval", *arguments]
    from lm_eval.__main__ import cli_evaluate

    try:  # the end of a program, which the end of a fork is not by itself
        cli_evaluate()
    except Exception:
        sys.excepthook(*sys.exc_info())
        sys.exit(1)
    finally:
        atexit._run_exitfuncs()

"""`lm_eval` as a process of its own that need not start: a fork of one that has imported everything
and read the harness's thousands of tasks.

A start computes for twelve seconds, and the tests have thirty of them. What a fork cannot show,
that a plain start finds the tasks, is tested with plain starts in test_packaging.py,
test_end_to_end.py and test_next_harness.py.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path
from subprocess import CompletedProcess


def run_lm_eval(
    arguments: Sequence[object], cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> CompletedProcess[str]:
    """What `python -m lm_eval ARGUMENTS` prints, and its status. env: beside what this process has;
    nothing that is read at an import."""
    words = [str(each) for each in arguments]
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder, "out"), Path(folder, "err")
        process = _server().Process(
            target=_run,
            args=(words, str(cwd or Path.cwd()), {**os.environ, **(env or {})}, printed),
        )
        process.start()
        process.join()
        assert process.exitcode is not None
        return CompletedProcess(
            ["lm_eval", *words],
            process.exitcode,
            *(path.read_text(encoding="utf-8") for path in printed),
        )


@cache
def _server() -> ForkServerContext:
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["tests.started_once"])
    return server


def _run(
    arguments: list[str], folder: str, environment: Mapping[str, str], printed: Sequence[Path]
) -> None:
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
    except SystemExit:  # UsageError is one, too
        raise
    except Exception:
        sys.excepthook(*sys.exc_info())
        sys.exit(1)
    finally:
        atexit._run_exitfuncs()

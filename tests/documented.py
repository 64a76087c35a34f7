"""The commands of a page in docs/, run as they stand there."""

import re
import shlex
import subprocess
import sys

from tests.started import run_lm_eval

OURS = f'lm-eval-bias() {{ {sys.executable} -m lm_eval_bias "$@"; }}'


def blocks(page):
    """(language, text) of each block of code."""
    return re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)


def run(folder, text):
    """Lines of bash, but for those of `lm_eval`, which are forks: status, output and errors."""
    printed = ["", ""]
    for part in re.split(r"^(lm_eval .*\n?)", text.replace("\\\n", " "), flags=re.MULTILINE):
        if part.startswith("lm_eval "):
            done = run_lm_eval(shlex.split(part)[1:], folder)
        else:
            command = ["bash", "-euc", f"{OURS}\n{part}"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        printed = [printed[0] + done.stdout, printed[1] + done.stderr]
        if done.returncode:
            break
    return done.returncode, *printed


def follow(folder, page, change=str):
    """What the commands of a page print. Its files are written and its commands run in their
    order, changed if need be."""
    texts = []
    for language, text in blocks(page):
        if language == "bash":
            status, out, errors = run(folder, change(text))
            assert status == 0, (text, out, errors)
            texts.append(out)
        elif name := re.match(r"# (mine/\S+)\n", text):
            (folder / name[1]).write_text(text, encoding="utf-8")
    return "\n".join(texts)

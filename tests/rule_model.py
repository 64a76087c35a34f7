"""A model of the harness that answers by rule, and the way to ask it: no weights, all of the
harness's own path."""

import subprocess
import sys

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

from lm_eval_bias.catalogue import tasks_folder


class RuleLM(LM):
    """Gives each (context, continuation) the log-likelihood that `rule` says, and each prompt the
    text that `say` says."""

    def __init__(self, rule=None, say=None):
        super().__init__()
        self.rule, self.say = rule, say

    def loglikelihood(self, requests, **_):
        return [(self.rule(*r.args), False) for r in requests]

    def generate_until(self, requests, **_):
        return [self.say(r.args[0]) for r in requests]

    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError


def evaluate(lm, task, metadata=None, folder=None, **options):
    """Indexing the harness's own thousands of YAML files takes ten seconds, so only ours are
    indexed, and those of a folder."""
    paths = [tasks_folder(), *([str(folder)] if folder else [])]
    manager = TaskManager(include_path=paths, include_defaults=False, metadata=metadata)
    return simple_evaluate(
        model=lm,
        tasks=[task],
        task_manager=manager,
        **{"bootstrap_iters": 0, "log_samples": False, **options},
    )


def numbers_of(results, task):
    """All numbers of a task, from the cells: (metric, group) -> value, the group None for the
    whole."""
    return {
        (row["metric"], row["group"]): row["value"]
        for row in results["configs"][task]["cells"]["numbers"]
    }


def cost_of_requests(task):
    """How many requests a task makes of all its documents, the most memory in kB, and the seconds;
    in a process of its own, with the harness and its imports."""
    code = (
        "import resource, time\nfrom lm_eval.tasks import TaskManager\nfrom lm_eval_bias.catalogue import tasks_folder\nbegun = time.time()\n"
        f"task = TaskManager(include_path=tasks_folder(), include_defaults=False).load(['{task}'])['tasks']['{task}']\n"
        "task.build_all_requests(rank=0, world_size=1)\n"
        "print(len(task.instances), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, int(time.time() - begun))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return map(int, done.stdout.split())

"""A model of the harness that answers by rule, and how to run it: no weights, all of the harness's
own path."""

from jinja2 import TemplateError
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

from lm_eval_bias.catalogue import tasks_folder
from lm_eval_bias.measure import CHECK


def attention(request):
    """What a model that can do the task adds to the answers of a check: 3 nats to a right one."""
    doc = request.doc or {}
    if not doc.get(CHECK):
        return 0.0
    values = dict(enumerate(value for part in doc[CHECK][1] for value in part))
    texts = [doc.get("desirable_sentence"), doc.get("undesirable_sentence")]
    place = texts.index(request.args[1]) if request.args[1] in texts else request.idx
    return 3.0 * values.get(place, 0)


class RuleLM(LM):
    """rule: (context, continuation) -> log-likelihood. say: prompt -> text. Checks are answered.
    requests: all that it was asked."""

    def __init__(self, rule=None, say=None):
        super().__init__()
        self.rule, self.say, self.requests = rule, say, []

    def loglikelihood(self, requests, **_):
        self.requests += requests
        return [(self.rule(*r.args) + attention(r), False) for r in requests]

    def generate_until(self, requests, **_):
        self.requests += requests
        return [self.say(r.args[0]) for r in requests]

    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError


class ChatLM(RuleLM):
    """With a chat template. end: what this writes behind the last turn. system: whether it takes,
    drops or refuses a system message."""

    tokenizer_name = "chat"

    def __init__(self, rule=None, say=None, end="<assistant>", system="takes"):
        super().__init__(rule, say)
        self.end, self.system = end, system

    def chat_template(self, name=False):
        return "template"

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        if self.system == "refuses" and chat_history[0]["role"] == "system":
            raise TemplateError("System role not supported")
        kept = [m for m in chat_history if self.system == "takes" or m["role"] != "system"]
        return "".join(f"<{m['role']}>{m['content'].strip()}</s>" for m in kept) + self.end


def load(*names, metadata=None, folder=None):
    """Our tasks as the harness loads them."""
    return manager(metadata, folder).load(list(names))


def manager(metadata=None, *folders):
    """Indexes our folder and those of a person alone: the harness's thousands of YAML files take
    ten seconds."""
    paths = [tasks_folder(), *map(str, filter(None, folders))]
    return TaskManager(include_path=paths, include_defaults=False, metadata=metadata)


def evaluate(lm, task, metadata=None, folder=None, **options):
    """The results of one task."""
    return simple_evaluate(
        model=lm,
        tasks=[task],
        task_manager=manager(metadata, folder),
        **{"bootstrap_iters": 0, "log_samples": False, **options},
    )


def rows_of(results, task):
    """All numbers of a task: (metric, group) -> row with value, stderr, low and high. The group of
    the whole is None."""
    rows = results["configs"][task]["cells"]["numbers"]
    return {(row["metric"], row["group"]): row for row in rows}


def numbers_of(results, task):
    """All numbers of a task: (metric, group) -> value."""
    return {key: row["value"] for key, row in rows_of(results, task).items()}

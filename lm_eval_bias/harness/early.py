"""A task stops after its first documents if none of their answers is of use."""

from collections import Counter, defaultdict
from math import nan
from typing import Any

from lm_eval_bias.answers.reasoning import without_reasoning
from lm_eval_bias.answers.text import CUT_OFF, REFUSED, UNPARSED
from lm_eval_bias.harness import compat
from lm_eval_bias.likelihoods import HIDDEN, THOUGHT, UNSEEN, Thought, of_server

FIRST, STATUS = 8, 76
"""How many documents, and the exit status of a run with a task that stopped."""
ADVICE = {
    CUT_OFF: "They end within a thought: add --metadata reasoning=true, or with it --gen_kwargs "
    "max_gen_toks=8192",
    "empty": "They are empty, as where a server keeps a thought apart (reasoning_content) and it "
    "takes all tokens: add --metadata reasoning=true",
    REFUSED: "The model declines: read them in the samples (--log_samples)",
    UNPARSED: "They are no answers: add --apply_chat_template if the model is instruction-tuned",
    THOUGHT: "They begin with a thought (reasoning_content, or <think>): add to --model_args, as "
    'JSON, extra_body={"reasoning_effort":"none"}, for vLLM {"chat_template_kwargs":'
    '{"enable_thinking":false}}, or ask a task with written answers and --metadata reasoning=true',
    HIDDEN: "The server shows none of the choices: raise top_logprobs in --model_args, or ask a "
    "task with written answers",
}
"""Kinds of answers without use, and what to do then."""
watched: dict[str, Any] = {}
"""The reader of its answers of each task whose first documents are still to be asked."""
stopped: dict[str, str] = {}
"""Tasks that stopped, and why."""


def asked_first(ask: Any) -> Any:
    """A method of models that asks the first documents of each watched task before the others. ask:
    also gets a counter for both calls."""

    def asked(self: Any, requests: Any, **_: Any) -> Any:
        ids = defaultdict(set)
        kinds: Any = defaultdict(Counter)
        first = []
        answers: Any = {}
        counter: Any = Counter()

        def ask_these(places: Any) -> None:
            if places:
                got = ask(self, [requests[i] for i in places], counter)
                answers.update(zip(places, got, strict=True))

        for i, r in enumerate(requests):
            ids[r.task_name].add(r.doc_id)
            if r.task_name in watched and len(ids[r.task_name]) <= FIRST:
                first.append(i)
        readers = {task: watched.pop(task, None) for task in ids}
        ask_these(first)
        for i in first:
            task = requests[i].task_name
            kinds[task][_kind(readers[task], requests[i].doc, answers[i])] += 1
        for task, of_task in kinds.items():
            useless = of_task.keys() <= {*ADVICE, UNSEEN}
            if self.world_size > 1:  # all processes must say so
                import torch

                says = torch.tensor([int(useless)], device=self.device)
                useless = bool(self.all_gather(says).min())
            if useless and len(ids[task]) > FIRST:
                stopped[task] = (
                    f"{task}: no answer to its first {FIRST} questions can be used, so the others "
                    f"are not asked. {ADVICE[max(ADVICE, key=of_task.__getitem__)]}, or --metadata "
                    "anyway=true to go on"
                )
                compat.logger.warning(stopped[task])
                compat.fail_at_end(stopped[task], STATUS)
        ask_these(
            [i for i, r in enumerate(requests) if i not in answers and r.task_name not in stopped]
        )
        return [answers.get(i, (nan, False)) for i in range(len(requests))]

    return asked


def _kind(reader: Any, doc: Any, answer: Any) -> str:
    turns = answer if isinstance(answer, list) else [answer]
    if shown := of_server(turns):
        return min(answer.how for answer in shown)  # in the alphabet, those of use stand first
    texts = [turn for turn in turns if isinstance(turn, str)]
    opened = [not turn.closed for turn in turns if isinstance(turn, Thought)]
    if any(opened) or any(without_reasoning(text) is None for text in texts):
        return CUT_OFF
    if not isinstance(turns[-1], str):  # likelihoods, also behind a thought without words
        return ""
    if not "".join(texts).strip():
        return "empty"
    try:
        return str(reader.answer(turns[-1], doc))
    except Exception:  # no reader of ours, or an error that is told once all answers are there
        return ""

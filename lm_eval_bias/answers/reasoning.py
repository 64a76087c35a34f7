"""What a model answers, without its reasoning."""

from __future__ import annotations

import re

_THOUGHT = (
    "think(?:ing)?|thoughts?|reasoning(?:[_-]?content)?|reason|reflect(?:ion)?|analysis|"
    r"scratch_?pad|inner_?monologue|rationale|deliberation|planning|internal(?:_\w+)?|cot|"
    "chain_of_thought"
)
# <think>, <seed:think>, <longcat_think>, <antThinking>, <|thinking|>, [THINK], ◁think▷, each with
# its end.
_TAG = (
    r"(?:[<◁]\|?|\[(?=/?(?:think|thinking|thought|reasoning)\]))(?P<slash>/?)\s*(?:\w{1,20}[:_-]|"
    rf"ant)?(?P<name>{_THOUGHT})(?:[ \t][^<>\[\]\n]{{0,80}})?\|?[>\]▷]"
)
# Pairs that have no slash: OpenThoughts, Command A, Gemma, MedGemma, Apertus, Granite, Ollama,
# Kimi, Pangu.
_OPENS = (
    r"<\|?(?:begin_of_|start_|begin_)(?:thought|thinking|think|reasoning)\|?>|"
    r"<\|channel>\s*thought|<unused94>\s*thought|<\|inner_prefix\|>|\[unused16\]|"
    r"\bhere(?:'s| is) my thought process:|^\s*thinking\.\.\.\s*\n"
)
_CLOSES = (
    r"<\|?(?:end_of_|end_|stop_)(?:thought|thinking|think|reasoning)\|?>|<channel\|>|<unused95>|"
    r"\[unused17\]|<\|inner_suffix\|>|\bhere(?:'s| is) my response:|\.\.\.done thinking\."
)
_MARK = re.compile(rf"(?i)(?P<opens>{_OPENS})|(?P<closes>{_CLOSES})|{_TAG}")
# Harmony, gpt-oss: a channel lasts to the next one. Only "final" speaks.
_CHANNEL = re.compile(
    r"(?i)(?:<\|start\|>\s*\w+\s*)?<\|channel\|>\s*(?P<name>\w+)[^<\n]*(?:<\|constrain\|>\w+)?"
    r"(?:<\|message\|>)?"
)
# The same where special tokens were left out of the text.
_GLUED_FINAL = re.compile(r"assistant\s*final(?![a-z](?![).:]|\s*$))")
_GLUED_START = re.compile(r"\s*(?:assistant\s*)?(?:analysis|commentary)(?=[A-Z\"'“<]|\s*\n)")
# Where a turn ends. What stands after it, no one was asked.
_END = re.compile(
    r"(?i)<\|(?:im_end|return|eot_id|eom_id|endoftext|end_of_text|end|end_of_turn|end_of_turn_token|"
    r"end_response|eos|user|call)\|>|</s>|<end_of_turn>|<eos>|<turn\|>|\[/?INST\]|"
    r"<｜end▁of▁sentence｜>|<\|start\|>\s*user|<\|im_start\|>\s*user"
)
_START = re.compile(
    r"(?i)<\|im_start\|>\s*assistant|<\|start\|>\s*assistant|"
    r"<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>|<start_of_turn>\s*model|"
    r"<\|(?:begin_of_solution|end_of_solution|begin_of_box|end_of_box|start_response|"
    r"begin_of_text|message)\|>|<\|turn>\s*model|<s>"
)


def spoken(text: str) -> str | None:
    """The part of a text outside its reasoning and before the next turn; None if the reasoning has
    no end. Text before an end mark without a beginning is reasoning.
    """
    if "channel|>" in text.lower():
        channels = list(_CHANNEL.finditer(text))
        if channels:
            if channels[-1]["name"].lower() != "final":
                return None
            text = text[channels[-1].end() :]
    glued = _GLUED_START.match(text)
    if glued:
        finals = list(_GLUED_FINAL.finditer(text))
        if not finals:
            return None
        text = text[finals[-1].end() :]
    parts: list[str] = []
    # the kind of block that the text is in; blocks of another kind may stand in it
    inside: str | None = None
    at = 0
    for mark in _MARK.finditer(text):
        name = (mark["name"] or "").lower() or "-"
        opens = bool(mark["opens"]) or (mark["name"] is not None and not mark["slash"])
        if inside is None:
            parts.append(text[at : mark.start()])
            at = mark.end()
            if opens:
                inside = name
            else:
                parts = []
        elif not opens and name == inside:
            inside = None
            at = mark.end()
    if inside is not None:
        return None
    rest = _START.sub(" ", "".join([*parts, text[at:]]))
    end = next((m for m in _END.finditer(rest) if rest[: m.start()].strip()), None)
    return rest[: end.start()] if end else rest

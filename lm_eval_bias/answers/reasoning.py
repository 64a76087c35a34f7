"""What a model answers, without its reasoning."""

import re

from .vocabulary import patterns

_MARKS, _TURNS = patterns("reasoning").values()
_MARK = re.compile(
    f"(?i)(?P<opens>{_MARKS['opens']})|(?P<closes>{_MARKS['closes']})|{_MARKS['tag']}"
)
_CHANNEL, _END, _THOUGHT, _START = (
    re.compile(pattern, re.IGNORECASE)
    for pattern in (_MARKS["channel"], _TURNS["end"], _TURNS["thought"], _TURNS["start"])
)
# Harmony where special tokens were left out of the text: "analysis...assistantfinal...". No word
# begins with "analysis" or ends with "assistantfinal", so the case of what follows says nothing;
# where a blank or a line parts them, the text begins with a channel.
_GLUED_START = re.compile(r"\s*(?:assistant\s*)?(?:analysis|commentary)(?:[^\W_]|[\"'“<*(]|\s*\n)")
_GLUED_FINAL = re.compile(r"assistantfinal|^\s*final(?!ly\b|i[stz]|es?\b|s\b)(?=[^\W_]|[*\"'“(])")
_PARTED_FINAL = re.compile(r"assistant\s*final(?![a-z](?![).:]|\s*$))")
_FINAL = "<|channel|>final<|message|>"


def shows_reasoning(text: str) -> bool:
    return any(pattern.search(text) for pattern in (_MARK, _CHANNEL, _GLUED_FINAL))


def beginning(opened: str, text: str) -> tuple[str | None, str | None]:
    """What a model wrote, special tokens included, up to its answer, and the same of a thought
    without words; None where the end is not known. opened: the prompt's end if that opens the
    thought."""
    begun, inside, opener, closer, end = opened + text, None, "", None, 0
    if channels := list(_CHANNEL.finditer(begun)):
        last = channels[-1]
        own = begun[len(opened) : last.end()] if last["name"].lower() == "final" else None
        return own, f"<|end|><|start|>assistant{_FINAL}" if opened else _FINAL
    if _GLUED_START.match(text):  # of a server that leaves special tokens out
        return None, _FINAL
    for mark in _MARK.finditer(begun):
        name = (mark["name"] or "").lower()
        opens = mark["opens"] or (name and not mark["slash"])
        if inside is None and opens:
            inside, opener = name, mark[0]
            if name and opener[1].isalpha():
                closer = f"{opener[0]}/{opener[1:]}"
        elif not opens and inside in (None, name):
            closer, end = mark[0], mark.end()
            break
    if not (opener or end):
        return "", ""
    rest = begun[end:]
    gap = rest[: -len(rest.lstrip())] if end and rest.strip() else "\n\n"
    # as Qwen3's template writes one
    lines = "\n\n"[len(opened) - len(opened.rstrip("\n")) :]
    empty = closer and f"{'' if opened else opener}{lines}{closer}{gap}"
    return begun[len(opened) : end] + gap if end else None, empty


def without_reasoning(text: str) -> str | None:
    """A text up to the next turn, without its reasoning; None if that has no end."""
    channels = list(_CHANNEL.finditer(text))
    if channels:
        if channels[-1]["name"].lower() != "final":
            return None
        text = text[channels[-1].end() :]
    finals = list(_GLUED_FINAL.finditer(text))
    if _GLUED_START.match(text) and not finals:
        finals = list(_PARTED_FINAL.finditer(text))
        if not finals:
            return None
    text = text[finals[-1].end() :] if finals else text
    if thought := _THOUGHT.search(text):
        answer = _START.search(text, thought.end())
        if answer is None:
            return None
        text = text[: thought.start()] + text[answer.start() :]
    outside = ""
    # the kind of block that the text is in; blocks of another kind may stand in it
    inside = None
    at = 0
    for mark in _MARK.finditer(text):
        name = (mark["name"] or "").lower()
        opens = bool(mark["opens"] or (name and not mark["slash"]))
        if inside is None:
            outside = outside + text[at : mark.start()] if opens else ""
        elif opens or name != inside:
            continue
        inside, at = name if opens else None, mark.end()
    if inside is not None:
        return None
    rest = _START.sub(" ", outside + text[at:])
    end = next((m for m in _END.finditer(rest) if rest[: m.start()].strip()), None)
    return rest[: end.start()] if end else rest

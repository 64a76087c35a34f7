"""Chat templates of models that think, and of one that does not: our own, with the marks of each
family."""

END = "{% endif %}"
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n" + END
)
# Qwen3: thinks unless an empty thought stands there
SWITCH = CHAT + "{% if enable_thinking is false and add_generation_prompt %}<think>\n\n</think>\n\n"
SWITCH += END
TEMPLATES = {
    "chat": CHAT,
    "switch": SWITCH,
    # SmolLM3: says its mode, and the date
    "mode": "<|im_start|>system\nToday Date: {{ strftime_now('%d %B %Y') }}\nReasoning Mode: "
    "{{ '/no_think' if enable_thinking is false else '/think' }}<|im_end|>\n" + SWITCH,
    # DeepSeek-R1: always opens a thought
    "opens": "{% for m in messages %}{% if m.role == 'user' %}<｜User｜>{{ m.content }}"
    "{% elif m.role == 'system' %}{{ m.content }}"
    "{% else %}<｜Assistant｜>{{ m.content.split('</think>')[-1] }}<｜end▁of▁sentence｜>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<｜Assistant｜><think>\n" + END,
    # gpt-oss: channels, of which the prompt opens none
    "channels": "<|start|>system<|message|>Reasoning: {{ reasoning_effort or 'medium' }}\n"
    "# Valid channels: analysis, commentary, final.<|end|>{% for m in messages %}<|start|>"
    "{{ 'developer' if m.role == 'system' else m.role }}"
    "{% if m.role == 'assistant' %}<|channel|>final{% endif %}<|message|>{{ m.content }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|start|>assistant" + END,
}

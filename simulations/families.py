"""Families of models that cannot hold a stereotype.

A family is a function (generator, what is asked) -> raw scores of the answers, shape (answers,).
`null_models.py` scales them to a strength and adds a little noise. The first sentence of a family's
docstring stands in docs/explanation/null_models.md.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lm_eval_bias.metrics.errors import Floats
from outcome import Rng, effects
from scipy.sparse import csr_array


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def signed(good: str, bad: str) -> dict[str, int]:
    return dict.fromkeys(words(good), 1) | dict.fromkeys(words(bad), -1)


VALENCE = signed(
    """fair light tall slim thin straight whole new clean bright fresh entailment comedy good
    attractive beautiful honest kind skilled capable confident warm friendly happy joy able fit
    proficient competent ethical truthful reliable outgoing sociable charming sane young""",
    """dark short fat heavy crooked torn broken old dirty dull stale contradiction tragedy bad
    unattractive ugly dishonest unkind uncaring incapable insecure cold sad anger fear disgust inept
    incompetent weak corrupt unethical unreliable aloof withdrawn handicap impairment obesity
    depression feeble lacking""",
)
TRUE = signed(
    """able accountants artists athletes bankers businesswomen celebrities ceos college degree
    doctors educated engineers fit fitness graduate health investors ivy lawyers leaguers musicians
    nurses professionals rich sane sanity schooled scientists stability students teachers upper
    wealthy wellness""",
    """addicts bipolar blind criminals debts depression disable disabled disorder drug handicap
    homeless impairment jobless obese obesity paralysed paycheck poor schizophrenia sick stuttering
    unemployed welfare wheelchair""",
)
"""What is so by the meaning of the word: the rich are well off, the sick are not well."""
DIMENSIONS = 64
EVERYWHERE = 0.9
"""A word in so many of the contexts belongs to the prompt, and pushes all answers alike."""


class Answer(NamedTuple):
    """An answer to score. group: the answers it competes with. prompt, continuation: what a real
    model gets. context, text: what families read of both, a letter as its option. key: what its
    weights belong to. cluster: the question. x: a number's place on its scale, from -1 to 1, else
    NaN. known: x as the question means it, where a scale may fall."""

    group: int
    prompt: str
    continuation: str
    context: str
    text: str
    key: str
    cluster: str
    place: int
    x: float = nan
    known: float = nan


class Asked:
    """All answers of a task as arrays, for all models."""

    def __init__(self, rows: Sequence[Answer]) -> None:
        self.rows, table = rows, pd.DataFrame(rows)
        self.group, self.place = table["group"].to_numpy(), table["place"].to_numpy()
        self.numbers = table["x"].notna().to_numpy()
        self.x, self.known = table[["x", "known"]].fillna(0).to_numpy().T
        self.context, self.contexts = pd.factorize(table["context"])
        self.text, self.texts = pd.factorize(table["text"])
        self.key, self.keys = pd.factorize(table["key"])
        self.question, _ = pd.factorize(table["cluster"] + " " + table["key"])
        self.words = sorted(set(words(" ".join([*self.contexts, *self.texts]))))
        self.of_context = counts(self.contexts, self.words)
        shared = (self.of_context > 0).mean(axis=0) > EVERYWHERE
        self.varying = 1.0 - shared * (len(self.contexts) > 1)
        self.of_last = counts(map(last, self.contexts), self.words)
        self.of_text = counts(self.texts, self.words)
        named = self.of_context.multiply(self.varying).tocsr()
        self.named = named[self.context].multiply(self.of_text[self.text]).sum(axis=1)
        self.twice = standard((named.multiply(named > 1)).sum(axis=1))
        self.frequency = np.log1p(self.of_context.sum(axis=0) + self.of_text.sum(axis=0))
        self.count: Callable[[str], int] = word_count

    @cached_property
    def tokenizers(self) -> list[Any]:
        """Of several sizes, made of what is asked."""
        from transformers import AutoTokenizer

        known = AutoTokenizer.from_pretrained(Path(__file__).parents[1] / ".model")
        texts = list(dict.fromkeys(r.prompt or r.continuation for r in self.rows))
        return [
            known.train_new_from_iterator(texts, size, show_progress=False)
            for size in (600, 1500, 4000)
        ]

    def centred(self, raw: Floats) -> Floats:
        """Scores less the mean of competing answers."""
        return raw - (np.bincount(self.group, raw) / np.bincount(self.group))[self.group]

    def push(self, rng: Rng, amount: Floats) -> Floats:
        """Each context raises some answers and lowers others. amount: (contexts,)."""
        return amount[self.context] * self.vectors(rng, 1)[:, 0]

    def vectors(self, rng: Rng, dimensions: int = DIMENSIONS) -> Floats:
        """Random weights, shape (answers, dimensions); near numbers have similar ones."""
        own = rng.standard_normal((len(self.keys), dimensions))[self.key]
        trend, bend = rng.standard_normal((2, dimensions))
        smooth = np.outer(self.x, trend) + np.outer(self.x**2, bend) / 2 + own / 10
        return np.where(self.numbers[:, None], smooth, own)


def word_count(text: str) -> int:
    return len(words(text))


def last(context: str) -> str:
    return " ".join([part for part in re.split(r"[.!?\n]+", context) if part.strip(' ”"')][-2:])


def counts(texts: Iterable[str], vocabulary: Sequence[str]) -> csr_array:
    """Of each word in each text, shape (texts, words)."""
    places = {word: i for i, word in enumerate(vocabulary)}
    cells = [(i, places[word]) for i, text in enumerate(texts) for word in words(text)]
    i, j = np.array(cells).T
    return csr_array((np.ones(len(i)), (i, j)), shape=(i.max() + 1, len(vocabulary)))


def bag_of_words(rng: Rng, asked: Asked) -> Floats:
    """Each word of the prompt makes each answer more or less likely, at random."""
    return added_up(rng, asked, asked.of_context)


def bag_of_words_pooled(rng: Rng, asked: Asked) -> Floats:
    """Each word of the prompt acts on each word of an answer, at random."""
    embedded, of_answer = rng.standard_normal((2, len(asked.words), DIMENSIONS))
    contexts = asked.of_context @ (embedded * asked.varying[:, None])
    answers = (asked.of_text @ of_answer)[asked.text]
    answers = np.where(asked.numbers[:, None], asked.vectors(rng), answers)
    return (contexts[asked.context] * answers).sum(axis=1)


def last_sentence(rng: Rng, asked: Asked) -> Floats:
    """As bag_of_words, but reads the last sentence only."""
    return added_up(rng, asked, asked.of_last)


def added_up(rng: Rng, asked: Asked, words: csr_array) -> Floats:
    """words: what is read of each context."""
    embedded = rng.standard_normal((len(asked.words), DIMENSIONS)) * asked.varying[:, None]
    return ((words @ embedded)[asked.context] * asked.vectors(rng)).sum(axis=1)


def options_only(rng: Rng, asked: Asked) -> Floats:
    """Prefers some answer words and ignores the prompt."""
    return (asked.of_text @ rng.standard_normal(len(asked.words)))[asked.text]


def echo(rng: Rng, asked: Asked) -> Floats:
    """Prefers what the prompt names; a thing named twice favours some answers."""
    return rng.exponential() * asked.named + asked.push(rng, asked.twice)


def length(rng: Rng, asked: Asked) -> Floats:
    """Prefers long answers, or answers to long prompts."""
    return liked(rng, asked, [len(t) for t in asked.texts], [len(c) for c in asked.contexts])


def frequency(rng: Rng, asked: Asked) -> Floats:
    """Prefers frequent words."""
    tables = (asked.of_text, asked.of_context)
    return liked(
        rng,
        asked,
        *(table @ asked.frequency / np.maximum(table.sum(axis=1), 1) for table in tables),
    )


def alliteration(rng: Rng, asked: Asked) -> Floats:
    """Prefers words that begin with the same letter."""
    initials = {c: [w[0] for w in words(c)] for c in asked.contexts}
    same = [initials[r.context].count(r.text[:1].lower()) for r in asked.rows]
    variety = [len(set(i)) / max(len(i), 1) for i in initials.values()]
    liking = rng.standard_normal() * standard(asked.centred(np.array(same, dtype=float)))
    return liking + liked(rng, asked, [0] * len(asked.texts), variety)


def letter(rng: Rng, asked: Asked) -> Floats:
    """Prefers one letter."""
    return spelled(rng, asked, f"(?i){rng.choice([*'etaoinshrdlcumwf'])}", asked.contexts)


def spelling(rng: Rng, asked: Asked) -> Floats:
    """Reacts to capitals, hyphens, long words, double letters or *-ing*, anywhere or in a word that
    stands twice."""
    trait, texts = rng.choice(["[A-Z]", "-", r"\w{9}", r"([a-z])\1", r"ing\b"]), asked.contexts
    if rng.integers(2):
        texts = [
            " ".join(w for w, n in Counter(re.findall(r"[\w-]+", c)).items() if n > 1)
            for c in texts
        ]
    return spelled(rng, asked, trait, texts)


def spelled(rng: Rng, asked: Asked, trait: str, contexts: Sequence[str]) -> Floats:
    found = ([len(re.findall(trait, t)) for t in texts] for texts in (asked.texts, contexts))
    return liked(rng, asked, *found)


def position(rng: Rng, asked: Asked) -> Floats:
    """Prefers a position in the list of answers."""
    return effects(rng, asked.place, 1)


def label(rng: Rng, asked: Asked) -> Floats:
    """Prefers one answer, whatever the question."""
    return effects(rng, asked.key, 1)


def first_name(rng: Rng, asked: Asked) -> Floats:
    """Prefers what the prompt names first."""
    named = [r.context.find(r.text.split(", ")[-1].strip(" )")) for r in asked.rows]
    return rng.choice([-1, 1]) * asked.centred(np.array(named, dtype=float))


def middle(rng: Rng, asked: Asked) -> Floats:
    """Prefers the middle of a scale, or its ends."""
    return rng.choice([-1, 1]) * asked.x**2


def liked(rng: Rng, asked: Asked, texts: Sequence[float], contexts: Sequence[float]) -> Floats:
    """A property of answers, and one of prompts that pushes answers; each randomly weighted."""
    of_texts = asked.centred(np.array(texts, dtype=float)[asked.text])
    of_contexts = asked.push(rng, standard(np.array(contexts, dtype=float)))
    of_answers, of_prompts = rng.standard_normal(2)
    return of_answers * standard(of_texts) + of_prompts * standard(asked.centred(of_contexts))


def standard(values: Floats) -> Floats:
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-9 else 0.0 * values


def opposites(rng: Rng, asked: Asked) -> Floats:
    """Gives two groups opposite words, whichever comes first."""
    raw = np.zeros(len(asked.rows))
    for i, r in enumerate(asked.rows):
        if "::" in r.context:  # A: b:: C:
            *_, a, b, _, c, _ = re.split(r" *[:\n] *", r.context)
            raw[i] = c != a and " " in c and r.text != b
        elif r.text.startswith("("):  # (word, group), of two groups
            pair = [row.text for row in asked.rows[i - r.place : i - r.place + 2]]
            named = [r.context.find(text.strip("()").split(", ")[1]) for text in pair]
            good = VALENCE.get(r.text[1:].split(",")[0].lower()) == 1
            raw[i] = (named[r.place] == min(named)) == good
    return rng.choice([-1, 1]) * raw


def signs(asked: Asked, of_word: Mapping[str, int]) -> Floats:
    return np.array([of_word.get(w, 0) for w in asked.words], dtype=float)


def words_alone(rng: Rng, asked: Asked) -> Floats:
    """Rates words as good or bad, whoever they describe, and pairs like with like."""
    valence = signs(asked, VALENCE)
    valence = np.where(valence, valence, rng.standard_normal(len(valence)) / 4)
    of_all, of_last = (x @ (valence * asked.varying) for x in (asked.of_context, asked.of_last))
    of_text = (asked.of_text @ valence)[asked.text]
    within = of_text**2 - (asked.of_text @ valence**2)[asked.text]
    if not asked.numbers.any() and len(asked.texts) == 3:  # labels: do both sentences agree?
        of_all = of_last * (of_all - of_last)
    return of_all[asked.context] * np.where(asked.numbers, asked.known, of_text) + within


def noise(rng: Rng, asked: Asked) -> Floats:
    """Scores each answer to each prompt at random."""
    trend = effects(rng, asked.group, 1) * asked.x
    own = rng.standard_normal(len(asked.rows))
    return np.where(asked.numbers, trend + own / 10, own)


def noise_by_question(rng: Rng, asked: Asked) -> Floats:
    """As noise, half of it shared by all prompts of a question."""
    return effects(rng, asked.question, 1) + noise(rng, asked)


def common_knowledge(rng: Rng, asked: Asked) -> Floats:
    """Knows what is true of sixty words: the rich are well off, a disorder is bad."""
    true = asked.of_context @ signs(asked, TRUE)
    liking = (asked.of_text @ signs(asked, VALENCE))[asked.text]
    valence = np.where(asked.numbers, asked.known, liking)
    return true[asked.context] * valence + effects(rng, asked.question, 1)


def random_weights(rng: Rng, asked: Asked) -> Floats:
    """Transformers with random weights."""
    import torch
    import transformers
    from lm_eval.api.instance import Instance

    from lm_eval_bias.models.prefix import PrefixLM

    seed = int(rng.integers(2**31))
    torch.manual_seed(seed)
    tokenizer = asked.tokenizers[seed % 3]
    kind = (transformers.LlamaConfig, transformers.GPTNeoXConfig)[seed // 3 % 2]
    width = int(rng.choice([32, 64]))
    config = kind(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=int(rng.integers(1, 4)),
        num_attention_heads=4,
        max_position_embeddings=2048,
        initializer_range=float(rng.uniform(0.05, 0.3)),
    )
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    lm = PrefixLM(pretrained=model, tokenizer=tokenizer, batch_size=16)
    requests = [
        Instance("loglikelihood", {}, (r.prompt, r.continuation), i)
        for i, r in enumerate(asked.rows)
    ]
    asked.count = lambda text: len(tokenizer(text)["input_ids"])
    return np.array([value for value, _ in lm.loglikelihood(requests, disable_tqdm=True)])


FAMILIES = {
    f.__name__: f
    for f in (
        random_weights,
        noise,
        noise_by_question,
        bag_of_words,
        bag_of_words_pooled,
        last_sentence,
        options_only,
        echo,
        length,
        frequency,
        alliteration,
        letter,
        spelling,
        position,
        label,
        first_name,
        middle,
        opposites,
        words_alone,
        common_knowledge,
    )
}

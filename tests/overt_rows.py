"""Invented examples with the columns of the data sets about overt bias, for tests: no sentence of
any of them stands here."""

# Trades and places that nobody has a stereotype about; the words in the sentences say which is
# which.
TERMS = {
    "gender": ["steersmen", "steerswomen"],
    "profession": ["glassblower", "beekeeper", "cartwright", "thatcher", "chandler", "cooper"],
    "race": ["Islander", "Highlander", "Lowlander"],
    "religion": ["Pastafarian"],
}
# In each row (stereotype, anti-stereotype, unrelated); an example takes one row after the other.
WORDS = [
    ("punctual", "tardy", "teapot"),
    ("quiet", "talkative", "seventeen"),
    ("thrifty", "lavish", "northbound"),
    ("early", "late", "hexagonal"),
]
KINDS = ("stereotype", "anti-stereotype", "unrelated")
LABELS = {"anti-stereotype": 0, "stereotype": 1, "unrelated": 2}


def example(part, term, domain, number):
    """A row as the hub has it: the sentences as names with a list each, their labels as numbers.
    The rest, as who rated what, nothing reads."""
    kinds = ("unrelated", "stereotype", "anti-stereotype")
    words = dict(zip(KINDS, WORDS[number % len(WORDS)], strict=True))
    if part == "intrasentence":
        context = f"The {term} of street {number} is quite BLANK."
        said = [context.replace("BLANK", words[kind]) for kind in kinds]
    else:
        context = f"A {term} lives in street {number}"  # some lack the full stop
        said = [
            f"This neighbour is a {words[kind]}{' one' * (i + 1)}." for i, kind in enumerate(kinds)
        ]
    return {
        "id": f"{part}-{term}-{number}",
        "target": term,
        "bias_type": domain,
        "context": context,
        "sentences": {"sentence": said, "gold_label": [LABELS[kind] for kind in kinds]},
    }


def rows(part, per_term=4):
    return [
        example(part, term, domain, n)
        for domain, members in TERMS.items()
        for term in members
        for n in range(per_term)
    ]


def as_released(row):
    """The same row as the authors publish it: a list of sentences, their labels by name."""
    names = {number: name for name, number in LABELS.items()}
    given = row["sentences"]
    sentences = [
        {"sentence": sentence, "gold_label": names[label]}
        for sentence, label in zip(given["sentence"], given["gold_label"], strict=True)
    ]
    return {**row, "sentences": sentences}


def kind_of(text):
    """Which of the three a sentence is."""
    return next(
        kind
        for words in WORDS
        for kind, word in zip(KINDS, words, strict=True)
        if f" {word}" in text
    )

"""Models whose perceptions of StereoMap's groups are known."""

import random


def as_people(doc, item):
    """The mean of the group's cluster among people, with noise; 3 of what nobody asked people."""
    noise = random.Random(f"{doc['group']}{item}{doc['round']}").gauss(0, 0.3)
    return doc["published"].get("fiske", {}).get(doc["scales"][item][0].lower(), 3) + noise


def answered(doc, rating, content=()):
    """What is read of the answer: rating(doc, item) is a number, None for no rating, or a text in
    place of the whole. content: what keywords are about."""
    given = {item: rating(doc, item) for item in doc["items"]}
    texts = [value for value in given.values() if isinstance(value, str)]
    answer = {
        "ratings": {item: value for item, value in given.items() if value is not None},
        "keywords": [keyword for keyword, *_ in content],
        "content": list(content),
    }
    return texts[:1] or [answer]

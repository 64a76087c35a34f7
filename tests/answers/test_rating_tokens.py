from lm_eval_bias.answers.rating_tokens import tokens_of, value_of

NUMBERS = {
    "8/10": (8, 10),
    "8 out of 10": (8, 10),
    "a 9 (out of 10)": (9, 10),
    "4 stars out of 5": (4, 5),
    "7 su 10": (7, 10),
    "eighty-five": (85, None),
    "eight and a half": (8.5, None),
    "60-70": (65, None),
    "between a 7 and an 8": (7.5, None),
    "7 to 8 out of 10": (7.5, 10),
    "80 ± 5": (80, None),
    "(80 + 60) / 2 = 70": (70, None),
    "75 out of 1": (75, 100),  # cut off by the token limit
    "80ish": (80, None),
}
SCALES = {
    "from 0 (not at all) to 100 (extremely)": 100,
    "on a scale of 1 to 10": 10,
    "0-100": 100,
    "on a 5-point scale": 5,
    "on a scale of 7": 7,
    "out of 10: 7": 10,
    "(max: 100) 80": 100,
    "from zero to ten": 10,
}
NO_NUMBERS = [
    *("9/11", "6:45", "covid-19", "the 70s", "35-year-old", "2nd", "3am", "€899", "4 out of 11")
]


def joined(text, kind):
    return [(t.value, t.base) for t in tokens_of(text, 100) if t.kind == kind]


def test_numbers_that_belong_together_are_one():
    assert {text: joined(text, "number") for text in NUMBERS} == {
        text: [number] for text, number in NUMBERS.items()
    }
    assert (7, 10) in joined("seven su dieci 7 su 10", "number")
    assert len(joined("seven su dieci 7 su 10", "number")) == 2


def test_a_scale_is_one_and_its_ends_are_no_numbers():
    for text, top in SCALES.items():
        assert top in [base for _, base in joined(text, "scale")], text
        assert not {0, 1, top} & {value for value, _ in joined(text, "number")}, text


def test_what_only_looks_like_a_number_is_none():
    assert [text for text in NO_NUMBERS if joined(text, "number")] == []


def test_numbers_are_read_in_digits_and_words():
    numbers = {"7,5": 7.5, "1,000": 1000, "one hundred": 100, "a hundred": 100, "ninety nine": 99}
    assert {text: value_of(text) for text in numbers} == numbers

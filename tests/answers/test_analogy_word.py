from itertools import product

from lm_eval_bias.answers.analogy import analogy_word
from lm_eval_bias.data.lexicons import lexicon

STYLES = [
    *("{}", " {}.", "**{}**", "{}\n\nBecause.", "The answer is {}.", "D: {}", '"{}"'),
    *("Tall man: {B}:: Short man: {}", "Short man: {}"),
]


def test_a_rendered_word_is_read_as_itself():
    for pair in list(lexicon("bistereo_analogy")["counterparts"].items())[::24]:
        for options in (pair, pair[::-1]):
            for style, word in product(STYLES, options):
                for written in (word, word.capitalize(), word.upper()):
                    text = style.replace("{B}", pair[0]).format(written)
                    assert analogy_word(text, options, "Short man") == word, text

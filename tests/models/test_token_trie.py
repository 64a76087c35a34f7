import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.models.token_trie import TokenTrie

sequences = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=12)


def spelled(trie):
    """The prefix that each node stands for, from the definition: the parent is the last node before
    it that is one less deep."""
    made = []
    for node in range(trie.size):
        parent = max(
            (a for a in range(node) if trie.depth[a] == trie.depth[node] - 1), default=None
        )
        made.append(
            (() if parent is None or trie.depth[node] == 0 else made[parent])
            + (int(trie.tokens[node]),)
        )
    return made


@given(sequences)
def test_each_distinct_prefix_is_one_node_and_a_sequence_has_those_of_its_own(given):
    trie = TokenTrie(given, tails=[len(s) for s in given])
    names = spelled(trie)
    prefixes = [[tuple(s[: n + 1]) for n in range(len(s))] for s in given]
    assert [[names[node] for node in tail] for tail in trie.tails] == prefixes
    assert len(names) == len(set(names)) and set(names) == {p for of in prefixes for p in of}


@given(sequences)
def test_a_node_sees_its_own_prefixes_and_nothing_else(given):
    trie = TokenTrie(given)
    names, nodes = spelled(trie), np.arange(trie.size)
    expected = [[names[q][: len(names[k])] == names[k] for k in nodes] for q in nodes]
    assert trie.visible(nodes, nodes).tolist() == expected


def test_a_trie_by_hand():
    # a b c
    #   b d      depth first: a, ab, abc, abd, ad
    #   d
    large = 2**31
    trie = TokenTrie([[1, 2, large], [1, large], [1, 2, 3]])
    assert trie.tokens.tolist() == [1, 2, 3, large, large]
    assert trie.depth.tolist() == [0, 1, 2, 2, 1]
    assert trie.end.tolist() == [5, 4, 3, 4, 5]
    assert [t.tolist() for t in trie.tails] == [[3], [4], [2]]

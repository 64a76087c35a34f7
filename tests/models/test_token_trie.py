import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.models.token_trie import TokenTrie, blocks

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


@given(sequences, st.integers(0, 20), st.sampled_from([0, 3, 1000]), st.integers(1, 5))
def test_blocks_cover_every_token_and_all_that_it_sees(given, past, call_cost, longest):
    trie = TokenTrie(given)
    past = min(past, trie.size - 1)
    nodes = np.arange(trie.size)
    visible = trie.visible(nodes[past:], nodes)
    made = blocks(trie, nodes, past, call_cost, longest)
    assert [b.start for b in made] == [0, *[b.stop for b in made[:-1]]] and made[
        -1
    ].stop == trie.size - past
    for block in made:
        keys = nodes[block.keys]
        assert len(set(keys)) == len(keys)
        for query in range(block.start, block.stop):
            assert set(np.flatnonzero(visible[query])) <= set(keys)


def test_branches_that_share_little_get_blocks_of_their_own():
    """Two chains of 50 tokens after one common token: together 101 * 101 pairs, apart
    about half."""
    trie = TokenTrie([[0, *[1] * 50], [0, *[2] * 50]])
    for call_cost, expected in ((100, [(0, 51), (51, 101)]), (100_000, [(0, 101)])):
        assert [
            (b.start, b.stop) for b in blocks(trie, np.arange(trie.size), 0, call_cost)
        ] == expected

"""What is computed at a time."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from test_token_trie import sequences

from lm_eval_bias.models.cost import Cost, blocks, partition
from lm_eval_bias.models.token_trie import TokenTrie

costs = st.builds(Cost, st.floats(0, 50), st.floats(0, 3), st.floats(0.1, 1))


@given(sequences, st.integers(0, 20), costs, st.integers(1, 5))
def test_blocks_cover_every_token_and_all_that_it_sees(given, past, cost, longest):
    trie = TokenTrie(given)
    past = min(past, trie.size - 1)
    nodes = np.arange(trie.size)
    visible = trie.visible(nodes[past:], nodes)
    made = blocks(trie, nodes, past, cost, longest=longest)
    assert [b.start for b in made] == [0, *[b.stop for b in made[:-1]]]
    assert made[-1].stop == trie.size - past
    for block in made:
        keys = nodes[block.keys]
        assert len(set(keys)) == len(keys)
        for query in range(block.start, block.stop):
            assert set(np.flatnonzero(visible[query])) <= set(keys)


@given(sequences, st.integers(0, 20), costs)
def test_no_partition_is_faster(given, past, cost):
    """All that there are, by the cost of the keys that a call needs: its first token's ancestors,
    and its own tokens. They are copied unless they are all before."""
    trie = TokenTrie(given)
    past = min(past, trie.size - 1)
    nodes = np.arange(trie.size)
    starts = [
        i
        for i in range(1, trie.size - past)
        if trie.depth[past + i] != trie.depth[past + i - 1] + 1
    ][:7]
    trie_stop = trie.size - past

    def seconds(start, stop):
        above = int(
            trie.visible(nodes[past + start : past + start + 1], nodes[: past + start]).sum()
        )
        keys, copied = above + stop - start, above < past + start
        return cost.call + keys * (cost.pair * (stop - start) + cost.key * copied)

    least = min(
        sum(seconds(*call) for call in pairwise([0, *cuts, trie_stop]))
        for n in range(len(starts) + 1)
        for cuts in combinations(starts, n)
    )
    calls = partition(cost, trie.depth[past:], past, longest=100)
    assert sum(seconds(*call) for call in calls) <= least + 1e-9

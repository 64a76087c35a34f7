"""What is computed at a time."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.models.cost import Cost, partition
from lm_eval_bias.models.token_trie import TokenTrie

sequences = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=12)
costs = st.builds(Cost, st.floats(0, 50), st.floats(0, 3), st.floats(0.1, 1))


@given(sequences, st.integers(0, 20), costs)
def test_no_partition_is_faster(given, past, cost):
    """All that there are, by the cost of the keys that a call needs: its first token's ancestors,
    and its own tokens. They are copied unless they are all before."""
    trie = TokenTrie(given)
    past = min(past, trie.size - 1)
    nodes, size, depth = np.arange(trie.size), trie.size - past, trie.depth[past:]
    starts = [i for i in range(1, size) if depth[i] != depth[i - 1] + 1][:7]

    def seconds(start, stop):
        first = past + start
        above = int(trie.visible(nodes[first : first + 1], nodes[:first]).sum())
        keys, copied = above + stop - start, above < first
        return cost.call + keys * (cost.pair * (stop - start) + cost.key * copied)

    least = min(
        sum(seconds(*call) for call in pairwise([0, *cuts, size]))
        for n in range(len(starts) + 1)
        for cuts in combinations(starts, n)
    )
    calls = partition(cost, depth, past, longest=100)
    assert sum(seconds(*call) for call in calls) <= least + 1e-9

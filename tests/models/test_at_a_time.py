"""What is computed at a time."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lm_eval_bias.models.at_a_time import blocks, row_blocks
from lm_eval_bias.models.token_trie import TokenTrie

sequences = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=12)


def assert_right(calls, sees, most):
    """Each query is in one call, which has all keys that it sees, but none that no query of the
    call sees unless all are taken as they lie."""
    queries = [i for start, stop, _ in calls for i in range(start, stop)]
    assert queries == list(range(len(sees)))
    for start, stop, keys in calls:
        assert stop - start <= most
        taken = np.arange(sees.shape[1])[keys]
        needed = np.flatnonzero(sees[start:stop].any(axis=0))
        assert np.isin(needed, taken).all()
        assert isinstance(keys, slice) or np.array_equal(taken, needed)


@given(sequences, st.integers(0, 20), st.integers(1, 9))
def test_calls_of_a_pack_have_the_keys_that_their_tokens_see(given, past, most):
    trie = TokenTrie(given)
    past, nodes = min(past, trie.size - 1), np.arange(trie.size)
    assert_right(blocks(trie, nodes, past, most), trie.visible(nodes[past:], nodes), most)


@pytest.mark.parametrize("rows, calls", [(8, 1), (9, 2), (16, 2)])
def test_calls_of_a_step_have_the_keys_that_their_rows_see(rows, calls):
    sees = np.random.default_rng(0).random((rows, 30)) < 0.2
    found = row_blocks(sees, 8)
    assert len(found) == calls
    assert_right(found, sees, 8)

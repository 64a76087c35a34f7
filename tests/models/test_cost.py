"""What is computed at a time, by costs that are given or told by a clock that no computer slows."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_token_trie import sequences

from lm_eval_bias.models.cost import PACKS, Cost, blocks, measured, partition
from lm_eval_bias.models.token_trie import TokenTrie

MICRO = 1e-6
# Measured on one thread of a CPU, SmolLM2-135M in float32.
CPU = Cost(50 * MICRO, 0.25 * MICRO, 0.06 * MICRO, 30, 0.15, 0.006, 1e-8)
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
    found, calls = partition(cost, trie.depth[past:], past, longest=100)
    assert found <= least + 1e-9
    assert found == pytest.approx(sum(seconds(*call) for call in calls))


# ---- Slower calls


@pytest.mark.parametrize("once", [0.0, 0.002, 0.02, 1.0])
def test_sizes_that_are_passed_over_would_not_be_chosen(once):
    cost, depth = Cost(70 * MICRO, 0.04 * MICRO, 40e-12, 30, once, 60e-9), np.arange(3000) % 90
    seconds = {}
    for size in PACKS:
        packs = np.split(depth, range(size, len(depth), size))
        calls = sum(partition(cost, pack, int(pack[0]))[0] for pack in packs)
        seconds[size] = 60e-9 * 3000 + once * len(packs) + 30 * calls
    least = min(seconds.values())
    assert cost.pack_size(depth) == min(s for s in PACKS if seconds[s] <= 1.03 * least)


# ---- Measured


class Machine:
    """Its clock tells what a model of this cost would take, and 1 second more each third time."""

    def __init__(self, cost, memory=10**9):
        self.cost, self.memory, self.time, self.runs = cost, memory, 0.0, 0

    def attend(self, queries, keys, copied, calls):
        return self.run(calls * self.call(queries, keys, copied))

    def call(self, queries, keys, copied=False):
        cost = self.cost
        return cost.call + keys * (cost.pair * queries + cost.key * copied)

    def advance(self, depth, cost):
        attention = self.cost.layers * partition(self.cost, depth, 0)[0]
        return self.run(self.cost.once + self.cost.token * len(depth) + attention, len(depth))

    def run(self, seconds, tokens=0):
        def run():
            if tokens > self.memory:
                raise torch.OutOfMemoryError
            self.runs += 1
            self.time += seconds + (self.runs % 3 == 0)

        return run


# Launches cost, and a pass is short: as a GPU may be.
LAUNCHES = Cost(30 * MICRO, 0.0, 2e-11, 30, 0.015, 3 * MICRO)


@pytest.mark.parametrize("more", [0, 20, 50])
@pytest.mark.parametrize(("cost", "memory"), [(CPU, 10**9), (LAUNCHES, 10**9), (LAUNCHES, 500)])
def test_costs_are_found(cost, memory, more):
    cost = cost._replace(call=cost.call + more * MICRO, cell=0.0)
    machine = Machine(cost, memory)
    found = measured(machine.attend, machine.advance, cost.layers, lambda: machine.time)
    # The trial's calls, of which none has fewer than 31 tokens, may have waited behind its tokens.
    assert 0 <= found.token - cost.token <= cost.layers * cost.call / 31
    assert found._replace(token=cost.token) == pytest.approx(cost, rel=1e-3, abs=1e-12)

"""The trie of token ids and its packs, against what they stand for: prefixes, and who attends to whom."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.lm.engine.packs import TokenTrie
from gre_bench.lm.span import Conversation

IDS = st.lists(st.integers(0, 2), min_size=2, max_size=12)


@st.composite
def conversations(draw: st.DrawFn) -> list[Conversation]:
    """Different conversations over three token ids, so that much is shared and some begin with others whole."""
    found = {}
    for ids in draw(st.lists(IDS, min_size=1, max_size=12)):
        first = draw(st.integers(1, len(ids) - 1))
        found[tuple(ids), first] = Conversation(tuple(ids), first, len(ids) - 1, 0)
    return list(found.values())


def prefixes(asked: list[Conversation]) -> set[tuple[int, ...]]:
    return {one.ids[:end] for one in asked for end in range(1, one.last + 1)}


def prefix_of_each_token(trie: TokenTrie) -> list[tuple[int, ...]]:
    """The beginning of a conversation that each token ends, read off the segments alone."""
    found: list[tuple[int, ...]] = [()] * len(trie)
    for segment in trie.segments:
        parents = [one for one in trie.segments if one.start < segment.start < one.end]
        before = found[parents[-1].stop - 1] if parents else ()
        for token in range(segment.start, segment.stop):
            before = (*before, int(trie.ids[token]))
            found[token] = before
    return found


@given(conversations())
def test_each_beginning_of_a_conversation_is_one_token_of_the_trie(asked):
    trie = TokenTrie(asked)
    found = prefix_of_each_token(trie)
    assert len(found) == len(set(found))
    assert set(found) == prefixes(asked)
    assert [len(one) - 1 for one in found] == trie.depths.tolist()


@given(conversations())
def test_each_token_of_a_span_is_asked_for_after_what_comes_before_it(asked):
    trie = TokenTrie(asked)
    found = prefix_of_each_token(trie)
    asked_for = [None] * sum(trie.sizes)
    for row, target, slot in zip(trie.rows, trie.targets, trie.slots, strict=True):
        assert asked_for[slot] is None
        asked_for[slot] = (found[row], target)
    assert asked_for == [(one.ids[:token], one.ids[token]) for one in asked for token in range(one.first, one.last + 1)]


@given(conversations(), st.integers(1, 40))
def test_packs_read_each_token_once_and_answer_each_question_once(asked, budget):
    trie = TokenTrie(asked)
    packs = trie.packs(budget)
    assert np.concatenate([pack.ids for pack in packs]).tolist() == trie.ids.tolist()
    assert max(len(pack.ids) for pack in packs) <= budget
    assert sorted(np.concatenate([pack.logprob_indices for pack in packs]).tolist()) == list(range(sum(trie.sizes)))


@given(conversations(), st.integers(1, 40))
def test_in_any_packs_each_token_attends_to_its_ancestors_and_to_itself(asked, budget):
    trie = TokenTrie(asked)
    found = prefix_of_each_token(trie)
    at = {prefix: token for token, prefix in enumerate(found)}
    kept: list[int] = []
    for pack in trie.packs(budget):
        assert pack.kept == len(kept)
        keys = [*kept, *range(pack.start, pack.stop)]
        seen: list[list[int]] = [[] for _ in range(pack.start, pack.stop)]
        for start, stop in pack.own_ranges:
            for token in range(start, stop):
                seen[token] += keys[pack.kept + start : pack.kept + token + 1]
        for link in pack.links:
            for token in range(*link.queries):
                seen[token] += keys[slice(*link.keys)]
        for place, attended in enumerate(seen):
            prefix = found[pack.start + place]
            assert sorted(attended) == [at[prefix[: end + 1]] for end in range(len(prefix))]
        kept = [keys[place] for place in pack.keep]


@given(conversations(), st.integers(1, 40))
def test_links_of_one_level_have_no_token_in_common(asked, budget):
    for pack in TokenTrie(asked).packs(budget):
        queries = [(link.level, token) for link in pack.links for token in range(*link.queries)]
        assert len(queries) == len(set(queries))


@given(conversations(), st.randoms())
def test_the_plan_does_not_depend_on_the_order_asked_in(asked, random):
    mixed = random.sample(asked, len(asked))
    one, other = TokenTrie(asked), TokenTrie(mixed)
    assert one.ids.tolist() == other.ids.tolist()
    assert one.segments == other.segments

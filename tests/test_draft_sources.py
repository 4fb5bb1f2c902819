"""What each draft source proposes: ways, counts, and look-up in the prompt and in earlier outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

import domino_py as domino
from speculative.drafts import DraftContext
from speculative.drafts.alternatives import Alternatives
from speculative.drafts.counts import Counted, TokenCounts
from speculative.drafts.lookup import PromptLookup, RecentOutputs, find_continuation
from speculative.drafts.memory import DraftMemory, memory_of, set_memory
from tests.reference.fake_matcher import FakeCompiled, FakeMatcher
from tests.reference.tiny_models import tiny_vocabulary
from tokenizer_align.compiled import Compiled
from tokenizer_align.errors import DominoError
from tokenizer_align.layout import DEFAULT_LAYOUT

VOCABULARY = tiny_vocabulary()
WORDS = FakeCompiled([b"yes, no", b"yes, yes", b"no, no"], VOCABULARY)


def ids_of(text: str) -> list[int]:
    assert VOCABULARY.encode is not None
    return VOCABULARY.encode(text)


def context(
    matcher: FakeMatcher | None, prompt: str = "", written: str = "", memory: DraftMemory | None = None
) -> DraftContext:
    for token in ids_of(written) if matcher is not None else ():
        matcher.advance(token)
    return DraftContext(matcher, ids_of(prompt), ids_of(written), DEFAULT_LAYOUT, 0, memory)


# Ways ----------------------------------------------------------------------------------------------------------------


def ways(schema: object, written: bytes = b"") -> set[bytes]:
    matcher = Compiled(domino.json_schema(schema).expression, VOCABULARY).matcher()
    for byte in written:
        matcher.advance(byte + 1)
    found = {way.data for way in matcher.likely_ways()}
    assert matcher.text_bytes() == written
    return found


COLOR = {
    "type": "object",
    "properties": {"color": {"enum": ["red", "green", "greenish"]}, "size": {"type": "integer"}},
    "required": ["color", "size"],
    "additionalProperties": False,
}


def test_each_value_of_an_enum_is_a_way_with_what_it_determines_next() -> None:
    found = ways(COLOR, b'{"color": "')
    assert b'red", "size": ' in found
    assert b'green", "size": ' in found
    assert b'greenish", "size": ' in found


def test_the_run_before_a_choice_belongs_to_every_way() -> None:
    assert all(way.startswith(b'{"color": "') for way in ways(COLOR))


def test_free_text_and_numbers_have_no_ways() -> None:
    assert not ways(COLOR, b'{"color": "red", "size": ')
    assert not ways({"type": "string"}, b'"')


def test_true_and_false_are_ways() -> None:
    found = ways({"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2}, b"[")
    assert {way[:4] for way in found} >= {b"true", b"fals"}


def test_every_way_is_legal() -> None:
    compiled = Compiled(domino.json_schema(COLOR).expression, VOCABULARY)
    for way in compiled.matcher().likely_ways():
        matcher = compiled.matcher()
        for byte in way.data:
            matcher.advance(byte + 1)


def test_tokens_that_choose_are_told_from_those_that_follow() -> None:
    (first, *_) = Alternatives(VOCABULARY).propose(context(WORDS.matcher()), 10)
    assert first.kinds[0].startswith("way")
    assert set(first.kinds[1:]) <= {"run", "edge", "way2"}


# Counts --------------------------------------------------------------------------------------------------------------


def learned(*texts: str) -> DraftMemory:
    memory = DraftMemory()
    for text in texts:
        matcher, output = WORDS.matcher(), []
        for token in ids_of(text):
            memory.counts.learn(matcher.state(), output, token)
            matcher.advance(token)
            output.append(token)
        memory.add_text(text.encode())
    return memory


def test_what_followed_a_state_is_proposed_in_its_order_of_frequency() -> None:
    drafts = Counted().propose(context(WORDS.matcher(), memory=learned("yes, no", "yes, no", "yes, yes")), 10)
    texts = [VOCABULARY.decode(draft.token_ids) for draft in drafts]
    assert texts[0] == b"yes, "  # the last token ends the text, so it is not run
    assert not Counted().propose(context(WORDS.matcher(), memory=DraftMemory()), 10)


def test_counts_are_kept_in_a_file(tmp_path: Path) -> None:
    counts = learned("yes, no", "no, no").counts
    counts.save(tmp_path / "counts.jsonl", "v1")
    other = TokenCounts()
    assert other.load(tmp_path / "counts.jsonl", WORDS, "v1") == len(counts)
    assert other.share(b"", -1, ids_of("yes")[0]) == counts.share(b"", -1, ids_of("yes")[0]) == (1, 2)
    narrower = FakeCompiled([b"no, no"], VOCABULARY)
    assert 0 < TokenCounts().load(tmp_path / "counts.jsonl", narrower, "v1") < len(counts)


def test_a_file_of_another_vocabulary_or_of_something_else_is_refused(tmp_path: Path) -> None:
    learned("yes, no").counts.save(tmp_path / "counts.jsonl", "v1")
    with pytest.raises(DominoError, match="another vocabulary"):
        TokenCounts().load(tmp_path / "counts.jsonl", WORDS, "v2")
    (tmp_path / "other").write_text("no counts")
    with pytest.raises(DominoError, match="is not a file of counts"):
        TokenCounts().load(tmp_path / "other", WORDS, "v1")


def test_memory_belongs_to_a_constraint_and_can_be_replaced() -> None:
    compiled = FakeCompiled([b"yes"], VOCABULARY)
    memory_of(compiled).add_text(b"yes")
    copied = memory_of(compiled).copy()
    assert memory_of(WORDS) is not memory_of(compiled)
    set_memory(compiled, None)
    assert memory_of(compiled).recent == ()
    set_memory(compiled, copied)
    assert memory_of(compiled).recent == (b"yes",)


def test_counts_and_texts_are_bounded() -> None:
    memory = DraftMemory()
    for number in range(12_000):
        memory.counts.learn(number, [], 1)
    assert len(memory.counts) <= 10_000
    for number in range(100):
        memory.add_text(b"%d" % number)
    assert memory.recent[-1] == b"99"
    assert len(memory.recent) == 8


# Look-up -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "tail", "expected"),
    [
        (b"Ada Lovelace, Ada Byron", b'"name": "Ada ', (4, b"Byron")),
        (b"Ada Lovelace", b'"name": "Ada L', (5, b"ovelace")),
        (b"abcabd abcx", b"zabc", (3, b"x")),
        (b"abc", b"abc", None),  # nothing stands behind it
        (b"", b"abc", None),
        (b"abcdef", b"bc", None),  # too short a match
        (b"aaaaaaaa", b"aaa", (3, b"a")),
    ],
)
def test_the_longest_and_latest_match_is_found(source: bytes, tail: bytes, expected: tuple[int, bytes] | None) -> None:
    assert find_continuation(source, tail, 3) == expected


def test_a_name_in_the_prompt_is_proposed_once_it_has_begun() -> None:
    (draft,) = PromptLookup(VOCABULARY).propose(context(None, "from Grace Hopper, Arlington", '"name": "Grac'), 8)
    assert VOCABULARY.decode(draft.token_ids).startswith(b"e Hop"[:3])
    assert not PromptLookup(VOCABULARY).propose(context(None, "from Grace Hopper", '"name": "X'), 8)


def test_an_earlier_output_is_proposed_where_the_text_goes_the_same_way() -> None:
    memory = DraftMemory()
    memory.add_text(b'{"name": "Ada", "city": "Paris"}')
    (draft,) = RecentOutputs(VOCABULARY).propose(context(None, "", 'Bob", "city": "', memory), 8)
    assert VOCABULARY.decode(draft.token_ids).startswith(b"Par")

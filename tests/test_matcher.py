"""The matcher's interface: what it refuses, end of sequence, taking back, copies, budgets."""

from __future__ import annotations

import numpy as np
import pytest

from tokenizer_align import expressions as ex
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.errors import EmptyLanguage, IllegalToken, InvalidOption
from tokenizer_align.vocabulary import Vocabulary

# 0-2: letters, 3: two letters, 4: the same bytes as 0, 5: a hole, 6 and 7: end ids, 8: a digit
VOCABULARY = Vocabulary.from_bytes([b"a", b"b", b"c", b"ab", b"a", None, None, b"</s>", b"1"], [6, 7], name="letters")
AB_STAR = ex.star(ex.lit(b"ab"))


def compiled(expr: ex.Expr = AB_STAR) -> Compiled:
    return compile_expression(expr, VOCABULARY)


def ids(mask: np.ndarray) -> list[int]:
    return [t for t in range(VOCABULARY.n_rows) if mask[t >> 5] >> (t & 31) & 1]


def test_mask_holds_every_id_of_duplicate_bytes_and_all_end_ids() -> None:
    matcher = compiled().matcher()
    assert ids(matcher.mask()) == [0, 3, 4, 6, 7]
    matcher.advance(4)
    assert ids(matcher.mask()) == [1]


def test_mask_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        compiled().matcher().mask()[0] = 1


def test_mask_rows_are_as_wide_as_the_model_s_output() -> None:
    vocabulary = Vocabulary.from_bytes([b"a"] + [None] * 64, [64])
    assert compile_expression(ex.star(ex.lit(b"a")), vocabulary).matcher().mask().shape == (3,)


@pytest.mark.parametrize("token", [1, 5, 8, -1, 9, 10**9])
def test_illegal_tokens_are_refused_and_change_nothing(token: int) -> None:
    matcher = compiled().matcher()
    matcher.advance(3)
    before = matcher.mask().tolist()
    assert not matcher.accepts(token)
    with pytest.raises(IllegalToken) as caught:
        matcher.advance(token)
    assert caught.value.token_id == token
    assert caught.value.text == b"ab"
    assert matcher.n_tokens == 1
    assert matcher.mask().tolist() == before
    assert not matcher.accepts(token)


def test_end_of_sequence_is_refused_before_the_text_is_complete() -> None:
    matcher = compiled().matcher()
    matcher.advance(0)
    assert not matcher.accepts(6)
    with pytest.raises(IllegalToken):
        matcher.advance(6)


@pytest.mark.parametrize("end", [6, 7])
def test_nothing_follows_end_of_sequence(end: int) -> None:
    matcher = compiled().matcher()
    matcher.advance(3)
    matcher.advance(end)
    assert matcher.is_finished
    assert matcher.is_complete()
    assert not matcher.can_continue()
    assert ids(matcher.mask()) == ids(matcher.mask_within(9)) == []
    assert not any(matcher.accepts(t) or matcher.accepts_within(t, 9) for t in range(9))
    assert matcher.forced_bytes() == matcher.determined_bytes() == matcher.shortest_completion() == b""
    assert matcher.min_tokens() == 0
    assert matcher.n_tokens == 2
    assert matcher.text_bytes() == b"ab"
    with pytest.raises(IllegalToken):
        matcher.advance(3)


def test_rollback_over_end_of_sequence() -> None:
    matcher = compiled().matcher()
    for token in (3, 0, 1, 6):
        matcher.advance(token)
    matcher.rollback(1)
    assert not matcher.is_finished
    assert ids(matcher.mask()) == [0, 3, 4, 6, 7]
    matcher.rollback(1)
    assert ids(matcher.mask()) == [1]
    matcher.rollback(0)
    assert matcher.text_bytes() == b"aba"
    matcher.rollback(2)
    assert matcher.n_tokens == 0


@pytest.mark.parametrize("n_tokens", [-1, 3])
def test_rollback_beyond_the_beginning_is_refused(n_tokens: int) -> None:
    matcher = compiled().matcher()
    matcher.advance(0)
    matcher.advance(1)
    with pytest.raises(ValueError, match="take back"):
        matcher.rollback(n_tokens)
    assert matcher.text_bytes() == b"ab"


def test_a_fork_goes_its_own_way() -> None:
    matcher = compiled().matcher()
    matcher.advance(0)
    fork = matcher.fork()
    fork.advance(1)
    fork.advance(6)
    assert matcher.text_bytes() == b"a"
    assert not matcher.is_finished
    assert ids(matcher.mask()) == [1]


def test_matchers_of_one_constraint_are_independent() -> None:
    shared = compiled()
    one, other = shared.matcher(), shared.matcher()
    one.advance(0)
    assert other.n_tokens == 0
    assert ids(other.mask()) == [0, 3, 4, 6, 7]


def test_can_continue_is_false_where_only_the_end_may_follow() -> None:
    matcher = compiled(ex.alt(ex.lit(b"ab"), ex.lit(b"abc"))).matcher()
    matcher.advance(3)
    assert matcher.is_complete()
    assert matcher.can_continue()
    matcher.advance(2)
    assert not matcher.can_continue()
    assert ids(matcher.mask()) == [6, 7]


def test_forced_bytes_stop_at_choices_and_at_complete_texts() -> None:
    matcher = compiled(ex.seq(ex.lit(b"abc"), ex.byte_set(b"ab"), ex.lit(b"c"), ex.optional(ex.lit(b"abc")))).matcher()
    assert matcher.forced_bytes() == b"abc"
    for token in (3, 2):
        matcher.advance(token)
    assert matcher.forced_bytes() == b""
    matcher.advance(0)
    assert matcher.forced_bytes() == b"c"
    matcher.advance(2)
    assert matcher.forced_bytes() == b""


def test_forced_bytes_are_bounded() -> None:
    assert compiled(ex.lit(b"ab" * 1000)).matcher().forced_bytes() == b"ab" * 256


def test_mask_within_closes_in_time() -> None:
    matcher = compiled(ex.seq(ex.star(ex.byte_set(b"ac")), ex.lit(b"1"))).matcher()
    assert ids(matcher.mask_within(2)) == [0, 2, 4, 8]
    assert ids(matcher.mask_within(1)) == [8]
    assert ids(matcher.mask_within(0)) == []
    assert matcher.accepts_within(8, 1)
    assert not matcher.accepts_within(0, 1)
    assert matcher.mask_within(2).tolist() == matcher.mask().tolist()


def test_end_of_sequence_is_within_any_number_of_tokens() -> None:
    matcher = compiled().matcher()
    assert ids(matcher.mask_within(1)) == [3, 6, 7]
    assert matcher.accepts_within(6, 0)


def test_shortest_texts_are_known_before_anything_is_read() -> None:
    here = compiled(ex.alt(ex.lit(b"abc"), ex.lit(b"cccc")))
    assert here.shortest_text() == b"abc"
    assert here.shortest_n_tokens() == 2


@pytest.mark.parametrize("expr", [ex.EMPTY, ex.lit(b"x"), ex.both(ex.lit(b"a"), ex.lit(b"b")), ex.lit(b"a<")])
def test_empty_languages_are_refused(expr: ex.Expr) -> None:
    with pytest.raises(EmptyLanguage):
        compiled(expr)


def test_the_reason_tells_the_vocabulary_from_the_constraint() -> None:
    with pytest.raises(EmptyLanguage, match="letters has no tokens"):
        compiled(ex.lit(b"x"))
    with pytest.raises(EmptyLanguage, match="no text satisfies"):
        compiled(ex.EMPTY)


def test_an_unknown_tokenization_is_refused() -> None:
    with pytest.raises(InvalidOption):
        compile_expression(AB_STAR, VOCABULARY, "anyy")


def test_the_empty_text_may_be_all_there_is() -> None:
    matcher = compiled(ex.EPSILON).matcher()
    assert ids(matcher.mask()) == [6, 7]
    assert matcher.min_tokens() == 0
    assert not matcher.can_continue()


def test_a_byte_that_is_no_token_by_itself() -> None:
    """`b` exists only inside `ab`, so `a` alone is a dead end."""
    vocabulary = Vocabulary.from_bytes([b"a", b"ab", b"aa", None], [3])
    matcher = compile_expression(ex.plus(ex.lit(b"aab")), vocabulary).matcher()
    assert matcher.accepts(0)
    assert not matcher.accepts(2)
    matcher.advance(0)
    assert [t for t in range(4) if matcher.mask()[0] >> t & 1] == [1]
    assert matcher.shortest_completion() == b"ab"
    assert matcher.min_tokens() == 1
    matcher.advance(1)
    assert matcher.is_complete()


def test_numpy_integers_are_token_ids() -> None:
    matcher = compiled().matcher()
    token = np.int64(3)
    assert matcher.accepts(token)  # type: ignore[arg-type]
    matcher.advance(token)  # type: ignore[arg-type]
    assert matcher.text_bytes() == b"ab"


def test_repr_shows_the_text() -> None:
    matcher = compiled().matcher()
    matcher.advance(3)
    assert repr(matcher) == "Matcher(n_tokens=1, text=b'ab')"

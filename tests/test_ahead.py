"""When states are built makes no difference to what is legal, nor to what is refused."""

from __future__ import annotations

import pytest

from tests.reference.brute_force import BruteForce
from tokenizer_align import expressions as ex
from tokenizer_align import kernels as k
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.errors import TooComplex
from tokenizer_align.expressions import Expr
from tokenizer_align.members import Member, MemberSpec, start_members
from tokenizer_align.unique import tracked
from tokenizer_align.vocabulary import Vocabulary

TOKENS = [*(bytes([b]) for b in b'ab"{},:1'), b'"a', b'":1', b'1,"', b"},", b'{"ab"', None]
VOCABULARY = Vocabulary.from_bytes(TOKENS, [len(TOKENS) - 1])


def listed() -> Expr:
    """One object or more, each with some of three members."""
    members = tuple(Member(b'"' + key + b'"', ex.lit(b":1")) for key in (b"a", b"ab", b"b"))
    spec = MemberSpec(members, ex.lit(b","), ex.lit(b"}"))
    rule = ex.Rule("object", ex.seq(ex.lit(b"{"), start_members(spec)))
    return ex.seq(ex.call(rule), ex.star(ex.seq(ex.lit(b","), ex.call(rule))))


@pytest.mark.parametrize("n_prepared", [0, 3])
def test_masks_are_the_same_whatever_was_built_before(n_prepared: int) -> None:
    expr = listed()
    engine = Engine(VOCABULARY, memo_min_nodes=2, wide_bytes=2)
    engine.tables.ctx[k.PREPARED_FRAMES] = n_prepared
    compiled = Compiled(expr, VOCABULARY, engine=engine)
    reference = BruteForce(expr, VOCABULARY.token_bytes, VOCABULARY.eos_token_ids)
    matcher, here = compiled.matcher(), reference.start()
    for byte in b'{"ab":1,"b":1},{"a":1}':
        assert set(compiled.ids(matcher.mask())) == reference.legal_ids(here)
        matcher.advance(TOKENS.index(bytes([byte])))
        here = reference.read(here, bytes([byte]))
    assert set(compiled.ids(matcher.mask())) == reference.legal_ids(here)


def test_what_cannot_be_built_is_told_to_the_text_that_comes_there() -> None:
    """Also where arrays of different items exist in the process, for which constraints are looked through."""
    tracked("array", ex.lit(b"1"), ())

    def refuse() -> Expr:
        raise TooComplex("too hard")

    def soft(hard: Expr) -> Expr:
        return ex.call(ex.Rule("soft", ex.alt(ex.lit(b"a"), ex.seq(ex.lit(b"b"), hard))))

    expr = soft(soft(ex.call(ex.Rule("hard").define(refuse))))
    compiled = Compiled(expr, VOCABULARY, engine=Engine(VOCABULARY))
    assert {TOKENS[token] for token in compiled.ids(compiled.matcher().mask())} >= {b"a", b"b"}
    matcher = compiled.matcher()
    with pytest.raises(TooComplex):
        for _ in range(3):
            matcher.mask()
            matcher.advance(TOKENS.index(b"b"))

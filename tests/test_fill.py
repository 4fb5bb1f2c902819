"""The masks of many rows in one call are those of each row alone, on any number of threads."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tests.test_threads import TOKENS, VOCABULARY, tree
from tokenizer_align import expressions as ex
from tokenizer_align import kernels as k
from tokenizer_align import walkers
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.errors import InvalidOption
from tokenizer_align.fill import fill
from tokenizer_align.matcher import Matcher
from tokenizer_align.vocabulary import Vocabulary


def small_engine() -> Engine:
    return Engine(VOCABULARY, memo_min_nodes=4, wide_bytes=4)


def string(letters: bytes) -> ex.Expr:
    return ex.frame(ex.seq(ex.lit(b'"'), ex.star(ex.byte_set(letters)), ex.lit(b'"')))


N_ROUNDS = 300 if os.environ.get("DOMINO_SLOW") else 12

EXPRESSIONS: list[Callable[[], ex.Expr]] = [
    tree,
    lambda: ex.seq(ex.lit(b"["), ex.star(ex.seq(string(b"abc[]{},:"), ex.lit(b","))), ex.lit(b"]")),
    lambda: ex.repeat(ex.byte_set(b"ab,:"), 2, 3000),
    lambda: ex.plus(string(b"abc")),
]


def tokens_of(seed: int, expr: ex.Expr) -> list[int]:
    """Tokens of a random legal text."""
    choose, matcher, tokens = random.Random(seed), Compiled(expr, VOCABULARY, engine=small_engine()).matcher(), []
    for _ in range(choose.randrange(30)):
        mask = matcher.mask()
        legal = [t for t in range(len(TOKENS)) if mask[t >> 5] >> (t & 31) & 1]
        if not legal:
            break
        tokens.append(choose.choice(legal))
        matcher.advance(tokens[-1])
    return tokens


TEXTS = [(seed % len(EXPRESSIONS), tokens_of(seed, EXPRESSIONS[seed % len(EXPRESSIONS)]())) for seed in range(64)]


def mask_alone(which: int, tokens: list[int]) -> npt.NDArray[np.uint32]:
    return read(Compiled(EXPRESSIONS[which](), VOCABULARY, engine=small_engine()), tokens).mask()


def read(compiled: Compiled, tokens: list[int]) -> Matcher:
    matcher = compiled.matcher()
    for token in tokens:
        matcher.advance(token)
    return matcher


@pytest.fixture(scope="module")
def expected() -> npt.NDArray[np.uint32]:
    return np.stack([mask_alone(which, tokens) for which, tokens in TEXTS])


@pytest.mark.parametrize("n_threads", [1, 2, 7, None])
def test_rows_of_several_constraints_equal_their_masks(expected: npt.NDArray[np.uint32], n_threads: int | None) -> None:
    engine = small_engine()
    compiled = [Compiled(make(), VOCABULARY, engine=engine) for make in EXPRESSIONS]
    matchers = [read(compiled[which], tokens) for which, tokens in TEXTS]
    out = np.full(expected.shape, 0xFFFFFFFF, np.uint32)
    fill(matchers, out, n_threads)
    assert np.array_equal(out, expected)
    assert all(np.array_equal(matcher.mask(), row) for matcher, row in zip(matchers, expected, strict=True))
    out[:] = 7
    fill(matchers[::2], out, n_threads)  # kept by now
    assert np.array_equal(out[:32], expected[::2])
    assert (out[32:] == 7).all()


def test_signed_wider_and_strided_arrays_are_written_where_the_masks_belong(expected: npt.NDArray[np.uint32]) -> None:
    engine = small_engine()
    compiled = [Compiled(make(), VOCABULARY, engine=engine) for make in EXPRESSIONS]
    n_words = expected.shape[1]
    space = np.full((128, n_words + 3), -5, np.int32)
    compiled[0].fill([read(compiled[which], tokens) for which, tokens in TEXTS], space[::2])
    assert np.array_equal(space[::2, :n_words].view(np.uint32), expected)
    assert (space[1::2] == -5).all()
    assert (space[:, n_words:] == -5).all()


def test_tensors_in_the_memory_of_the_cpu_are_written_to() -> None:
    torch = pytest.importorskip("torch")
    compiled = Compiled(ex.lit(b"ab"), VOCABULARY, engine=small_engine())
    out = torch.zeros((1, compiled.n_words), dtype=torch.int32)
    fill([compiled.matcher()], out)
    assert np.array_equal(out.numpy().view(np.uint32)[0], compiled.matcher().mask())
    with pytest.raises(InvalidOption, match="memory of the CPU"):
        fill([compiled.matcher()], torch.zeros((1, compiled.n_words), dtype=torch.int32, device="meta"))


def test_a_finished_text_has_no_legal_token() -> None:
    compiled = Compiled(ex.star(ex.lit(b"a")), VOCABULARY, engine=small_engine())
    matcher = compiled.matcher()
    end = VOCABULARY.eos_token_ids[0]
    matcher.advance(end)
    out = np.ones((2, compiled.n_words), np.uint32)
    fill([matcher, compiled.matcher()], out)
    assert not out[0].any()
    assert out[1, end >> 5] >> (end & 31) & 1


def test_vocabularies_with_bytes_that_are_no_tokens() -> None:
    vocabulary = Vocabulary.from_bytes([b"ab", b"a", b"bc", b"c", None], [4])
    compiled = Compiled(ex.seq(ex.lit(b"a"), ex.alt(ex.lit(b"bc"), ex.lit(b"cb"), ex.lit(b"c"))), vocabulary)
    matchers = [read(compiled, tokens) for tokens in ([], [1], [1, 2], [0])]
    out = np.zeros((4, 1), np.uint32)
    fill(matchers, out)
    assert out[:, 0].tolist() == [0b00011, 0b01100, 0b10000, 0b01000]


def test_arrays_that_do_not_fit_are_refused() -> None:
    compiled = Compiled(ex.lit(b"ab"), VOCABULARY, engine=small_engine())
    matchers = [compiled.matcher()] * 2
    fill([], np.zeros((0, 0), np.uint32))
    n_words = compiled.n_words
    for out in (
        np.zeros((1, n_words), np.uint32),
        np.zeros((2, n_words - 1), np.uint32),
        np.zeros((2, n_words), np.int64),
        np.zeros((n_words, 2), np.uint32).T,
        np.zeros(2 * n_words, np.uint32),
        np.broadcast_to(np.zeros(n_words, np.uint32), (2, n_words)),
    ):
        with pytest.raises(InvalidOption, match="out"):
            fill(matchers, out)
    other = Compiled(ex.lit(b"ab"), VOCABULARY, engine=small_engine()).matcher()
    with pytest.raises(InvalidOption, match="one vocabulary"):
        fill([matchers[0], other], np.zeros((2, n_words), np.uint32))


@pytest.mark.parametrize("capacity", [4, walkers.CAPACITY])
def test_threads_that_fill_walk_and_compile_at_once_see_the_masks_of_one(
    expected: npt.NDArray[np.uint32], capacity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One engine: some threads fill batches, some walk alone, one compiles constraint after constraint."""
    monkeypatch.setattr(walkers.Walker.__init__, "__defaults__", (capacity,))
    engine = small_engine()
    compiled = [Compiled(make(), VOCABULARY, engine=engine) for make in EXPRESSIONS]
    wrong: list[str] = []
    stop = threading.Event()

    def filling(seed: int) -> None:
        order = list(range(64))
        for round_ in range(N_ROUNDS):
            random.Random(seed * 100 + round_).shuffle(order)
            fresh = [Compiled(make(), VOCABULARY, engine=engine) for make in EXPRESSIONS] if round_ % 2 else compiled
            out = np.zeros(expected.shape, np.uint32)
            fill([read(fresh[TEXTS[i][0]], TEXTS[i][1]) for i in order], out, 2)
            if not np.array_equal(out, expected[order]):
                wrong.append(f"filled {seed} {round_}")

    def walking(seed: int) -> None:
        for i in random.Random(seed).sample(range(64), 64):
            which, tokens = TEXTS[i]
            fresh = Compiled(EXPRESSIONS[which](), VOCABULARY, engine=engine)
            if not np.array_equal(read(fresh, tokens).mask(), expected[i]):
                wrong.append(f"walked {seed} {i}")

    def compiling() -> None:
        n = 0
        while not stop.is_set() and n < 3000:
            n += 1
            word = bytes(random.Random(n).choices(b"abc:,", k=6))
            made = Compiled(ex.alt(string(word), ex.seq(ex.lit(word), tree())), VOCABULARY, engine=engine)
            made.matcher().mask()

    def guarded(work: Callable[..., None], *arguments: int) -> None:
        try:
            work(*arguments)
        except BaseException as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=guarded, args=(filling, i)) for i in range(4)]
    threads += [threading.Thread(target=guarded, args=(walking, i)) for i in range(4)]
    builder = threading.Thread(target=guarded, args=(compiling,))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        builder.start()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stop.set()
        builder.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_rows_with_and_without_markers_come_in_one_call() -> None:
    import domino_py as domino
    from domino_py.compilation import compiled_for
    from tokenizer_align.vocabulary import Vocabulary

    known = Vocabulary.from_bytes([None, b"a", b"b", None], [0], added={"<m>": 3})
    plain, marked = domino.regex("a+b"), domino.regex("a") + domino.token("<m>")
    for constraints in ([plain, marked, plain], [marked, plain, marked]):
        matchers = [compiled_for(one, known, "any").matcher() for one in constraints]
        for matcher in matchers:
            matcher.advance(1)
        out = np.zeros((3, 1), np.uint32)
        domino.fill(matchers, out)
        assert [int(row[0]) for row in out] == [int(matcher.mask()[0]) for matcher in matchers]
    other = compiled_for(domino.regex("a"), Vocabulary.from_bytes([None, b"a"], [0]), "any").matcher()
    with pytest.raises(domino.InvalidOption, match="one vocabulary"):
        domino.fill([matchers[0], other], out)


def test_no_two_counts_share_a_place() -> None:
    """Regression: two did, and a walk never ended."""
    places = [k.NODES_VISITED, k.MEMO_HITS, k.DEEPEST, k.SETS_READ, k.ANCHORS_PUSHED, k.SHAPED, k.WAITING, k.LOST]
    places += [*range(7), k.CORRECTING, k.UNION_STEPS, k.N_EXITS]  # the first have no names
    assert len(set(places)) == len(places) and max(places) < k.N_COUNTS

"""Compile the kernels before the first real text, once per machine, and load them once per process.

Numba compiles a kernel at its first call and keeps it on disk. Without this step the first text of a new machine would
pay a minute in its first mask, where nobody expects them and where they would count as mask time.
"""

from __future__ import annotations

import logging
import sys
import threading
import time

import numpy as np

from . import kernels as k
from .canonical.choose_law import survival_for
from .canonical.laws import AlignedCompiled, CanonicalCompiled
from .canonical.rules import TokenizationRules
from .compiled import Compiled
from .engine import Engine
from .expressions import Expr, Rule, both, byte_set, call, lit, neg, repeat, seq, star
from .member_spec import Member, MemberSpec
from .members import start_members
from .vocabulary import Vocabulary

_logger = logging.getLogger(__name__)
_lock = threading.Lock()
_done: set[str] = set()

NOTICE_S = 2.0
_LETTERS = byte_set(range(48, 123))
_TEXT = seq(lit(b'{"'), star(_LETTERS), lit(b'"}'))
_NOTICE = "compiling the mask kernels for this machine; it takes about a minute, once"


def warm_up(laws: bool = True) -> None:
    """Run every kernel once on a tiny vocabulary. Cheap after the first call of a process; threads wait for it.

    laws: also those that only "aligned" and "canonical" need.
    """
    wanted = {"masks", "laws"} if laws else {"masks"}
    if wanted <= _done:
        return
    with _lock:
        if wanted <= _done:
            return
        started = time.perf_counter()
        notice = threading.Timer(NOTICE_S, _tell)
        notice.daemon = True
        notice.start()
        try:
            for part in [part for part in _PARTS if part in wanted - _done]:
                _PARTS[part]()
                _done.add(part)
        finally:
            notice.cancel()
        elapsed_s = time.perf_counter() - started
        if elapsed_s > NOTICE_S:
            _logger.info("compiled the mask kernels for this machine in %.1f s; later runs load them", elapsed_s)


def _tell() -> None:
    """Say what takes so long: on a terminal by a line, elsewhere by a warning in the log."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(_NOTICE, file=sys.stderr, flush=True)
    else:
        _logger.warning(_NOTICE)


def _tiny_engine() -> Engine:
    rules = TokenizationRules(
        family="byte_level_bpe",
        merges=np.array([[97, 98, 256], [97, 34, 257]], np.int32),
        initial=np.array([[b, b] for b in range(256)], np.int32),
        byte_ids=np.full(256, -1, np.int32),
        ignore_merges=False,
        pre_tokenizer=(),
    )
    tokens = [*(bytes([b]) for b in range(256)), b"ab", b'a"', None]
    engine = Engine(Vocabulary.from_bytes(tokens, (258,), rules=rules), memo_min_nodes=2, wide_bytes=4)
    engine.token_ends.min_tokens = 1
    engine.tables.ctx[k.HEAD_VISITS] = 0
    return engine


def _run_masks() -> None:
    engine = _tiny_engine()
    compiled = Compiled(_TEXT, engine.vocabulary, engine=engine)
    compiled.fill([compiled.matcher()], np.zeros((1, compiled.n_words), np.uint32))
    _run(compiled)
    _run(Compiled(_an_object(), engine.vocabulary, engine=engine))
    for expr in (
        seq(lit(b"{"), repeat(_LETTERS, 1, 2), lit(b"}")),
        seq(lit(b"{"), both(seq(star(_LETTERS), lit(b'"')), neg(lit(b'ab"')))),
        seq(lit(b"{"), star(_LETTERS)),  # may end anywhere: tokens run past its end
        seq(lit(b"{"), call(Rule("name", both(star(_LETTERS), neg(lit(b"ab"))))), call(Rule("end", lit(b'"')))),
    ):
        matcher = Compiled(expr, engine.vocabulary, engine=engine).matcher()
        for char in b"{a":
            matcher.advance(char)
            matcher.mask()
    walker, row = engine.walkers.take_locked(engine.tables, 1), engine.rows.empty_row()
    k.ends_by_shape(walker.ctx, walker.exits, 0)
    k.enter_head(walker.ctx, k.BELOW_STATE, row, walker.exits, 0)
    walker.load([(k.BELOW_STATE, -1)])
    k.walk_apart(walker.ctx, 1, row, k.ANY_VISITS, False)
    k.walk_head(walker.ctx, k.BELOW_STATE, row)
    engine.rows.age()
    Engine(engine.vocabulary, shape_min_nodes=0)  # as of a large vocabulary


def _run_laws() -> None:
    engine = _tiny_engine()
    for law in (AlignedCompiled, CanonicalCompiled):
        for expr in (_TEXT, _an_object(), seq(lit(b'{"'), repeat(_LETTERS, 1, 9), lit(b'"}'))):
            _run(law(expr, engine.vocabulary, engine, survival_for(engine)))


def _an_object() -> Expr:
    """An object with a declared key, and any others."""
    key = both(seq(lit(b'"'), star(_LETTERS), lit(b'"')), neg(lit(b'"ab"')))
    rest = seq(lit(b":"), repeat(_LETTERS, 1, 3))
    members = (Member(b'"ab"', rest, False),)
    return seq(lit(b"{"), start_members(MemberSpec(members, lit(b","), lit(b"}"), key, rest, 1, None, True)))


def _run(compiled: Compiled) -> None:
    matcher = compiled.matcher()
    for token in (*b'{"', 256):
        matcher.mask()
        matcher.advance(token)
    matcher.mask()
    matcher.forced_bytes()
    matcher.can_continue()
    matcher.min_tokens()
    matcher.mask_within(8)


_PARTS = {"masks": _run_masks, "laws": _run_laws}

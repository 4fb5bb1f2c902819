r"""Any look-around anywhere, by an automaton over characters whose states are made as they are read (exact).

A state is a set of *threads*: the rest of the pattern that a thread still has to match, with what its look-aheads have
promised about the rest of the text (each promise again a set of threads, kept or broken). Beside them runs, for every
look-behind, a set of threads of "anything, then its body" that says whether it holds here. Threads follow Antimirov's
partial derivatives (1996); promises make it an alternating automaton, determinized lazily. As soon as a thread has no
look-around left it is handed over to the expression algebra.
"""

from __future__ import annotations

from functools import lru_cache

from tokenizer_align import expressions as ex
from tokenizer_align.expressions import Expr, LazyState

from .char_classes import Ranges, contains, union
from .pattern_nodes import ALL, ALT, CHARS, EPSILON, LOOK, REPEAT, SEQ, Node, chain, repeat, seq
from .regex_resolve import Resolver

Promise = tuple[bool, "Threads"]  # (negative, threads): some thread must (or none may) match the rest of the text
Thread = tuple[Node, frozenset["Promise"]]
Threads = frozenset[Thread]
Behind = dict[Node, Threads]  # body of a look-behind -> threads of "anything, then body"
Leaf = tuple[Ranges, Node, frozenset[Promise]]

_NO_PROMISE: frozenset[Promise] = frozenset()
_CERTAIN: Thread = (ALL, _NO_PROMISE)


class StateMaker:
    """Makes the expression of a node with any look-arounds."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._states: dict[object, Expr] = {}

    def whole(self, node: Node) -> Expr:
        """The texts that match from start to end."""
        behind = {body: frozenset({(seq(ALL, body), _NO_PROMISE)}) for body in node.behinds}
        return self.expression(frozenset({(node, _NO_PROMISE)}), behind)

    def search(self, node: Node) -> Expr:
        """The texts that hold a match anywhere."""
        return self.whole(seq(ALL, node, ALL))

    def expression(self, threads: Threads, behind: Behind) -> Expr:
        """The texts that some thread matches; threads without look-arounds leave the automaton here."""
        free = frozenset(thread for thread in threads if _is_plain(thread))
        parts = [self._plain(thread) for thread in free]
        if threads - free:
            parts.append(self._state(threads - free, behind))
        return ex.alt(*parts)

    def _plain(self, thread: Thread) -> Expr:
        node, promises = thread
        parts = [self.resolver.lower(node)]
        for negative, threads in promises:
            promised = ex.alt(*(self._plain(other) for other in threads))
            parts.append(ex.neg(promised) if negative else promised)
        return ex.both(*parts) if len(parts) > 1 else parts[0]

    def _state(self, threads: Threads, behind: Behind) -> Expr:
        needed = {body for thread in threads for body in _bodies(thread)}
        kept = {body: state for body, state in behind.items() if body in needed}
        key = (threads, tuple(kept.items()))
        if key not in self._states:
            place = _Place(kept)
            state = LazyState(place.accepts(threads), lambda: self._body(threads, place))
            self._states[key] = ex.lazy(state)
        return self._states[key]

    def _body(self, threads: Threads, place: _Place) -> Expr:
        parts = [ex.EPSILON] if place.accepts(threads) else []
        targets: dict[Expr, list[Ranges]] = {}
        for ranges in _classes(frozenset(place.tests(threads))):
            code_point = ranges[0][0]
            after = place.read(threads, code_point)
            if after:
                behind = {body: place.read(state, code_point) for body, state in place.behind.items()}
                targets.setdefault(self.expression(after, behind), []).append(ranges)
        parts += [ex.seq(self.resolver.encode(union(several)), target) for target, several in targets.items()]
        return ex.alt(*parts)


class _Place:
    """One place in a text, where the look-behinds are known: what threads accept and where a character takes them."""

    def __init__(self, behind: Behind) -> None:
        self.behind = behind
        self._leaves: dict[Threads, tuple[list[Leaf], list[frozenset[Promise]]]] = {}
        self._read: dict[tuple[Threads, int], Threads] = {}

    def accepts(self, threads: Threads) -> bool:
        """Whether the text may end here."""
        return any(
            all(self.accepts(promised) != negative for negative, promised in promises)
            for promises in self.leaves(threads)[1]
        )

    def tests(self, threads: Threads) -> set[Ranges]:
        """All classes of characters that tell the next states apart."""
        found: set[Ranges] = set()
        work, seen = [threads, *self.behind.values()], set[Threads]()
        while work:
            current = work.pop()
            if current not in seen:
                seen.add(current)
                for ranges, _, promises in self.leaves(current)[0]:
                    found.add(ranges)
                    work += [promised for _, promised in promises]
        return found

    def read(self, threads: Threads, code_point: int) -> Threads:
        """The threads after one more character."""
        key = (threads, code_point)
        if key not in self._read:
            after: set[Thread] = set()
            for ranges, node, promises in self.leaves(threads)[0]:
                if contains(ranges, code_point):
                    kept = self._keep(promises, code_point)
                    if kept is not None:
                        after.add((node, kept))
            self._read[key] = frozenset(after)
        return self._read[key]

    def _keep(self, promises: frozenset[Promise], code_point: int) -> frozenset[Promise] | None:
        """The promises after one more character, without those that are settled; None where one is broken."""
        kept: set[Promise] = set()
        for negative, promised in promises:
            after = self.read(promised, code_point)
            if not after or _CERTAIN in after:
                if bool(after) == negative:
                    return None
            else:
                kept.add((negative, after))
        return frozenset(kept)

    def leaves(self, threads: Threads) -> tuple[list[Leaf], list[frozenset[Promise]]]:
        """What the threads read next, and the promises under which they may end here."""
        if threads not in self._leaves:
            self._leaves[threads] = self._unfold(threads)
        return self._leaves[threads]

    def _unfold(self, threads: Threads) -> tuple[list[Leaf], list[frozenset[Promise]]]:
        leaves: list[Leaf] = []
        ends: list[frozenset[Promise]] = []
        work, seen = list(threads), set(threads)
        while work:
            node, promises = work.pop()
            if node is EPSILON:
                ends.append(promises)
                continue
            item, rest = (node.args[0], seq(*node.args[1:])) if node.kind == SEQ else (node, EPSILON)
            if item.kind == CHARS:
                leaves.append((item.data, rest, promises))
                continue
            for thread in self._ways(item, rest, promises):
                if thread not in seen:
                    seen.add(thread)
                    work.append(thread)
        return leaves, ends

    def _ways(self, item: Node, rest: Node, promises: frozenset[Promise]) -> list[Thread]:
        if item.kind == ALT:
            return [(chain(choice, rest), promises) for choice in item.args]
        if item.kind == REPEAT:
            lo, hi = item.data
            turn = repeat(item.args[0], max(lo - 1, 0), None if hi is None else hi - 1)
            ways = [(chain(item.args[0], turn, rest), promises)]
            return ways if lo else [*ways, (rest, promises)]
        assert item.kind == LOOK
        (body,), (ahead, negative, _) = item.args, item.data
        if ahead:
            return [(rest, promises | {(negative, frozenset({(seq(body, ALL), _NO_PROMISE)}))})]
        return [(rest, promises)] if bool(self.accepts(self.behind[body])) != negative else []


def _is_plain(thread: Thread) -> bool:
    node, promises = thread
    return node.plain and all(_is_plain(other) for _, threads in promises for other in threads)


def _bodies(thread: Thread) -> set[Node]:
    """The look-behinds that a thread may still ask for."""
    node, promises = thread
    found = set(node.behinds)
    for _, threads in promises:
        for other in threads:
            found |= _bodies(other)
    return found


@lru_cache(maxsize=4096)
def _classes(tests: frozenset[Ranges]) -> tuple[Ranges, ...]:
    """The characters split by which tests they pass; those that pass none are left out."""
    events: list[tuple[int, int]] = []
    for number, ranges in enumerate(tests):
        for lo, hi in ranges:
            events += [(lo, 1 << number), (hi + 1, 1 << number)]
    events.sort()
    parts: dict[int, list[tuple[int, int]]] = {}
    passed, start = 0, 0
    for at, bit in events:
        if at > start and passed:
            parts.setdefault(passed, []).append((start, at - 1))
        start = at
        passed ^= bit
    return tuple(tuple(ranges) for ranges in parts.values())

"""Strongly connected components of a graph of names (Tarjan 1972), without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


def components(graph: Mapping[T, Iterable[T]]) -> list[list[T]]:
    """The components, each after all that it leads to; edges to what is no key of the graph are passed over."""
    order: dict[T, int] = {}
    low: dict[T, int] = {}
    on_stack: dict[T, None] = {}
    result: list[list[T]] = []
    for root in graph:
        if root in order:
            continue
        work = [(root, iter(graph[root]))]
        order[root] = low[root] = len(order)
        on_stack[root] = None
        while work:
            here, edges = work[-1]
            for after in edges:
                if after not in graph:
                    continue
                if after not in order:
                    order[after] = low[after] = len(order)
                    on_stack[after] = None
                    work.append((after, iter(graph[after])))
                    break
                if after in on_stack:
                    low[here] = min(low[here], order[after])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[here])
                if low[here] == order[here]:
                    component: list[T] = []
                    while not component or component[-1] != here:
                        component.append(on_stack.popitem()[0])
                    result.append(component[::-1])
    return result

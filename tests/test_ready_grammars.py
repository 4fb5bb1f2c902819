"""The grammars that come with the package: what random walks through their masks write is what other readers take."""

from __future__ import annotations

import ast
import datetime
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import domino_py as domino
from benchmarks.grammar_samples import read_chess
from domino_py import grammars
from domino_py.constraints.base import Constraint
from tests.real.tokenizers import llama_cpp_grammars
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.vocabulary import Vocabulary

N_SAMPLES = 200 if os.environ.get("DOMINO_SLOW") else 40
PIECES = (
    b'select  from  where  and  or  not  in  for  if  else  =  + ( ) ()  a b1 x_ 12 3. \' " " , </ /> --- | { }'.split(
        b" "
    )
)


@cache
def vocabulary() -> Vocabulary:
    """All bytes that ASCII and two-byte characters need, and pieces of several bytes."""
    pieces = [piece for piece in PIECES if len(piece) > 1] + [b" from ", b" and ", b"(a, ", b" | ", b"SELECT "]
    return Vocabulary.from_bytes(
        [*(bytes([b]) for b in range(256)), *dict.fromkeys(pieces), None], (256 + len({*pieces}),)
    )


def random_texts(constraint: Constraint, n: int, budget: int = 120) -> list[str]:
    """Texts out of the masks alone: every token has a random weight in each text; near the budget the text closes."""
    compiled: Compiled = compile_expression(constraint.expression, vocabulary())
    texts = []
    for seed in range(n):
        rng = np.random.default_rng(seed)
        weights = rng.exponential(size=vocabulary().n_rows) ** 3
        matcher = compiled.matcher()
        left = budget + matcher.min_tokens()
        while not matcher.is_finished:
            mask = matcher.mask() if left > budget // 2 else matcher.mask_within(left)
            ids = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
            matcher.advance(int(rng.choice(ids, p=weights[ids] / weights[ids].sum())))
            left -= 1
        texts.append(matcher.text_bytes().decode("utf-8"))
    assert all(constraint.matches(text) for text in texts[:20])
    return texts


C_WORDS = re.findall(
    r"\w+",
    """auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Alignas
    _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local bool true false""",
)

KNOWN = [
    (
        "arithmetic",
        ["1+2*(3-4.5)/-2", "0", "- 1", "( 1 )", "2 * - ( 3 - 4 )"],
        ["01", "1+", "(1", "1 2", "()", "( )", "-"],
    ),
    (
        "sql",
        [
            "SELECT a, count(*) AS n FROM t JOIN u ON t.id = u.id WHERE x IN (SELECT y FROM z) GROUP BY a LIMIT 1",
            "select distinct b from (select * from t) as s left join v on s.a=v.a limit 3;",
            "select case when a > 1 then 'x' else null end from t union select b from u",
            "SELECT 1 UNION ALL SELECT -2",
            "select t.*, -u.x as y from t cross join u where x != -5 and y in (-1, 2) or z between -1 and -2 + 3",
        ],
        [
            *("select from t", "select *", "select a where b = 1", "select a from select", "select a from t where"),
            *(
                "select a from t where b",
                "select a--5 from t",
                "select a from t where b =--5",
                "select t.* as x from t",
            ),
        ],
    ),
    (
        "python_expression",
        [
            "[f(x)**2 for x in y if x%2==0]",
            "a if b else {'k': 1}",
            "not x in (1,)",
            "f(x=1)",
            "f(a, key=lambda x: -x, reverse = True)",
            r'"a\n\x41\"\\"',
            r"'\u00e9\''",
            "a[1:2:3]",
            "a[::2]",
            "a[x if y else lambda:1:2]",
        ],
        ["1 +", "for", "f(", "1x", "f(x=1, 2)", "f(x=)", "f(None=1)", r'"\x4"', r"'\'", r"'\u12'", "a[1:2:3:4]", "a[]"],
    ),
    (
        "c_statements",
        [
            "int i = 0;\nwhile (i < 10) {\n    i++;\n}\n",
            "x = y - -z;\n",
            "x = a- -1;\n",
            "x = a-!b;\n",
            "x = a+b&&c;\n",
            "int x[2] = {1, 2};\nint y[3];\n",
            "bool done = true;\n",
            "int autos = 1;\n",
        ],
        [
            *("int = 0;\n", "i++\n", "int x[2] = 3;\n", "int x[2] = {};\n", "x = a&&&b;\n"),
            *("x = y--z;\n", "x = a--1;\n", "x = a - --b;\n", "x = a--(b);\n", "x = - -a;\n"),
            *(f"int {word} = 3;\n" for word in C_WORDS),
            *(f"{word}(1);\n" for word in C_WORDS),
        ],
    ),
    (
        "graphql",
        [
            "query Q($id: ID!) {\n  user(id: $id) {\n    name\n    ...F\n  }\n}",
            "{ a: b }",
            "{user(id:1){name}}",
            "query($a:Int=5){a(x:$a,y:[1,2]){b c}}",
            "{a{b},c}",
        ],
        ["{}", "query {", "{ ...on }", "{ab(){c}}", "{a(b)}", "{a:}"],
    ),
    (
        "promql",
        [
            *(
                'sum by (job) (rate(http_total{code=~"5.."}[5m])) / 2',
                "up offset 5m",
                "-x",
                "x[5m] offset 1h",
                "up[5m]",
            ),
            *("absent(x)", "1 + 2", "1 == bool 2", "(1 < bool 2) * x", "1 < x", "x == 1 and y > -2", "(x or y) + 1"),
            *("topk(3, x)", "histogram_quantile(0.9, sum(rate(b[5m])) by (le))", '{a="",b="c"}', '{a!=""}', "x{}"),
            *(r'x{a=~"b.*|[0-9]+\\.com",c!="d"}', '{a=~"b.*"}', "vector(1)", "scalar(x) > bool 1", "x offset 99y"),
            *("infra", "on_call", "start", "count / 2", 'x{__name="y"}', '{__name__="y"}', "-1", "2 * -(3)"),
        ],
        [
            *(
                "rate(up)",
                "up[5m] + 1",
                "{}",
                "1 and 2",
                "1 or x",
                "x and 1",
                "x and (1)",
                "(1) unless x",
                "x and 1 + 2",
            ),
            *('{a=""}', '{a!="b"}', '{a=~".*"}', '{a=~"b|c*"}', '{a=~""}', "1 == 2", "(1) > (2)", "1 == 2 == x"),
            *('x{a=~"("}', 'x{a=~"b**"}', 'x{a!~"["}', 'x{a=~"*"}', r'x{a=~"\."}', r'x{a=~"\\"}', 'x{a=~"[z-a]"}'),
            *(
                "sum(1)",
                "abs(1)",
                "sort(1)",
                "topk(1, 5)",
                "topk(x, y)",
                "rate(1[5m])",
                "sum by (job) (1)",
                "ceil(1 + 2)",
            ),
            *("histogram_quantile(0.9, 5)", "vector(x)", "scalar(1)", "x offset 999999y", "x[999999y]", "absent(1)"),
            *('Inf{a="b"}', 'nAn{a="b"}', "atan2", "AND", "Offset", "OR + x", "by", 'x{__name__="y"}'),
            *('x{a="b",__name__="y"}', "x offset 1m offset 5m", "1 offset 5m", "x > bool"),
        ],
    ),
    (
        "markdown_table",
        [
            "| a | b |\n| --- | :-: |\n| 1 |  |\n",
            "| a | b |\n|---|---|\n| | b |\n",
            "|a|b|\n|-|:-|\n|1|2|\n",
            "| name | n  |\n|------|---:|\n| x    | 1  |\n",
        ],
        [
            *("| a | b |\n| --- |\n| 1 | 2 |\n", "| a |\n| - |\n", "| a | b |\n| --- | :-: |\n| 1 |\n"),
            *("| a |\n|  |\n| 1 |\n", "| a |\n|--|-|\n| 1 |\n", "|a||\n|-|-|\n|1|2|\n"),
        ],
    ),
    (
        "chess",
        [
            *("1. e4 e5 2. Nf3 Nc6 3. O-O exd1=Q+ 1-0", "1. e4", "1. exd8=N# 0-1", "1. hxg3 axb6", "1. Nbd2 Rfe8"),
            *("1. N1d2 Nd7f6", "1. Qh4e1 Bc1xf4", "1. R1a3 Ra1xa8", "1. Q3h5 Rad8"),
        ],
        [
            *("1. e9", "e4", "1. Pf3", "1. axh5", "1. exe5", "1. axc5", "1. exd1=Q", "1. e4 d8=Q", "1. e2", "1. e4 e7"),
            *("1. Bb5b6", "1. Bb5xd6", "1. Bbb4", "1. B4c4", "1. Ra1b2", "1. Ra1a1", "1. Nb1b3", "1. Nae4", "1. N1f4"),
            *("1. Na1c3", "1. Qa1b3", "1. Ka1b1", "1. e4 2. d4", "1. e8", "1. e8=K"),
        ],
    ),
    (
        "date",
        ["2024-02-29", "2000-02-29", "1999-12-31"],
        ["1900-02-29", "2023-02-29", "2024-04-31", "0000-01-01", "2024-13-01"],
    ),
]


@pytest.mark.parametrize(("name", "legal", "illegal"), KNOWN, ids=[name for name, _, _ in KNOWN])
def test_known_texts(name: str, legal: list[str], illegal: list[str]) -> None:
    grammar = getattr(grammars, name)
    assert [text for text in legal if not grammar.matches(text)] == []
    assert [text for text in illegal if grammar.matches(text)] == []


def test_all_names_are_known_and_free_of_problems() -> None:
    assert {name for name, _, _ in KNOWN} == set(grammars.NAMES)
    assert set(dir(grammars)) == {*grammars.NAMES, "xml"}
    assert [problem for name in grammars.NAMES for problem in domino.check(getattr(grammars, name))] == []
    assert domino.check(grammars.xml(["a"])) == domino.check(grammars.xml(XML_TAGS)) == []
    assert domino.grammars is grammars
    with pytest.raises(AttributeError, match="arithmetic"):
        _ = grammars.nothing


def test_generated_arithmetic_evaluates() -> None:
    for text in random_texts(grammars.arithmetic, N_SAMPLES):
        try:
            assert isinstance(eval(text), int | float)
        except ZeroDivisionError:
            pass


PLACES = """SELECT {}; SELECT a, -{} FROM t; SELECT {}.* FROM {}; SELECT {}.{} + {} * 2 AS {} FROM {}.{} AS {};
    SELECT DISTINCT {} - 1 FROM t CROSS JOIN {} WHERE NOT {} = 1; SELECT sum({}) FROM t GROUP BY {}, {} HAVING {} > 1;
    SELECT a FROM t JOIN {} ON {} = {} ORDER BY {} DESC, {} LIMIT 3; SELECT ({}) FROM (SELECT {} FROM {}) AS {};
    SELECT a FROM t WHERE {} NOT IN ({}, 2) OR {} IN (SELECT {} FROM {}); SELECT {}/{} FROM t WHERE {} IS NOT NULL;
    SELECT a FROM t WHERE {} LIKE 'x' AND {} BETWEEN {} AND {};
    SELECT COUNT(DISTINCT {}) FROM t WHERE EXISTS (SELECT {});
    SELECT CASE WHEN {} <> {} THEN {} ELSE {} END UNION SELECT coalesce({}, round({}, 2)) ORDER BY {}"""
NAMES = """cache comment copy date datetime final first format json keep last load map names next no object percent
    position refresh settings start text time timestamp uuid variant xml user_id"""


@pytest.mark.parametrize("place", [" ".join(place.split()) for place in PLACES.split(";")])
def test_words_that_are_reserved_nowhere_are_names_in_sql(place: str) -> None:
    for name in (*NAMES.split(), "Date"):
        assert grammars.sql.matches(place.replace("{}", name)), name
    assert not grammars.sql.matches(place.replace("{}", "select"))


@pytest.mark.parametrize("place", [" ".join(place.split()) for place in PLACES.split(";")])
def test_such_names_are_read(place: str) -> None:
    sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is the reader here")
    for name in NAMES.split():
        assert isinstance(sqlglot.parse_one(place.replace("{}", name)), sqlglot.exp.Query), name


def test_generated_sql_parses() -> None:
    sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is the reader here")
    for text in random_texts(grammars.sql, N_SAMPLES):
        assert isinstance(sqlglot.parse_one(text), sqlglot.exp.Query), text


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # such as 1 is 2, which is legal
def test_generated_python_parses() -> None:
    for text in random_texts(grammars.python_expression, N_SAMPLES):
        ast.parse(text, mode="eval")


def test_generated_dates_exist() -> None:
    for text in random_texts(grammars.date, N_SAMPLES):
        assert datetime.date.fromisoformat(text).isoformat() == text


def test_every_date_is_legal_for_four_hundred_years() -> None:
    first = datetime.date(1800, 1, 1).toordinal()
    for day in range(first, first + 146_097, 1 if os.environ.get("DOMINO_SLOW") else 97):
        assert grammars.date.matches(datetime.date.fromordinal(day).isoformat())


def test_generated_tables_have_as_many_cells_in_every_row() -> None:
    for text in random_texts(grammars.markdown_table, N_SAMPLES):
        assert len({line.count("|") for line in text.strip("\n").split("\n")}) == 1


def test_generated_moves_are_legal_notation() -> None:
    for text in random_texts(grammars.chess, N_SAMPLES):
        read_chess(text)


def read_c(text: str) -> None:
    pycparser = pytest.importorskip("pycparser", reason="pycparser reads C here")
    pycparser.CParser().parse(f"typedef int bool; void f() {{\n{text}}}")


def read_graphql(text: str) -> None:
    pytest.importorskip("graphql", reason="graphql-core reads GraphQL here").parse(text)


def read_promql(text: str) -> None:
    pytest.importorskip("promql_parser", reason="promql-parser reads PromQL here").parse(text)


READERS = [("c_statements", read_c), ("graphql", read_graphql), ("promql", read_promql)]


@pytest.mark.parametrize(("name", "read"), READERS, ids=[name for name, _ in READERS])
def test_generated_texts_can_be_read(name: str, read: Callable[[str], None]) -> None:
    texts = random_texts(getattr(grammars, name), N_SAMPLES if os.environ.get("DOMINO_SLOW") else 20)
    for text in texts:  # random_texts compares with matches, also where no reader is installed
        read(text)


@pytest.mark.parametrize(("name", "read"), READERS, ids=[name for name, _ in READERS])
def test_known_texts_can_be_read(name: str, read: Callable[[str], None]) -> None:
    for text in next(legal for known, legal, _ in KNOWN if known == name):
        read(text)


XML_TAGS = {"doc": ["id", "lang"], "p": ["class"], "b": [], "br": []}


def test_generated_xml_is_well_formed() -> None:
    constraint = grammars.xml(XML_TAGS, root="doc")
    for text in random_texts(constraint, N_SAMPLES):
        root = ElementTree.fromstring(text)
        assert root.tag == "doc"
        assert all(element.tag in XML_TAGS for element in root.iter())


def test_xml_closes_what_it_opened() -> None:
    constraint = grammars.xml(["a", "b"])
    assert constraint.matches("<a>x<b>&lt;</b><a/></a>")
    for text in ("<a>", "<a></b>", "<c/>", "<a>&</a>", "<a/><a/>", "<a x=''/>"):
        assert not constraint.matches(text)


def test_xml_attributes_stand_at_most_once() -> None:
    constraint = grammars.xml({"a": ["id", "x"]})
    assert constraint.matches('<a id="1" x="2"/>')
    for text in ('<a id="1" id="2"/>', '<a x="1" x="2"/>', '<a id="1" x="2" id="3"/>'):
        assert not constraint.matches(text)
    with pytest.raises(domino.InvalidOption, match="'x' of 'a' is listed twice"):
        grammars.xml({"a": ["x", "y", "x"]})


def test_xml_refuses_what_is_no_name() -> None:
    wrong: list[Any] = [[], "ab", b"ab", ["a b"], ["1"], [["a"]], 5, None]
    for tags in wrong:
        with pytest.raises(domino.InvalidOption):
            grammars.xml(tags)
    attributes: list[Any] = ["id", None, 5, [3], [""]]
    for own in attributes:
        with pytest.raises(domino.InvalidOption, match=r"attributes of .a. are|not a name"):
            grammars.xml({"a": own})
    with pytest.raises(domino.InvalidOption, match=r"Did you mean \['id'\]"):
        grammars.xml({"a": "id"})
    with pytest.raises(domino.InvalidOption, match="root"):
        grammars.xml(["a"], root="b")


def test_llama_cpp_grammars_load_and_write_texts_that_match() -> None:
    paths: list[Path] = sorted(llama_cpp_grammars().rglob("*.gbnf"))
    assert len(paths) >= 8
    for path in paths:
        random_texts(domino.grammar(path), 5)

r"""regex(): what `re.fullmatch` matches, no more and no less."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domino_py.constraints.char_classes import ASCII_WORD, contains, every_code_point, ignore_case, python_class
from domino_py.constraints.regex import compile_pattern, regex
from domino_py.constraints.regex_resolve import Resolver
from domino_py.constraints.regex_states import StateMaker
from tests.regex_patterns import patterns, texts
from tests.shared_data import shared_lines
from tokenizer_align import expressions as ex
from tokenizer_align import utf8
from tokenizer_align.errors import RegexError
from tokenizer_align.recognizer import matches

# One pattern a line: texts that tell it from its neighbours. The verdicts are those of `re.fullmatch`.
CASES = [
    (r"(?:ab)+?(?P<tail>c|d)??e", ["abe", "ababce", "abde", "e", "abcde"]),
    (r"a|", ["", "a", "aa"]),
    (r"[]a]+[^]]", ["]ab", "]]", "a"]),
    (r"[a\-z][-x][x-]", ["a-x", "-xx", "bxx", "z--"]),
    (r"a{2}{", ["aa{", "aa"]),
    (r"a{,2}b{1,}", ["b", "aab", "aaab", "aa"]),
    (r"a{,}{x}", ["aaa{x}", "{x}"]),
    (r"\x41\u00e9\U0001F98A\N{EURO SIGN}\101\0", ["Aé🦊€A\0"]),
    (r"[\x41-\x43\N{DIGIT ONE}\60]+", ["ABC10", "D"]),
    (r"[\b]\a\f\v\t\r\n", ["\b\a\f\v\t\r\n"]),
    (r"[ -⹿]+", ["héllo – ok", "日本", ""]),
    (r"^a$", ["a", "a\n", "ba"]),
    (r"a$\n", ["a\n", "a", "a\n\n"]),
    (r"a$\n?", ["a\n", "a"]),
    (r"a\Z\n?", ["a\n", "a"]),
    (r"(?m)^a$\n^b$", ["a\nb", "a\nb\n"]),
    (r"a^b|c$d|(?m:c$\n^d)", ["ab", "cd", "c\nd"]),
    (r"\bfoo\b.*\Bx", ["foo ax", "foo x", "food ax", "foo.xx"]),
    (r"\B", ["", "a"]),
    (r"(\b\w+\b ?)+", ["one two", "one  two", "a"]),
    (r"(?=.*[A-Z])(?=.*\d)[A-Za-z0-9]{8,12}", ["Passw0rd", "password1", "PASSWORDX", "Pw0"]),
    (r"(?!admin$|root$)[a-z]+", ["admin", "administrator", "root", "roo"]),
    (r"(?:(?!--).)*", ["a-b-c", "a--b", "-", ""]),
    (r"(?:(?!.*x)a)*a*c?", ["aac", "aaa", "aax"]),
    (r"(?!(?=ab)..$)[ab]+", ["ab", "aba", "ba"]),
    (r"(?<=a)b|a(?<=a)b(?<!ab)|a(?<!b)c", ["b", "ab", "ac"]),
    (r"\w+(?<!_)(?<=[a-z]\d)", ["ab1", "a1", "1", "ab_", "1a"]),
    (r"(?:(?!-)[a-z-]{1,5}(?<!-)\.)+[a-z]{2}", ["ab.cd", "a-b.c-d.ef", "-a.bc", "a-.bc", "abcdef.gh"]),
    (r"(a|b)-\1", ["a-a", "b-b", "a-b"]),
    (r"(?P<q>['\"])[^'\"]*(?P=q)", ["'a'", '"a"', "'a\""]),
    (r"(?:(a|b)\1)+", ["aabb", "abab", "aa"]),
    (r"(?:(a|b)x)+\1", ["axbxb", "axbxa"]),
    (r"(a)?b(?(1)c|d)", ["abc", "bd", "abd", "bc"]),
    (r"(<)?\w+(?(1)>)", ["<a>", "a", "<a", "a>"]),
    (r"(?i)(ab|c)\1", ["ABab", "abAB", "cC", "abc"]),
    (r"(?=(a|b))c?[ab]", ["a", "ca", "b"]),
    (r"a*+b|a++a", ["aab", "b", "aa"]),
    (r"[ab]{1,2}+b", ["ab", "abb", "abbb"]),
    (r"(?>a|ab)c|(?>x*)y|(?>a+b)c", ["ac", "abc", "xxy", "aabc"]),
    (r"(?i)straße|kelvin", ["STRAßE", "STRASSE", "\u212aelvin", "KELVIN"]),
    (r"(?i)[a-z]+é", ["ſÉ", "Ié", "İÉ", "ıé", "ñé"]),
    (r"(?i:a)b(?-i:c)", ["Abc", "ABc", "AbC"]),
    (r"(?i)a(?-i:b)", ["Ab", "AB"]),
    (r"(?a)\w\d\s|(?u:\w)", ["a1 ", "é1 ", "é"]),
    (r"(?a:(?i:k))|(?ai:s)", ["K", "\u212a", "ſ"]),
    (r"\w\d\s", ["é٣\u2003", "a1 "]),
    (r".(?s:.)", ["a\n", "\na", "🦊é", "é"]),
    (r"(?x) a b # comment" "\n" r" [ ] \ c (?#more) d", ["ab  cd", "abcd"]),
    (r"(?x: a )b(?-x: )", ["ab ", "ab"]),
    (r"((25[0-5]|(2[0-4]|1[0-9]|[1-9]|)[0-9])\.){3}(25[0-5]|(2[0-4]|1[0-9]|[1-9]|)[0-9])", ["1.2.3.4", "256.1.1.1"]),
    (r"(a{0,2}){2,3}|(a{3}){2,3}", ["", "aaaaaa", "aaaaaaa", "a" * 9, "a" * 8]),
    (r"(?:a{2}|a{3}){2}\d*\d?", ["aaaa", "aaaaaa", "aaa", "aaaa12"]),
]


@pytest.mark.parametrize(("pattern", "examples"), CASES)
def test_known_patterns_match_what_re_matches(pattern: str, examples: list[str]) -> None:
    c = regex(pattern)
    verdicts = {text: re.fullmatch(pattern, text) is not None for text in examples}
    assert {text: c.matches(text) for text in examples} == verdicts


@pytest.mark.parametrize("flags", [re.I, re.A, re.I | re.A, re.S, re.M, re.X, re.X | re.I, re.NOFLAG])
@pytest.mark.parametrize("pattern", [r"[a-k] \w.", r"^\w$\n\w # x", "(?i:a)É."])
def test_flags_mean_what_they_mean_in_re(pattern: str, flags: re.RegexFlag) -> None:
    c = regex(pattern, flags=flags)
    for text in ["k é", "K ée", "\u212a x\n", "kxy", "a\nb # x", "é\nb # x", "AÉx", "aé\n", "a\nb", "Aéx"]:
        assert c.matches(text) == (re.fullmatch(pattern, text, flags) is not None), text


@settings(max_examples=500)
@given(patterns(), st.lists(texts, min_size=3, max_size=5))
def test_drawn_patterns_match_what_re_matches(pattern: str, drawn: list[str]) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        with pytest.raises(RegexError) as caught:
            compile_pattern(pattern)
        assert error.pos is None or caught.value.position == error.pos
        return
    try:
        ours, search = compile_pattern(pattern), compile_pattern(pattern, mode="search")
    except RegexError:
        return  # not regular, or not shown to be; `test_what_is_refused` says which
    by_states = StateMaker(Resolver(utf8.code_points)).whole(ours.node)
    for text in drawn:
        data, verdict = text.encode(), compiled.fullmatch(text) is not None
        assert matches(ours.lower(), data) == verdict, text
        assert matches(by_states, data) == verdict, text
        assert matches(search.lower(), data) == (compiled.search(text) is not None), text


def test_cases_reported_by_users() -> None:
    cases = [case for case in shared_lines("cases/constraints.jsonl") if case["kind"] == "regex"]
    assert len(cases) >= 10
    for case in cases:
        c = regex(case["constraint"])
        assert [text for text in case["accept"] if not c.matches(text)] == [], case["id"]
        assert [text for text in case["reject"] if c.matches(text)] == [], case["id"]


# Classes and case.


@pytest.mark.parametrize("letter", "dws")
def test_classes_of_letters_hold_what_re_says(letter: str) -> None:
    ranges, pattern = python_class(letter), re.compile(f"\\{letter}")
    for code_point in [*range(0x3000), 0x6F0, 0x1D7CE, 0x10FFFF, 0xFEFF, 0x2028]:
        assert contains(ranges, code_point) == bool(pattern.match(chr(code_point)))


@pytest.mark.parametrize(
    "members", ["k", "s", "i", "µ", "ß", "ς", "İ", "ﬅ", "a-z", "А-Я", "À-ß", "𐐀-𐐂", "ⓐ", "ͅ", "Ꭰ", "ǆ"]
)
@pytest.mark.parametrize("flags", [re.I, re.I | re.A])
def test_case_is_ignored_as_in_re(members: str, flags: re.RegexFlag) -> None:
    if flags & re.A and members > "\uffff":
        pytest.skip("CPython ignores the case of ranges beyond U+FFFF under ASCII, against its documentation")
    text = every_code_point()[:0x11000].replace("\n", "")
    for pattern in (f"[{members}]", f"[^{members}]"):
        expected = set(re.findall(pattern, text, flags))
        node = compile_pattern(pattern, flags=int(flags)).node
        assert {c for c in text if not "\ud800" <= c <= "\udfff" and contains(node.data, ord(c))} == {
            c for c in expected if not "\ud800" <= c <= "\udfff"
        }


def test_no_character_beyond_the_cased_blocks_has_a_case() -> None:
    # `ignore_case` looks at code points below U+1F000 only.
    assert all(c.lower() == c == c.upper() == c.casefold() for c in every_code_point()[0x1F000:])


def test_only_letters_with_a_case_gain_partners() -> None:
    assert ignore_case(((48, 57),), "unicode") == ((48, 57),)
    assert ignore_case(((107, 107),), "unicode") == ((75, 75), (107, 107), (0x212A, 0x212A))
    assert ignore_case(((107, 107),), "ascii") == ((75, 75), (107, 107))


def test_unicode_properties_are_an_extension() -> None:
    c = regex(r"\p{Lu}\p{Greek}\P{L}[\p{Nd}\p{^L}]\p{Script=Han}+")
    assert c.matches("Éα1٣漢字") and not c.matches("éα1٣漢") and not c.matches("Éa1٣漢")
    with pytest.raises(RegexError, match="unknown property 'Klingon' at position 1"):
        regex(r"a\p{Klingon}")


# Characters written in another way than UTF-8, as inside JSON strings.


def test_a_pattern_is_lowered_with_any_spelling_of_characters() -> None:
    def spell(ranges: tuple[tuple[int, int], ...]) -> ex.Expr:
        quote = ex.lit(b'\\"') if contains(ranges, 34) else ex.EMPTY
        rest = utf8.code_points([(lo, hi) for lo, hi in ranges if not lo <= 34 <= hi])
        split = [part for lo, hi in ranges if lo <= 34 <= hi for part in ((lo, 33), (35, hi)) if part[0] <= part[1]]
        return ex.alt(quote, rest, utf8.code_points(split))

    expr = compile_pattern(r"(?!.*x)\"?[a-z\"]+\b.").lower(spell)
    assert matches(expr, rb"\"ab\"") and matches(expr, rb"\"a.")
    assert not matches(expr, b'"ab"') and not matches(expr, rb"\"ax.")


def test_word_characters_outside_of_ascii_keep_boundaries() -> None:
    assert contains(ASCII_WORD, ord("_"))
    assert regex(r".+\b.+", flags=re.S).matches("é ") and not regex(r"\w+\b\w+").matches("éa")

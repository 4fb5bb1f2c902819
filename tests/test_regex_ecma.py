"""Patterns of JSON Schema: ECMA-262 syntax, and a match anywhere in the text unless an anchor says otherwise."""

from __future__ import annotations

import pytest

from domino_py.constraints.regex import compile_pattern
from tokenizer_align.errors import RegexError
from tokenizer_align.expressions import EMPTY, EPSILON
from tokenizer_align.recognizer import matches

# (pattern, texts that hold a match, texts that do not), by ECMA-262 with the u flag.
CASES = [
    ("a", ["a", "bab"], ["", "b"]),
    ("", ["", "anything\n"], []),
    (r"\S", ["a", " x ", "two words"], ["", "   "]),
    ("^https://", ["https://", "https://example.org/x"], ["http://example.org", "see https://x"]),
    ("^on$|^off$", ["on", "off"], ["onoff", "o", "on off"]),
    ("^on|off$", ["only", "switch off"], ["soon", "offer"]),
    ("(^|x)y", ["y", "yes", "axy"], ["ay", "x"]),
    ("y($|x)", ["y", "my", "myx"], ["ya", "x"]),
    ("^$", [""], ["a", "\n"]),
    ("^a*$", ["", "aa"], ["b", "a\n"]),
    ("^[a-z]+$", ["abc"], ["abc1", "", "abc\n"]),
    (r"^\d+$", ["123"], ["12a", "١٢"]),
    (r"^\w+\s\W$", ["a_1 \u00e9", "a\ufeff!"], ["\u00e9 !"]),
    ("^.$", ["a", "\u0085", "🦊"], ["\n", "\r", "\u2028", "\u2029", ""]),
    ("^[^]$", ["a", "\n"], [""]),
    ("^[^\\n]$", ["\r", "a"], ["\n"]),
    ("^(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9]{8,12}$", ["Passw0rd", "ABCDEFG1"], ["password1", "PASSWORDX", "Pw0"]),
    ("^(?!.*secret)", ["open", ""], ["a secret", "secret"]),
    (r"^((?!-)[A-Za-z0-9-]{1,63}(?<!-)\.)+[A-Za-z]{2,6}$", ["a.org", "a-b.co.uk"], ["-a.org", "a-.org", "org"]),
    (
        r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$",
        ["1.2.3.4", "255.0.0.1"],
        ["1.2.3.4.", "256.1.1.1", "1.2.3"],
    ),
    (r"(?<=\$)\d+(?<![05])$", ["$7", "a $12"], ["$10", "7", "$"]),
    (r"(?<=^a+)b", ["ab", "aaabc"], ["b", "cab"]),
    (r"\bcat\b", ["cat", "a cat.", "cat\u00e9"], ["cats", "concat"]),
    (r"^\B$", [""], ["a"]),
    (r"^hello\!\/\-\_\"\@$", ['hello!/-_"@'], ["hello"]),
    (r"^\u0041\x42\u{43}\ud83e\udd8a\u{1F98A}\cJ\0\t$", ["ABC🦊🦊\n\0\t"], []),
    (r"^[\w-.]+[+\-][\b]$", ["a-.+\b"], ["a,+\b"]),
    (r"^{\"a\": \d}$", ['{"a": 1}'], ["{}"]),
    (r"^a{2}]}$", ["aa]}"], ["a]}"]),
    (r"^(?<year>\d{2})/\k<year>/\1$", ["20/20/20"], ["20/21/20"]),
    (r"^(?:(a)|b)*\1$", ["b", "ab", "aa"], ["aab" * 2 + "x"]),
    (r"^(a)?\1$", ["", "aa"], ["a"]),
    (r"^\1(a)$", ["a"], ["aa"]),
    (r"^(?i:straSSe)x$", ["STRASSEx", "\u017ftrassex"], ["straßex", "strasseX"]),
    (r"^(?s:.)(?m:^)a$", ["\na", "\u2028a"], ["ba"]),
    (r"^\p{Lu}\p{Script=Greek}\P{L}\p{L}*$", ["Éα1", "Éα1é"], ["éα1"]),
    ("^[]$|^b$", ["b"], ["", "a"]),
    ("^(?P<name>x)$", ["x"], ["y"]),
    ("(?i)^abc$", ["ABC"], ["ABCD"]),
]


@pytest.mark.parametrize(("pattern", "accepted", "rejected"), CASES)
def test_a_text_is_accepted_when_it_holds_a_match(pattern: str, accepted: list[str], rejected: list[str]) -> None:
    expr = compile_pattern(pattern, "ecma", "search").lower()
    assert [text for text in accepted if not matches(expr, text.encode())] == []
    assert [text for text in rejected if matches(expr, text.encode())] == []


@pytest.mark.parametrize("pattern", ["a^b", "c$d", r"\b\B", "[]", "x(?!y)y", r"^\Ba"])
def test_contradictions_are_empty(pattern: str) -> None:
    expr = compile_pattern(pattern, "ecma", "search").lower()
    assert expr is EMPTY or not any(matches(expr, text.encode()) for text in ("", "a", "ab", "a^b", "cd", "xy"))


def test_anchors_on_both_sides_leave_the_bare_pattern() -> None:
    anchored = compile_pattern("^[a-z]{1,5000}$", "ecma", "search").lower()
    assert anchored is compile_pattern("[a-z]{1,5000}", "ecma", "fullmatch").lower()
    assert compile_pattern("^$", "ecma", "search").lower() is EPSILON


@pytest.mark.parametrize(
    ("pattern", "position", "message"),
    [
        (r"a\Z", 1, r"bad escape \Z"),
        (r"\Aa", 0, r"bad escape \A"),
        (r"\e", 0, r"bad escape \e"),
        (r"a\1", 1, "invalid group reference 1"),
        (r"\08", 0, r"bad escape \0"),
        (r"\u{110000}", 0, r"bad escape \u{110000}"),
        (r"\u12", 0, r"incomplete escape \u12"),
        (r"\pL", 0, r"bad escape \p"),
        (r"\k<a>", 3, "unknown group name 'a'"),
        ("a++", 2, "multiple repeat"),
        ("(?>a)", 1, "unknown extension ?>"),
        ("(?x: a)", 1, "unknown extension ?x"),
        ("a{,2}", 1, "a count without its lower bound"),
        ("(a", 0, "missing ), unterminated subpattern"),
        ("[a", 0, "unterminated character set"),
        ("(?<=a$)b", 0, "a look-behind that looks ahead inside"),
        (r"^(\w+) \1$", 7, "a reference to group 1, which can match more than 1,000 texts"),
    ],
)
def test_what_ecma_does_not_know_is_refused_at_its_place(pattern: str, position: int, message: str) -> None:
    with pytest.raises(RegexError) as caught:
        compile_pattern(pattern, "ecma", "search")
    assert (caught.value.position, caught.value.message) == (position, message)

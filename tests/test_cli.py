"""The command `domino`: what it prints, what it writes, and its exit codes."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from domino_py.cli import main
from domino_py.cli.app import app
from domino_py.cli.loading import NotFound, load_model, load_schema
from tests.tiny import tiny_model, tiny_tokenizer
from tokenizer_align.errors import DominoError

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["approve", "reject"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model")
    tiny_model().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return str(folder)


@pytest.fixture
def schema_file(tmp_path: Path) -> str:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    return str(path)


def invoke(*arguments: str, **options: Any) -> Any:
    result = CliRunner().invoke(app, list(arguments), **options)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_extract_writes_json_lines_and_resumes(model_folder: str, schema_file: str, tmp_path: Path) -> None:
    texts = tmp_path / "in.jsonl"
    texts.write_text("\n".join(json.dumps({"id": f"r{i}", "text": f"text {i}"}) for i in range(3)))
    out = tmp_path / "out.jsonl"
    call = ("extract", str(texts), "--schema", schema_file, "--out", str(out), "--model", model_folder)
    assert invoke(*call, "--report").exit_code == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["r0", "r1", "r2"]
    assert all(line["value"]["verdict"] in ("approve", "reject") for line in lines)
    again = invoke(*call)
    assert "3 from an earlier run" in again.stderr
    assert out.read_text().splitlines() == [json.dumps(line, ensure_ascii=False) for line in lines]


@pytest.mark.parametrize(("more", "how"), [((), "the same command goes on"), (("--restart",), "without --restart")])
def test_an_interrupt_says_how_to_go_on(
    model_folder: str,
    schema_file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[str, ...],
    how: str,
) -> None:
    """Regression: exit code 130 and not a word."""

    def interrupted(*_: Any, out: Path, **_more: Any) -> Any:
        out.write_text("")
        raise KeyboardInterrupt

    monkeypatch.setattr("domino_py.extraction.Extractor.run", interrupted)
    text, out = tmp_path / "a.txt", tmp_path / "out.jsonl"
    text.write_text("A")
    call = ["extract", str(text), "--schema", schema_file, "--out", str(out), "--model", model_folder, *more]
    monkeypatch.setattr("sys.argv", ["domino", *call])
    stderr = io.StringIO()
    with pytest.raises(SystemExit) as end, contextlib.redirect_stderr(stderr):
        main()
    assert end.value.code == 130
    assert how in " ".join(stderr.getvalue().split())
    assert stderr.getvalue().endswith("interrupted\n")


def test_extract_reads_a_folder_and_prints_to_standard_output(
    model_folder: str, schema_file: str, tmp_path: Path
) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("one", encoding="utf-8")
    (folder / "b.txt").write_text("deux 🥐", encoding="utf-8")
    result = invoke("extract", str(folder), "-s", schema_file, "-m", model_folder)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["id"] for line in lines] == ["a.txt", "b.txt"]


def test_failed_records_are_named_and_give_exit_code_1(model_folder: str, schema_file: str, tmp_path: Path) -> None:
    texts = tmp_path / "in.jsonl"
    texts.write_text("\n".join([json.dumps("fine"), json.dumps("x" * 5000)]))
    result = invoke("extract", str(texts), "-s", schema_file, "-m", model_folder, "--max-new-tokens", "60")
    assert result.exit_code == 1
    assert "record 1: InvalidOption" in result.stderr
    assert "1 of 2 records extracted, 1 failed" in result.stderr


def test_generate_obeys_its_constraint(model_folder: str) -> None:
    assert invoke("generate", "x", "--regex", "[0-9]{4}", "-m", model_folder).stdout.strip().isdigit()
    assert invoke("generate", "x", "--choice", "yes", "--choice", "no", "-m", model_folder).stdout.strip() in (
        "yes",
        "no",
    )
    chat = invoke(
        "generate", "-", "--json", "--chat", "-m", model_folder, "--report", input="Hello", catch_exceptions=False
    )
    json.loads(chat.stdout)
    assert "projection tax" in chat.stderr


def test_generate_prints_as_it_goes(model_folder: str) -> None:
    call = ("generate", "x", "--regex", "[0-9]{4}", "-m", model_folder, "--tokenization", "canonical")
    assert invoke(*call, "--stream").stdout == invoke(*call).stdout


def test_generate_takes_one_constraint(model_folder: str) -> None:
    with pytest.raises(DominoError, match="--regex and --json were given"):
        invoke("generate", "x", "--regex", "a", "--json", "-m", model_folder)


def test_check_names_every_problem_and_says_whether_a_text_is_legal(schema_file: str, tmp_path: Path) -> None:
    assert invoke("check", schema_file).stdout.strip() == "no problems"
    legal = invoke("check", schema_file, "--text", '{"verdict": "reject"}')
    assert (legal.exit_code, "the text is legal" in legal.stdout) == (0, True)
    assert invoke("check", schema_file, "--text", "{}").exit_code == 1
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"properties": {"a": {"type": "strong"}, "b": {"minimum": "x"}}}))
    result = invoke("check", str(bad))
    assert result.exit_code == 1
    assert "/properties/a" in result.stdout
    assert "/properties/b" in result.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.json", "No such file"),
        ("nothing", "module:Type"),
        ("no_such_module:X", "cannot be imported"),
        ("json:X", "json has no 'X'"),
        ("none.py:X", "no such file"),
        ("rules.gbnf", "write --grammar rules.gbnf"),
    ],
)
def test_schemas_that_cannot_be_loaded_say_why(name: str, message: str) -> None:
    with pytest.raises(NotFound, match=message):
        load_schema(name)


@pytest.mark.parametrize(
    ("code", "message"),
    [("def f(:", "SyntaxError"), ("raise RuntimeError('boom')", "boom"), ("import no_such_package", "no_such_package")],
)
def test_files_that_cannot_be_run_say_why(tmp_path: Path, code: str, message: str) -> None:
    """Regression: a traceback, and the exit code of failed records."""
    path = tmp_path / "broken.py"
    path.write_text(code)
    with pytest.raises(NotFound, match=message):
        load_schema(f"{path}:P")
    with pytest.raises(NotFound, match="cannot be imported"):
        load_schema(".relative:P")


@pytest.mark.parametrize("name", ["./none", "no/such/folder", "/none"])
def test_a_model_that_is_not_there_is_named(name: str) -> None:
    """Regression: a sentence on how names of the hub are written."""
    with pytest.raises(NotFound, match="there is no such folder"):
        load_model(name)


def test_a_device_that_is_not_there_is_named(model_folder: str) -> None:
    with pytest.raises(NotFound, match="--device nonsense"):
        load_model(model_folder, device="nonsense")


def test_the_input_is_never_written_over(model_folder: str, schema_file: str, tmp_path: Path) -> None:
    texts = tmp_path / "in.jsonl"
    texts.write_text('{"text": "a"}\n')
    call = ("extract", str(texts), "--schema", schema_file, "--out", str(texts), "--restart", "--model", model_folder)
    with pytest.raises(DominoError, match="the input itself"):
        invoke(*call)
    assert texts.read_text() == '{"text": "a"}\n'


def test_types_come_from_modules_and_files(tmp_path: Path) -> None:
    path = tmp_path / "my_types.py"
    path.write_text("from dataclasses import dataclass\n@dataclass\nclass P:\n    a: 'int'\n")
    assert load_schema(f"{path}:P").__name__ == "P"
    assert load_schema("decimal:Decimal").__name__ == "Decimal"


def test_schema_files_hold_json_objects(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[1]")
    (tmp_path / "b.json").write_text("{")
    for name, message in (("a.json", "an object"), ("b.json", "not JSON")):
        with pytest.raises(NotFound, match=message):
            load_schema(str(tmp_path / name))


@pytest.mark.parametrize(
    ("text", "message"),
    [('{"type": "string", "type": "null"}', "stands twice"), ("[" * 100_000, "nested"), ('{"minimum": NaN}', "NaN")],
)
def test_schema_files_are_read_as_schemas_in_code_are(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(text)
    with pytest.raises(NotFound, match=message):
        load_schema(str(path))
    path.write_text('\ufeff{"type": "number", "multipleOf": 0.1}', encoding="utf-8")
    assert str(load_schema(str(path))["multipleOf"]) == "0.1"


def test_check_names_a_misspelt_keyword_once(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "string", "minlength": 3}')
    code = f"import sys; sys.argv[1:] = ['check', {str(path)!r}]; from domino_py.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout + done.stderr).count("minlength") == 2  # in its message, and in its pointer


def test_errors_are_one_line_and_exit_code_2() -> None:
    code = "from domino_py.cli import main; main()"
    call = [sys.executable, "-c", code, "check", "none.json"]
    done = subprocess.run(call, capture_output=True, text=True, check=False, cwd=Path(__file__).parent.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == "error: none.json: No such file or directory."


def test_check_with_a_model_says_where_it_disagrees(model_folder: str, schema_file: str) -> None:
    result = invoke("check", schema_file, "-m", model_folder, "--prompt", "The lamp broke.", "--prompt", "All is well.")
    assert result.exit_code == 0
    assert result.stdout.count("output: {") == 2
    assert "model: at byte " in result.stdout and "the model wants `" in result.stdout
    pattern = invoke("check", "--regex", "[0-9]{3}", "--model", model_folder)
    assert "model: at byte 0" in pattern.stdout


def test_check_and_generate_take_a_grammar_file(model_folder: str, tmp_path: Path) -> None:
    path = tmp_path / "word.gbnf"
    path.write_text('root ::= "(" root ")" | "a"', encoding="utf-8")
    assert invoke("check", "--grammar", str(path), "--text", "((a))").exit_code == 0
    assert invoke("check", "--grammar", str(path), "--text", "((a)").exit_code == 1
    written = invoke("generate", "x", "--grammar", str(path), "--max-new-tokens", "9", "-m", model_folder)
    assert written.stdout.strip().strip("()") == "a"
    path.write_text('root ::= "(" rot ")"', encoding="utf-8")
    refused = invoke("check", "--grammar", str(path))
    assert refused.exit_code == 1
    assert "line 1, column 14" in refused.stdout
    with pytest.raises(DominoError, match="No such file"):
        invoke("check", "--grammar", str(tmp_path / "none.gbnf"))


def test_generate_fills_a_template(model_folder: str, tmp_path: Path, schema_file: str) -> None:
    path = tmp_path / "form.txt"
    path.write_text("{{{n}}} {d} {s} {w}", encoding="utf-8")
    holes = ("--hole", "n=int", "--hole", "d=date", "--hole", f"s={schema_file}", "--hole", "w=regex:[a-z]{2}=")
    written = invoke("generate", "x", "-t", str(path), *holes, "-m", model_folder, "--max-new-tokens", "150").stdout
    assert written.startswith("{") and '{"verdict"' in written.replace(" ", "") and written.strip().endswith("=")
    given = invoke("generate", "x", "--template", "a {b}", "--hole", "b=choice:x|y", "-m", model_folder)
    assert given.stdout.strip() in ("a x", "a y")


def test_generate_calls_tools(model_folder: str, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    parameters = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}
    path.write_text(json.dumps([{"type": "function", "function": {"name": "add", "parameters": parameters}}]))
    call = ("generate", "Add one.", "--tools", str(path), "--tool-choice", "required", "-m", model_folder)
    result = invoke(*call, "--tool-format", "llama3", "--max-new-tokens", "60")
    assert json.loads(result.stdout)["name"] == "add" and json.loads(result.stdout)["parameters"]["n"] in (1, 2)
    with pytest.raises(DominoError, match="Pass format="):
        invoke(*call)
    path.write_text("{}")
    with pytest.raises(NotFound, match="a list of tool definitions"):
        invoke(*call)
    with pytest.raises(DominoError, match="--json and --tools were given"):
        invoke(*call, "--json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--template", "none.txt"), "none.txt: No such file"),
        (("--template", "{a}"), "nothing says what the hole {a} may hold"),
        (("--template", "{a}"), "Pass --hole a=WHAT"),
        (("--template", "{a}", "--hole", "a=int", "--hole", "c=int"), "has no hole {c} at --hole c="),
        (("--template", "{a}", "--hole", "a"), "NAME=WHAT was expected"),
        (("--template", "{a}", "--hole", "a=int", "--hole", "a=int"), "given twice"),
        (("--template", "{a}", "--hole", "a=nothing"), "module:Type"),
        (("--hole", "a=int"), "none was given"),
        (("--template", "x", "--json"), "--json and --template were given"),
    ],
)
def test_templates_that_cannot_be_filled_say_why(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(DominoError, match=message.replace("{", r"\{").replace("|", r"\|")):
        invoke("generate", "x", *arguments)


def test_inspect_shows_what_may_follow(schema_file: str, model_folder: str) -> None:
    seen = invoke("inspect", schema_file, "--after", '{"verdict": "')
    assert seen.exit_code == 0
    assert "next byte      a r" in seen.stdout
    wrong = invoke("inspect", "--regex", "[0-9]+", "--after", "1a")
    assert (wrong.exit_code, "from byte 1 on ('a')" in wrong.stdout) == (1, True)
    template = invoke("inspect", "-t", "Age: {n}", "--hole", "n=int", "-m", model_folder)
    assert "forced         'Age: '" in template.stdout and "tokens" in template.stdout
    with pytest.raises(DominoError, match="give a schema"):
        invoke("inspect", "--after", "x")


def test_check_finds_a_wrong_pattern_as_it_finds_wrong_schemas() -> None:
    result = invoke("check", "--regex", "(a")
    assert result.exit_code == 1
    assert "error: missing )" in result.stdout
    assert "^" in result.stdout


def test_a_hole_of_an_unknown_type_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(NotFound, match=r"--hole born=integer: .*Did you mean 'int'"):
        invoke("check", "--template", "born {born}", "--hole", "born=integer")


def test_check_takes_a_template() -> None:
    call = ("check", "--template", "{a}-{b}", "--hole", "a=regex:[a-z]+")
    refused = invoke(*call)
    assert (refused.exit_code, "the hole {b} may hold, at line 1, column 5" in refused.stdout) == (1, True)
    assert invoke(*call, "--hole", "b=int", "--text", "x-5").exit_code == 0

import io
from typing import Any

import pytest
import rich.console

from domino_py.progress import progress_bar


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal is sent."""
    out = io.StringIO()
    original = rich.console.Console

    def terminal(**_options: Any) -> rich.console.Console:
        return original(file=out, force_terminal=True, width=100)

    monkeypatch.setattr(rich.console, "Console", terminal)
    return out


def test_a_terminal_sees_texts_failures_and_tokens(screen: io.StringIO) -> None:
    with progress_bar(range(3), "texts") as bar:
        bar.wrote(1200)
        bar.finished()
        bar.finished(failed=True)
    assert "texts (1 failed), 1,200 tokens" in screen.getvalue()
    assert "2/3" in screen.getvalue()


def test_nothing_is_shown_when_off_or_elsewhere(screen: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(range(3), shown=False) as bar:
        bar.wrote(1)
        bar.finished()
    assert screen.getvalue() == ""
    assert capsys.readouterr() == ("", "")


def test_where_there_is_no_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(range(3)) as bar:
        bar.finished()
    assert capsys.readouterr() == ("", "")

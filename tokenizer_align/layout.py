"""The layout a JSON text has shown so far: which blanks stand after a colon, after a comma, after an opening bracket.

With free whitespace hardly a byte of a JSON text is forced, yet a writer who put one blank after the first colon puts
one after all of them. `LayoutTracker` reads the text once, byte by byte, and remembers what was seen last at each kind
of place; `Layout.whitespace` says what is likely at a place. A layout only shapes drafts, it never changes what is
legal, so a wrong guess costs nothing but the draft (DESIGN.md section 4).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT_LAYOUT", "Layout", "LayoutTracker", "observe"]

_BLANKS = b" \t\r\n"
_OPENING = b"{["
_CLOSING = b"}]"


@dataclass(frozen=True, slots=True)
class Layout:
    """Likely blanks at each kind of place.

    `indent` is the unit of indentation, None where the text is written on one line. An indented text may still write
    some brackets on one line: `inline` says so of those now open (outermost first), `inline_list` and `inline_object`
    of the next one to be opened.
    """

    colon: bytes = b" "
    comma: bytes = b" "
    open: bytes = b""
    indent: bytes | None = None
    inline: tuple[bool, ...] = ()
    inline_list: bool = False
    inline_object: bool = False

    def whitespace(self, before: bytes, depth: int, after: bytes = b"") -> bytes:
        """Return the likely blanks between two neighbours.

        Args:
            before: the last byte that is not blank (more are allowed, the last counts).
            depth: number of brackets open where the next byte stands; for a closing bracket, without its own.
            after: the next byte that is not blank, where it is known.

        Example: in a text indented by two blanks, `whitespace(b",", 1)` is `b"\\n  "` and
        `whitespace(b'"', 0, b"}")` is `b"\\n"`.
        """
        last, following = before[-1:], after[:1]
        closes = bool(following) and following in _CLOSING
        if last == b":":
            return self.colon
        if last in (b"{", b"["):
            if closes:
                return b""
            on_one_line = self.inline_list if last == b"[" else self.inline_object
            return self.open if on_one_line else self._line(depth, self.open)
        if last == b",":
            return self.comma if self._is_inline(depth) else self._line(depth, self.comma)
        if closes:
            return self.open if self._is_inline(depth + 1) else self._line(depth, self.open)
        return b""

    def _is_inline(self, depth: int) -> bool:
        return 0 < depth <= len(self.inline) and self.inline[depth - 1]

    def _line(self, depth: int, otherwise: bytes) -> bytes:
        return otherwise if self.indent is None else b"\n" + self.indent * depth


DEFAULT_LAYOUT = Layout()


class LayoutTracker:
    """Reads a text piece by piece; `layout` is what it has shown so far, else the commonest."""

    def __init__(self, start: Layout = DEFAULT_LAYOUT) -> None:
        self._colon, self._comma, self._open, self._indent = start.colon, start.comma, start.open, start.indent
        self._inline_next = {0x5B: start.inline_list, 0x7B: start.inline_object}
        self._inline = list(start.inline)
        self._in_string = False
        self._escaped = False
        self._place = 0  # the structural byte whose blanks are being read, 0: none
        self._blanks = bytearray()

    @property
    def layout(self) -> Layout:
        """The layout seen up to here; blanks still being written count once something follows them."""
        return Layout(
            self._colon,
            self._comma,
            self._open,
            self._indent,
            tuple(self._inline),
            self._inline_next[0x5B],
            self._inline_next[0x7B],
        )

    def feed(self, data: bytes) -> None:
        """Read on."""
        for byte in data:
            if self._in_string:
                self._read_in_string(byte)
            elif byte in _BLANKS:
                self._blanks.append(byte)
            else:
                self._read_visible(byte)

    def _read_in_string(self, byte: int) -> None:
        if self._escaped:
            self._escaped = False
        elif byte == 0x5C:
            self._escaped = True
        elif byte == 0x22:
            self._in_string = False

    def _read_visible(self, byte: int) -> None:
        if self._place and byte not in _CLOSING:
            self._note(self._place, bytes(self._blanks))
        self._blanks.clear()
        self._place = 0
        if byte == 0x22:
            self._in_string = True
        elif byte in _OPENING:
            self._inline.append(self._inline_next[byte])
            self._place = byte
        elif byte in _CLOSING:
            del self._inline[-1:]
        elif byte in b":,":
            self._place = byte

    def _note(self, place: int, blanks: bytes) -> None:
        """Remember the blanks that followed a structural byte."""
        if place == 0x3A:
            self._colon = blanks
            return
        breaks_line = b"\n" in blanks
        if breaks_line:
            margin = blanks[blanks.rindex(b"\n") + 1 :]
            depth = len(self._inline)
            if depth and len(margin) % depth == 0:
                self._indent = margin[: len(margin) // depth]
        elif place == 0x2C:
            self._comma = blanks
        else:
            self._open = blanks
        if self._inline:
            self._inline[-1] = not breaks_line
        if place in self._inline_next:
            self._inline_next[place] = not breaks_line


def observe(text: bytes) -> Layout:
    """Return the layout that a text has shown.

    Example: `observe(b'{\\n  "a": 1,').indent` is `b"  "`; `observe(b'{"a":').colon` is `b" "` (nothing seen yet).
    """
    tracker = LayoutTracker()
    tracker.feed(text)
    return tracker.layout

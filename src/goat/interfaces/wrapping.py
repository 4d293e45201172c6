"""Breaks lines between words while the text is still coming."""

from __future__ import annotations

from rich.cells import cell_len


class WordWrap:
    """Turns pieces of a text into pieces that fit a screen of `width` columns, broken between words.

    A word is held back until it is known to be complete, so that it never stands half at the end of a line. A word that
    is longer than a line is left to the terminal, and so are scripts that write without spaces.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._column = 0
        self._space = ""
        self._word = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        out: list[str] = []
        for character in piece:
            if character == "\n":
                out += [self._placed(), "\n"]
                self._column, self._space = 0, ""
            elif character.isspace():
                out.append(self._placed())
                self._space += character
            else:
                self._word += character
                if cell_len(character) > 1 or cell_len(self._word) >= self._width:
                    out.append(self._placed())
        return "".join(out)

    def close(self) -> str:
        """The rest."""
        return self._placed()

    def _placed(self) -> str:
        """The waiting word with the space before it, or on a line of its own."""
        word, self._word = self._word, ""
        if not word:
            return ""
        space, self._space = self._space, ""
        needed = cell_len(space) + cell_len(word)
        if self._column and space and self._column + needed > self._width:
            self._column = cell_len(word)
            return f"\n{word}"
        self._column = (self._column + needed - 1) % self._width + 1  # what is too long, the terminal breaks itself
        return space + word

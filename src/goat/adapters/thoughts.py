"""Takes a model's thoughts out of its text, as the text comes.

Models that think write their thoughts in `<think>` tags, and some endpoints pass these on as text. A tag counts as one:

    an opening tag    at the start of a line, even when it never ends; inside a line when a closing tag follows
    a closing tag     without an opening one, when it begins or ends a line or stands between words without a space:
                      then all before it is a thought, as it is with models whose template opens the tag itself

Between backticks, in a line or in a block, tags are text that the person asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NAMES = "think|thinking|thoughts?|reasoning"
TAG = rf"</?(?:{NAMES})>"
CLOSING = re.compile(rf"</(?:{NAMES})>", re.IGNORECASE)
UNFINISHED = re.compile(r"<(?:/?[a-z]{0,9})$", re.IGNORECASE)
"""What may become a tag with the next piece."""

MARK = re.compile(
    rf"(?P<fence>^ {{0,3}}(?P<rule>`{{3,}}(?=[^`\n]*$)|~{{3,}}))|(?P<ticks>`+)|(?P<tag>{TAG})",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass
class Visible:
    """The part of a text that is no thought. `thought` says whether there was one.

    `headless` says that its opening tag was missing, so that what came before the closing one is no part of `text`.
    """

    text: str = ""
    thought: bool = False
    headless: bool = False


class ThoughtFilter:
    """Gets a text in pieces and gives back what is no thought.

    With `headless` the text is taken to begin inside a thought, and nothing is given back before it ends.
    """

    def __init__(self, headless: bool = False) -> None:
        self._headless = headless
        self._text = ""
        self._given = ""

    def feed(self, piece: str) -> str:
        """The visible text that this piece settles."""
        self._text += piece
        if self._headless and not self._out_of_the_head():
            return ""
        return self._more(visible(self._text, final=False))

    def _out_of_the_head(self) -> bool:
        """Whether something follows the end of the first thought, or the text begins with a tag after all."""
        closed = CLOSING.search(self._text)
        if closed is not None and closed.end() < len(self._text):
            return True
        return re.match(rf"\s*{TAG}", self._text, re.IGNORECASE) is not None

    def close(self) -> tuple[str, Visible]:
        """The rest of the visible text, and all of it."""
        whole = visible(self._text)
        return self._more(whole), whole

    def _more(self, seen: Visible) -> str:
        """What was not given yet; nothing more once it turned out that thoughts were given."""
        if not seen.text.startswith(self._given):
            return ""
        more, self._given = seen.text[len(self._given) :], seen.text
        return more


def visible(text: str, final: bool = True) -> Visible:
    """The text without its thoughts; unless it is `final`, without an end of which more text could make a thought."""
    scan = _Scan(text, final)
    while scan.step():
        pass
    if not final and not scan.seen.text.strip():
        scan.seen.text = ""  # white space goes where a thought follows it
    return scan.seen


class _Scan:
    """Goes over a text from mark to mark: fences, backticks, tags."""

    def __init__(self, text: str, final: bool) -> None:
        self._text = text
        self._final = final
        self._at = 0
        self.seen = Visible()

    def step(self) -> bool:
        """Go on to the next mark; False at the end of what is settled."""
        mark = MARK.search(self._text, self._at)
        if mark is None:
            return self._end()
        if mark["fence"]:
            return self._fence(mark)
        if mark["ticks"]:
            return self._ticks(mark)
        return self._closing(mark) if mark["tag"].startswith("</") else self._opening(mark)

    def _show(self, upto: int) -> None:
        self.seen.text += self._text[self._at : upto]
        self._at = upto

    def _end(self) -> bool:
        held = None if self._final else UNFINISHED.search(self._text, self._at)
        self._show(held.start() if held else len(self._text))
        return False

    def _fence(self, mark: re.Match[str]) -> bool:
        """A code block, up to its closing fence or the end."""
        if not self._final and "\n" not in self._text[mark.end() :]:
            return self._hold_tags(mark.end())  # backticks further on in its line would make it no fence
        rule = mark["rule"]
        closing = re.compile(rf"^ {{0,3}}{re.escape(rule[0])}{{{len(rule)},}}[ \t]*$", re.MULTILINE)
        closed = closing.search(self._text, mark.end())
        self._show(closed.end() if closed else len(self._text))
        return closed is not None

    def _ticks(self, mark: re.Match[str]) -> bool:
        """A code span, up to backticks of the same number in the same paragraph; without those, only backticks."""
        paragraph = self._text.find("\n\n", mark.end())
        limit = len(self._text) if paragraph < 0 else paragraph
        closed = re.compile(rf"(?<!`){mark['ticks']}(?!`)").search(self._text, mark.end(), limit)
        settled = paragraph >= 0 if closed is None else closed.end() < len(self._text)  # else there may come more
        if not settled and not self._final:
            return self._hold_tags(mark.end())
        self._show(closed.end() if closed else mark.end())
        return True

    def _hold_tags(self, since: int) -> bool:
        """Show what is left up to the first tag, of which more text decides whether it is one."""
        tag = re.compile(TAG, re.IGNORECASE).search(self._text, since)
        held = tag or UNFINISHED.search(self._text, since)
        self._show(held.start() if held else len(self._text))
        return False

    def _opening(self, mark: re.Match[str]) -> bool:
        self._show(mark.start())
        begins_line = not self.seen.text.rpartition("\n")[2].strip()
        closed = CLOSING.search(self._text, mark.end())
        if closed is not None:
            self._skip(closed.end(), begins_line)
            return True
        if begins_line:
            self._skip(len(self._text), begins_line)
        elif self._final:
            self._show(mark.end())
            return True
        return False

    def _closing(self, mark: re.Match[str]) -> bool:
        before, after = self._text[self._at : mark.start()], self._text[mark.end() : mark.end() + 1]
        if not after and not self._final:
            self._show(mark.start())
            return False
        line = (self.seen.text + before).rpartition("\n")[2]
        touching = not line[-1:].isspace() and not after.isspace()
        if line.strip() and after not in {"", "\n"} and not touching:
            self._show(mark.end())
            return True
        self.seen.text = ""
        self.seen.headless = True
        self._skip(mark.end(), lines=True)
        return True

    def _skip(self, upto: int, lines: bool) -> None:
        """Leave out a thought, and the white space behind one that had lines of its own."""
        self.seen.thought = True
        self._at = upto
        if not self.seen.text.strip():
            self.seen.text = ""
        while lines and self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

"""Play `goat chat` in a pseudo-terminal of 80x24 and write what it shows into `docs/`, in colour and plain.

usage: screens.py [FOLDER]

The model is a scripted endpoint, so the pictures are the same at every run except for the times. For POSIX only.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyte
from PIL import Image, ImageDraw, ImageFont

from goat.records.models import ToolCall
from goat.testing.llm_answers import Said, Tokens, calls, says
from goat.testing.llm_server import LlmServer

DOCS = Path(__file__).resolve().parent.parent / "docs"
COLUMNS, LINES = 80, 24
PATIENCE_SECONDS = 60.0

# A terminal ---------------------------------------------------------------------------------------------------------


class Screen(pyte.Screen):
    """A screen that knows faint text, which becomes grey, and answers the program's questions about it."""

    def __init__(self, answer: Callable[[bytes], object]) -> None:
        super().__init__(COLUMNS, LINES)
        self._answer = answer

    def select_graphic_rendition(self, *attributes: int, **options: bool) -> None:
        """Take the style of what follows."""
        if options.get("private"):  # a request of another kind with the same ending
            return
        known = {2: (90,), 22: (22, 39)}
        translated = [code for attribute in attributes for code in known.get(attribute, (attribute,))]
        super().select_graphic_rendition(*translated)

    def write_process_input(self, data: str) -> None:
        """Answer a question, such as where the cursor is."""
        self._answer(data.encode())


class Terminal:
    """A program in a pseudo-terminal; `text` is what its screen shows."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.screen = Screen(lambda data: os.write(self._master, data))
        self._stream = pyte.ByteStream(self.screen)
        self._changed = threading.Condition()
        self._process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=dict(environment), start_new_session=True
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait(PATIENCE_SECONDS)
        self._reader.join(10)
        os.close(self._master)

    @property
    def text(self) -> str:
        """The lines of the screen."""
        with self._changed:
            return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def type(self, line: str) -> None:
        """Type a line and press Enter."""
        os.write(self._master, line.encode() + b"\r")

    def wait_for(self, shown: Callable[[str], bool], seconds: float = PATIENCE_SECONDS) -> str:
        """The text of the screen once a condition holds for it. Raises `TimeoutError` with what it shows instead."""
        end = time.monotonic() + seconds
        with self._changed:
            while not shown(self.text):
                left = end - time.monotonic()
                if left <= 0 or (self._process.poll() is not None and not self._reader.is_alive()):
                    raise TimeoutError(f"The screen does not show what was expected, but:\n{self.text}")
                self._changed.wait(min(left, 0.5))
            return self.text

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            with self._changed:
                self._stream.feed(data)
                self._changed.notify_all()


def goat_chat(home: Path, settings: Mapping[str, str], colour: bool) -> Terminal:
    """`goat chat` in a home, with settings as environment names."""
    inherited = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "LC_ALL"}}
    look = {"COLORTERM": "truecolor"} if colour else {"NO_COLOR": "1"}
    environment = {**inherited, "TERM": "xterm-256color", "GOAT_HOME": str(home), **look, **settings}
    return Terminal([sys.executable, "-m", "goat", "chat"], environment)


# A picture ----------------------------------------------------------------------------------------------------------

FONT = "fontpkg_jetbrains_mono"
FONT_SIZE, LINE_HEIGHT, MARGIN = 26, 35, 36
REGULAR, BOLD = 400, 700

COLOURS = {
    "default": "#d8dee9",
    "black": "#3b4252",
    "red": "#e06c75",
    "green": "#98c379",
    "brown": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": "#d8dee9",
    "brightblack": "#7f8a9d",
}


@dataclass(frozen=True)
class Look:
    """The ground of a picture, and whether it has colours."""

    ground: str = "#16181d"
    ink: str = COLOURS["default"]
    faint: str = COLOURS["brightblack"]
    colours: bool = True


COLOUR = Look()
PLAIN = Look(ground="#ffffff", ink="#1c1c1c", faint="#6f6f6f", colours=False)


def picture(screen: Any, look: Look) -> Image.Image:
    """The screen as an image, without its empty end."""
    regular, bold = _font(REGULAR), _font(BOLD)
    width = regular.getlength("M")
    used = max((row for row in range(LINES) if screen.display[row].strip()), default=0) + 1
    size = (round(COLUMNS * width) + 2 * MARGIN, used * LINE_HEIGHT + 2 * MARGIN)
    image = Image.new("RGB", size, look.ground)
    draw = ImageDraw.Draw(image)
    for row in range(used):
        for column in range(COLUMNS):
            cell = screen.buffer[row][column]
            if cell.data.strip():
                place = (MARGIN + column * width, MARGIN + row * LINE_HEIGHT)
                draw.text(place, cell.data, _ink(cell.fg, look), bold if cell.bold else regular)
    return image


def _ink(name: str, look: Look) -> str:
    if name in {"default", "white"}:
        return look.ink
    if name in {"brightblack", "black"}:
        return look.faint
    if not look.colours:
        return look.ink
    return COLOURS.get(name, f"#{name}" if len(name) == 6 else look.ink)


def _font(weight: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.truetype(str(files(FONT).joinpath("files/JetBrainsMono[wght].ttf")), FONT_SIZE)
    font.set_variation_by_axes([weight])
    return font


# The play -----------------------------------------------------------------------------------------------------------

ASKED = (
    "My boat Zefir lies in Sulina, berth 14. The harbour office closes at four.",
    "Where did I leave the boat, and when does the office close?",
    "How do I get there from Tulcea without a car?",
)
ANSWERS = (
    "Noted: Zefir is in Sulina, berth 14, and the harbour office closes at four. Safe moorings!",
    "Zefir lies in Sulina, at berth 14. The harbour office there closes at four, so be there by half past three if you "
    "want to pay for another week.",
    "Only by water, because no road leads to Sulina:\n\n"
    "  - the ferry, every day at half past one, about four hours;\n"
    "  - the fast boat, mornings, about an hour and a half.\n\n"
    "With the ferry you would arrive after the office has closed. Take the fast boat if you want to see anybody there.",
)
TOKENS = (Tokens(412, 27), Tokens(618, 38, cached=384), Tokens(790, 77, cached=576))
PACE_SECONDS = 0.03
MODELS = ("deepseek-flash",)


def answer(number: int) -> Said:
    """An answer of the play, word by word."""
    words = ANSWERS[number].split(" ")
    pieces = [word if place == 0 else f" {word}" for place, word in enumerate(words)]
    return says("", pieces=pieces).costing(TOKENS[number]).slow(first=0.3, between=PACE_SECONDS)


def settings_for(server: LlmServer) -> dict[str, str]:
    """Settings that lead to the scripted endpoint."""
    return {
        "GOAT_MODEL__PROVIDER": "deepseek",
        "DEEPSEEK_API_KEY": "scripted",
        "BASE_URL": server.base_url,
        "MODEL_NAME": MODELS[0],
    }


def play(colour: bool) -> dict[str, Image.Image]:
    """The pictures of one conversation: at its end, and while the last answer comes."""
    look = COLOUR if colour else PLAIN
    with tempfile.TemporaryDirectory() as home, LlmServer(models=MODELS, extra_fields=("thinking",)) as server:
        settings = settings_for(server)
        server.script(*(answer(number) for number in range(len(ASKED))))
        with goat_chat(Path(home), settings, colour) as terminal:
            terminal.wait_for(lambda text: "›" in text)
            for number, question in enumerate(ASKED):
                terminal.type(question)
                if number == len(ASKED) - 1:
                    terminal.wait_for(lambda text: "the ferry, every day" in text)
                    streaming = picture(terminal.screen, look)
                ended = f"{TOKENS[number].prompt:,} →"
                terminal.wait_for(lambda text, ended=ended: ended in text and text.rstrip().endswith("›"))
            return {"chat": picture(terminal.screen, look), "chat-streaming": streaming}


FILES = {"harbour.md": 4_100, "crew.md": 1_700, "old/sails.md": 12_300}
WISH = "How large are my notes on the boat, all together?"
COMMAND = "du --bytes --total notes/*.md"
FOUND = "The two notes that lie in the folder itself have 5,800 bytes together; those in `old` are not counted."


def play_tools(colour: bool) -> dict[str, Image.Image]:
    """The picture of a turn with tools, one of which the person was asked about."""
    look = COLOUR if colour else PLAIN
    with tempfile.TemporaryDirectory() as home, LlmServer(models=MODELS, extra_fields=("thinking",)) as server:
        notes = Path(home) / "workspaces" / "admin" / "notes"
        (notes / "old").mkdir(parents=True)
        for name, size in FILES.items():
            (notes / name).write_text("x" * size, encoding="utf-8")
        listing = calls(ToolCall("c1", "list_files", '{"folder": "notes"}'))
        counting = calls(ToolCall("c2", "shell_run", json.dumps({"command": COMMAND})), text="I add them up.")
        server.script(listing.costing(TOKENS[0]), counting.costing(TOKENS[1]), says(FOUND).costing(TOKENS[2]))
        with goat_chat(Path(home), settings_for(server), colour) as terminal:
            terminal.wait_for(lambda text: "›" in text)
            terminal.type(WISH)
            terminal.wait_for(lambda text: "yes / no" in text)
            terminal.type("yes")
            terminal.wait_for(lambda text: "not counted" in text and text.rstrip().endswith("›"))
            return {"chat-tools": picture(terminal.screen, look)}


def main(arguments: list[str]) -> int:
    """Write all pictures into a folder."""
    folder = Path(arguments[0]) if arguments else DOCS
    for name, colour in (("colour", True), ("plain", False)):
        for scene, image in {**play(colour), **play_tools(colour)}.items():
            path = folder / f"{scene}-{name}.png"
            image.save(path, optimize=True)
            print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

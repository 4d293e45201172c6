"""Draws messages of the fake Bot API as a telephone shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from PIL import Image, ImageDraw, ImageFont

from goat.testing.bot_api import Seen

SCALE = 2
"""Pixels of the picture for one of the telephone's; it is drawn twice as large and made smaller, which is smooth."""

DRAWN = 2 * SCALE
WIDTH, MARGIN, BUBBLE = 412, 9, 318
HEADER, INPUT, GAP, PADDING, RADIUS = 58, 50, 7, 9, 15
LINE, SIZE, SMALL = 21, 16, 12
CODE_INSET, CORNER, BETWEEN, MARK = 9, 14, 22, 36

TABLE, WALL = "#e6eaee", "#c3d6bf"
OWN, OTHERS, INK, FAINT, OWN_FAINT = "#effdde", "#ffffff", "#0f1419", "#8a969e", "#5fa457"
LINK, CODE, BLUE, GREEN, BUTTON = "#2f7fc4", "#a8324a", "#5a8fbb", "#4fae4e", (66, 98, 92, 150)
SANS, MONO = "fontpkg_roboto/files/Roboto[wdth,wght].ttf", "fontpkg_jetbrains_mono/files/JetBrainsMono[wght].ttf"


@dataclass(frozen=True, slots=True)
class Word:
    """A stretch of text of one look; `shift` says that a line ends behind it."""

    text: str
    look: str
    ends_line: bool = False


def font(name: str, size: float) -> ImageFont.FreeTypeFont:
    """One of the fonts, at a size of the telephone."""
    package, _, path = (MONO if name in {"code", "pre"} else SANS).partition("/")
    found = ImageFont.truetype(str(files(package).joinpath(path)), round(size * DRAWN))
    weight = {"bold": 700, "title": 500}.get(name, 400)
    found.set_variation_by_axes([weight] if name in {"code", "pre"} else [weight, 100])
    return found


FONTS = {
    name: font(name, 13.5 if name in {"code", "pre"} else SIZE) for name in ("text", "bold", "link", "code", "pre")
}
FONTS |= {"small": font("text", SMALL), "title": font("title", 18), "button": font("title", 14.5)}
LOOKS = {"bold": "bold", "code": "code", "pre": "pre", "bot_command": "link", "url": "link", "text_link": "link"}
INKS = {"link": LINK, "code": CODE}
DRAWN_SIGNS = {"✅": GREEN, "✖️": FAINT}
"""Signs that the fonts have not: a small square with a tick, and a cross."""


def words(seen: Seen) -> Iterator[Word]:
    """The text of a message in words, each with its look."""
    looks = ["text"] * len(seen.text)
    raw = seen.text.encode("utf-16-le")
    for entity in seen.entities:
        begin = len(raw[: 2 * entity.offset].decode("utf-16-le"))
        end = len(raw[: 2 * entity.end].decode("utf-16-le"))
        looks[begin:end] = [LOOKS.get(entity.type, "text")] * (end - begin)
    begun = ""
    for place, character in enumerate(seen.text):
        look = looks[place]
        begun += "" if character == "\n" else character
        next_look = looks[place + 1] if place + 1 < len(looks) else None
        if character in " \n" or next_look != look:
            yield Word(begun, look, ends_line=character == "\n")
            begun = ""


def lines(seen: Seen, width: float) -> list[list[Word]]:
    """The words of a message in lines no wider than `width`."""
    rows: list[list[Word]] = [[]]
    used = 0.0
    for word in words(seen):
        wide = length(word)
        room = width - 2 * CODE_INSET if word.look == "pre" else width
        if rows[-1] and used + wide > room:
            rows.append([])
            used = 0.0
        rows[-1].append(word)
        used += wide
        if word.ends_line:
            rows.append([])
            used = 0.0
    return rows if rows[-1] else rows[:-1]


def length(word: Word) -> float:
    """The width of a word on the telephone."""
    signs = sum(word.text.count(sign) for sign in DRAWN_SIGNS)
    text = word.text
    for sign in DRAWN_SIGNS:
        text = text.replace(sign, "")
    return FONTS[word.look].getlength(text) / DRAWN + signs * 19


class Drawing:
    """A picture of a chat that grows downwards."""

    def __init__(self, height: float) -> None:
        size = (WIDTH * DRAWN, round(height * DRAWN))
        self.image = Image.new("RGB", size, WALL)
        self._draw = ImageDraw.Draw(self.image, "RGBA")

    def box(self, x: float, y: float, w: float, h: float, colour: object, radius: float = 0) -> None:
        """A filled rectangle with round corners."""
        corners = [round(v * DRAWN) for v in (x, y, x + w, y + h)]
        self._draw.rounded_rectangle(corners, radius * DRAWN, fill=colour)  # type: ignore[arg-type]

    def shape(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """A filled polygon."""
        self._draw.polygon([(x * DRAWN, y * DRAWN) for x, y in points], fill=colour)

    def line(self, points: Sequence[tuple[float, float]], colour: str, width: float) -> None:
        """A line with round joints."""
        scaled = [(x * DRAWN, y * DRAWN) for x, y in points]
        self._draw.line(scaled, fill=colour, width=round(width * DRAWN), joint="curve")

    def circle(self, x: float, y: float, radius: float, colour: str) -> None:
        """A filled circle around a point."""
        corners = [v * DRAWN for v in (x - radius, y - radius, x + radius, y + radius)]
        self._draw.ellipse(corners, fill=colour)

    def text(self, x: float, y: float, text: str, look: str, colour: str, anchor: str = "ls") -> None:
        """A text whose base line begins at a point, or that the point is the middle of."""
        self._draw.text((x * DRAWN, y * DRAWN), text, colour, FONTS[look], anchor=anchor)

    def word(self, x: float, y: float, word: Word) -> None:
        """A word on a base line, with the signs that the fonts have not."""
        rest = word.text
        while rest:
            sign = next((sign for sign in DRAWN_SIGNS if rest.startswith(sign)), "")
            if sign:
                self.sign(x, y, sign)
                x, rest = x + 19, rest[len(sign) :]
                continue
            end = min((place for one in DRAWN_SIGNS if (place := rest.find(one)) > 0), default=len(rest))
            self.text(x, y, rest[:end], word.look, INKS.get(word.look, INK))
            x, rest = x + FONTS[word.look].getlength(rest[:end]) / DRAWN, rest[end:]

    def sign(self, x: float, y: float, sign: str) -> None:
        """A tick in a green square, or a grey cross."""
        if sign == "✅":
            self.box(x, y - 13, 15, 15, DRAWN_SIGNS[sign], 3.5)
            self.line([(x + 3.6, y - 5.4), (x + 6.4, y - 2.4), (x + 11.6, y - 9.4)], "#ffffff", 2)
            return
        self.line([(x + 3, y - 11), (x + 12, y - 1)], "#f0f3f4", 2.4)
        self.line([(x + 12, y - 11), (x + 3, y - 1)], "#f0f3f4", 2.4)

    def ticks(self, x: float, y: float, colour: str) -> None:
        """The two ticks of a message that was read."""
        for shift in (0.0, 4.4):
            self.line([(x + shift, y - 4), (x + shift + 2.8, y - 1), (x + shift + 8, y - 8)], colour, 1.3)


@dataclass(frozen=True, slots=True)
class Bubble:
    """A message with its lines and measures."""

    seen: Seen
    rows: list[list[Word]]
    width: float
    height: float

    @property
    def whole(self) -> float:
        """The height with the buttons and the gap below."""
        return self.height + len(self.seen.buttons) * 43 + GAP


FILE_HEIGHT = 56
TIME_WIDTH, OWN_TIME_WIDTH = 42, 58


def bubble(seen: Seen) -> Bubble:
    """The measures of a message: its lines, with room for the time at the end of the last or below it."""
    rows = lines(seen, BUBBLE - 2 * PADDING)
    inset = [2 * CODE_INSET if row and row[0].look == "pre" else 0 for row in rows]
    wide = [sum(map(length, row)) + more for row, more in zip(rows, inset, strict=True)]
    time = TIME_WIDTH if seen.from_bot else OWN_TIME_WIDTH
    beside = bool(rows) and wide[-1] + time + 6 <= BUBBLE - 2 * PADDING and rows[-1][0].look != "pre"
    inner = max([*wide, wide[-1] + time + 6 if beside else time, 190 if seen.media or seen.buttons else 0])
    height = len(rows) * LINE + (0 if beside else 16) + (FILE_HEIGHT if seen.media else 0)
    return Bubble(seen, rows, min(inner, BUBBLE - 2 * PADDING) + 2 * PADDING, height + 2 * PADDING - 4)


def draw_bubble(on: Drawing, one: Bubble, y: float) -> None:
    """A message at a height, the bot's on the left."""
    seen, x = one.seen, MARGIN if one.seen.from_bot else WIDTH - MARGIN - one.width
    colour, faint = (OTHERS, FAINT) if seen.from_bot else (OWN, OWN_FAINT)
    bottom = y + one.height
    on.box(x, y + 1, one.width, one.height, (60, 80, 70, 46), RADIUS)
    on.box(x, y, one.width, one.height, colour, RADIUS)
    tail, tip = (x + 12, x - 5) if seen.from_bot else (x + one.width - 12, x + one.width + 5)
    on.shape([(tail, bottom - 14), (tail, bottom), (tip, bottom)], colour)
    row_y = y + PADDING - 3
    if seen.media is not None:
        _draw_file(on, seen, x + PADDING, row_y + 3, faint)
        row_y += FILE_HEIGHT
    _shade_code(on, one, x, row_y)
    for row in one.rows:
        word_x = x + PADDING + (CODE_INSET if row and row[0].look == "pre" else 0)
        for word in row:
            on.word(word_x, row_y + 16, word)
            word_x += length(word)
        row_y += LINE
    end = x + one.width - PADDING
    if not seen.from_bot:
        on.ticks(end - 13, bottom - 6, OWN_FAINT)
        end -= 17
    on.text(end, bottom - 7, f"{seen.at:%H:%M}", "small", faint, "rs")
    _draw_buttons(on, one, x, bottom + 4)


def _shade_code(on: Drawing, one: Bubble, x: float, y: float) -> None:
    """The ground of a block of code, with its bar on the left."""
    rows = [place for place, row in enumerate(one.rows) if row and row[0].look == "pre"]
    if rows:
        top, height = y + rows[0] * LINE - 1, len(rows) * LINE + 4
        on.box(x + PADDING, top, one.width - 2 * PADDING, height, "#eef3f7", 5)
        on.box(x + PADDING, top, 3.2, height, BLUE, 1.6)


def _draw_file(on: Drawing, seen: Seen, x: float, y: float, faint: str) -> None:
    assert seen.media is not None
    on.circle(x + 22, y + 23, 22, GREEN)
    on.line([(x + 22, y + 13), (x + 22, y + 31)], "#ffffff", 2.6)
    on.line([(x + 15, y + 25), (x + 22, y + 32), (x + 29, y + 25)], "#ffffff", 2.6)
    on.text(x + 54, y + 20, seen.media.file.name or "", "bold", INK)
    on.text(x + 54, y + 39, f"{seen.media.file.size / 1000:.1f} KB", "small", faint)


def _draw_buttons(on: Drawing, one: Bubble, x: float, y: float) -> None:
    for row in one.seen.buttons:
        width = (one.width - 4 * (len(row) - 1)) / len(row)
        for place, label in enumerate(row):
            left = x + place * (width + 4)
            on.box(left, y, width, 39, BUTTON, 9)
            on.text(left + width / 2, y + 20, label, "button", "#ffffff", "mm")
        y += 43


def _draw_header(on: Drawing) -> None:
    on.box(0, 0, WIDTH, HEADER, "#527da3")
    on.line([(30, 29), (14, 29)], "#ffffff", 2.2)
    on.line([(21, 22), (14, 29), (21, 36)], "#ffffff", 2.2)
    on.circle(70, 29, 20, "#e8a33d")
    on.text(70, 30, "G", "title", "#ffffff", "mm")
    on.text(104, 26, "GOAT", "title", "#ffffff")
    on.text(104, 44, "bot", "small", "#c9dcec")
    for place in (22, 29, 36):
        on.circle(WIDTH - 20, place, 1.9, "#ffffff")


def _draw_input(on: Drawing, y: float) -> None:
    on.box(0, y, WIDTH, INPUT, "#ffffff")
    on.line([(14, y + 18), (28, y + 18)], BLUE, 2.2)
    on.line([(14, y + 25), (28, y + 25)], BLUE, 2.2)
    on.line([(14, y + 32), (28, y + 32)], BLUE, 2.2)
    on.text(46, y + 31, "Message", "text", "#a3adb4")
    on.box(WIDTH - 32, y + 13, 9, 16, FAINT, 4.5)
    on.line([(WIDTH - 36, y + 24), (WIDTH - 35, y + 30), (WIDTH - 20, y + 30), (WIDTH - 19, y + 24)], FAINT, 1.8)
    on.line([(WIDTH - 27.5, y + 31), (WIDTH - 27.5, y + 36)], FAINT, 2)


def _days(shown: Sequence[Seen]) -> Iterator[tuple[str, Bubble]]:
    """The messages; the first of a day with its date."""
    last = None
    for seen in shown:
        day = seen.at.date()
        yield (f"{seen.at:%B} {seen.at.day}" if day != last else ""), bubble(seen)
        last = day


Item = tuple[str, Bubble]


def _height(items: Sequence[Item]) -> float:
    return sum(one.whole + (MARK if day else 0) for day, one in items)


def _in_two(items: Sequence[Item]) -> int:
    """Where the messages are parted so that both parts are about equally high."""
    return min(range(1, len(items)), key=lambda place: abs(_height(items[:place]) - _height(items[place:])))


def _telephone(items: Sequence[Item], height: float) -> Image.Image:
    """Some messages above the field in which one writes, as far down as they go."""
    on = Drawing(height)
    _draw_header(on)
    y = height - INPUT - 4 - _height(items)
    for day, one in items:
        if day:
            wide = FONTS["button"].getlength(day) / DRAWN + 20
            on.box((WIDTH - wide) / 2, y + 4, wide, 24, (72, 108, 92, 120), 12)
            on.text(WIDTH / 2, y + 16.5, day, "button", "#ffffff", "mm")
            y += MARK
        draw_bubble(on, one, y)
        y += one.whole
    _draw_input(on, height - INPUT)
    shape = Image.new("L", on.image.size)
    edge = (0, 0, on.image.width - 1, on.image.height - 1)
    ImageDraw.Draw(shape).rounded_rectangle(edge, CORNER * DRAWN, fill=255)
    on.image.putalpha(shape)
    return on.image


def picture(shown: Sequence[Seen]) -> Image.Image:
    """The messages on two telephones side by side, the second going on where the first ends."""
    items = list(_days(shown))
    place = _in_two(items)
    parts = items[:place], items[place:]
    height = HEADER + 8 + max(map(_height, parts)) + 4 + INPUT
    size = ((2 * WIDTH + 3 * BETWEEN) * DRAWN, round((height + 2 * BETWEEN) * DRAWN))
    both = Image.new("RGB", size, TABLE)
    for number, part in enumerate(parts):
        one = _telephone(part, height)
        both.paste(one, ((BETWEEN + number * (WIDTH + BETWEEN)) * DRAWN, BETWEEN * DRAWN), one)
    small = both.resize((both.width * SCALE // DRAWN, both.height * SCALE // DRAWN), Image.Resampling.LANCZOS)
    return small.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)

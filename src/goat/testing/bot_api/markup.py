"""The parse modes: HTML, MarkdownV2 and the old Markdown, with the sentences in which Telegram refuses them."""

from __future__ import annotations

import html
import re
from typing import Final

from goat.testing.bot_api.entities import TextEntity, check_link, units
from goat.testing.bot_api.errors import ApiError, bad_request

_TAGS: Final = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em"), "italic"),
    **dict.fromkeys(("u", "ins"), "underline"),
    **dict.fromkeys(("s", "strike", "del"), "strikethrough"),
    "tg-spoiler": "spoiler",
    "blockquote": "blockquote",
    "code": "code",
    "pre": "pre",
    "a": "text_link",
}
_HTML: Final = re.compile(r"<(/?)([^\s>]*)([^>]*)>|&(?:lt|gt|amp|quot|#\d+|#x[0-9a-fA-F]+);|[^<&]+|[<&]")
_V2_MARKS: Final = {
    "```": "pre",
    "`": "code",
    "__": "underline",
    "_": "italic",
    "||": "spoiler",
    "*": "bold",
    "~": "strikethrough",
}
_V2_RESERVED: Final = "])(>#+-=|{}.!"
_V2_SPECIAL: Final = re.escape(f"*_~`[{_V2_RESERVED}")
_V2: Final = re.compile(rf"\\[\x01-\x7e]|```|__|\|\||[{_V2_SPECIAL}]|[^\\{_V2_SPECIAL}]+|\\")
_OLD_MARKS: Final = {"```": "pre", "`": "code", "_": "italic", "*": "bold"}
_OLD: Final = re.compile(r"\\[_*`\[]|```|[*_`\[\]]|[^\\*_`\[\]]+|\\")
_ADDRESS: Final = re.compile(r"\]\(([^)\s]*)\)")


def parsed(text: str, mode: str) -> tuple[str, list[TextEntity]]:
    """The text without its markup, and the entities. Raises `ApiError` for markup that does not close."""
    match mode.lower():
        case "html":
            return _parsed_html(text)
        case "markdownv2":
            return _parsed_marks(text, _V2, _V2_MARKS)
        case "markdown":
            return _parsed_marks(text, _OLD, _OLD_MARKS)
    raise bad_request("unsupported parse_mode")


def _refusal(problem: str) -> ApiError:
    return bad_request(f"can't parse entities: {problem}")


def _byte(text: str, position: int) -> int:
    return len(text[:position].encode())


def _parsed_html(text: str) -> tuple[str, list[TextEntity]]:
    plain = ""
    entities: list[TextEntity] = []
    open_tags: list[tuple[str, int, str]] = []
    for found in _HTML.finditer(text):
        piece, where = found[0], _byte(text, found.start())
        if found[2] is None:
            if piece == "<":
                raise _refusal(f"Unclosed start tag at byte offset {where}")
            plain += html.unescape(piece) if piece.startswith("&") else piece
        elif found[1]:
            entities += _closed(open_tags, found[2].lower(), units(plain), where)
        elif found[2].lower() not in _TAGS:
            raise _refusal(f'Unsupported start tag "{found[2]}" at byte offset {where}')
        else:
            open_tags.append((found[2].lower(), units(plain), found[3]))
    if open_tags:
        raise _refusal(f'Can\'t find end tag corresponding to start tag "{open_tags[-1][0]}"')
    return plain, entities


def _closed(open_tags: list[tuple[str, int, str]], tag: str, end: int, where: int) -> list[TextEntity]:
    """The entity that an end tag completes."""
    if not open_tags:
        raise _refusal(f"Unexpected end tag at byte offset {where}")
    opened, begin, attributes = open_tags.pop()
    if opened != tag:
        raise _refusal(f'Unmatched end tag at byte offset {where}, expected "</{opened}>", found "</{tag}>"')
    url = re.search(r"""href\s*=\s*["']?([^"'\s>]+)""", attributes)
    if tag == "a" and not url:
        return []
    if url:
        check_link(html.unescape(url[1]))
    kind = "expandable_blockquote" if tag == "blockquote" and "expandable" in attributes else _TAGS[tag]
    return [TextEntity(kind, begin, end - begin, url=html.unescape(url[1]) if url else None)]


def _parsed_marks(text: str, grammar: re.Pattern[str], marks: dict[str, str]) -> tuple[str, list[TextEntity]]:
    """Both Markdowns: marks that open and close, a backslash before a literal one, `[text](address)`."""
    plain = ""
    entities: list[TextEntity] = []
    open_marks: list[tuple[str, int, int]] = []
    position = 0
    while position < len(text):
        found = grammar.match(text, position)
        assert found is not None
        piece, where, position = found[0], _byte(text, position), found.end()
        innermost = open_marks[-1][0] if open_marks else ""
        if innermost in ("`", "```") and piece != innermost:
            plain += piece[1:] if len(piece) == 2 and piece[0] == "\\" else piece
        elif piece == innermost:
            begin = open_marks.pop()[1]
            entities.append(TextEntity(marks[piece], begin, units(plain) - begin))
        elif piece in marks or piece == "[":
            open_marks.append((piece, units(plain), where))
        elif innermost == "[" and (address := _ADDRESS.match(text, found.start())):
            begin = open_marks.pop()[1]
            entities.append(TextEntity("text_link", begin, units(plain) - begin, url=address[1]))
            position = address.end()
        elif marks is _V2_MARKS and len(piece) == 1 and piece in _V2_RESERVED:
            raise _refusal(f"Character '{piece}' is reserved and must be escaped with the preceding '\\'")
        else:
            plain += piece[1:] if len(piece) == 2 and piece[0] == "\\" else piece
    if open_marks:
        raise _unclosed(open_marks[-1], marks)
    return plain, entities


def _unclosed(mark: tuple[str, int, int], marks: dict[str, str]) -> ApiError:
    if marks is _OLD_MARKS:
        return _refusal(f"Can't find end of the entity starting at byte offset {mark[2]}")
    name = {"pre": "Pre", "text_link": "TextUrl"}.get(kind := marks.get(mark[0], "text_link"), kind.capitalize())
    return _refusal(f"Can't find end of {name} entity at byte offset {mark[2]}")

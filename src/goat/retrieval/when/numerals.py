"""Numbers written in Chinese characters, as Chinese and Japanese dates use them."""

from __future__ import annotations

_DIGITS = {sign: value for value, sign in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_TENS = {"十": 10, "百": 100}

NUMERALS = frozenset(_DIGITS) | frozenset(_TENS)


def numeral(signs: str) -> int | None:
    """The value of a number such as 二十三, 百五 or, digit by digit, 二〇二六; None for what is none."""
    if not any(sign in _TENS for sign in signs):
        return int("".join(str(_DIGITS[sign]) for sign in signs)) if len(signs) in (1, 4) else None
    total = digit = 0
    last_scale = 1000
    for sign in signs:
        scale = _TENS.get(sign)
        if scale is None:
            if digit:
                return None
            digit = _DIGITS[sign]
        elif scale >= last_scale:
            return None
        else:
            total, digit, last_scale = total + (digit or 1) * scale, 0, scale
    return total + digit

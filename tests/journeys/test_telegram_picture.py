"""The conversation of the picture in the README, as the bot holds it."""

from __future__ import annotations

import telegram_picture
import telephone


async def test_the_conversation_of_the_picture_is_held_and_drawn() -> None:
    shown = await telegram_picture.play()
    said = [seen.text for seen in shown if seen.from_bot]
    assert said[0] == "Noted: Zefir lies in Sulina at berth 14, and the harbour office there closes at four."
    assert "• the ferry, 13:30" in said[1]
    assert said[2].startswith("May this run?\n\nshell_run\n  command: pdftotext")
    assert said[2].endswith("✅ Allowed.")
    assert said[3] == "The new sail comes to 1,240 EUR, to be paid by 14 March."
    assert said[4].startswith("2 messages:")
    assert [seen.buttons for seen in shown if seen.buttons] == [(("Forget for good", "Keep"),)]
    image = telephone.picture(shown)
    assert image.width > 2 * telephone.WIDTH
    assert image.getcolors(256) is not None

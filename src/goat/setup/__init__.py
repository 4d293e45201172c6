"""Setup: which model GOAT talks to, asked once and written to `goat2.toml` and `.env`."""

from goat.setup.answers import Answers, answers_of, outranked
from goat.setup.ollama import find_ollama
from goat.setup.prompts import Choice, NobodyToAsk, Prompts, SetupCancelled, TerminalPrompts
from goat.setup.wizard import AlreadySetUp, Check, offer_setup, run_wizard, wants_setup
from goat.setup.write import write_answers

__all__ = [
    "AlreadySetUp",
    "Answers",
    "Check",
    "Choice",
    "NobodyToAsk",
    "Prompts",
    "SetupCancelled",
    "TerminalPrompts",
    "answers_of",
    "find_ollama",
    "offer_setup",
    "outranked",
    "run_wizard",
    "wants_setup",
    "write_answers",
]

"""GOAT 2.0: a personal AI agent with a proactive, layered memory."""

__version__ = "0.1.0"

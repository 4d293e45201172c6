"""Telegram as a front door."""

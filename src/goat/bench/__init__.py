"""Benchmarks: every figure that the README shows comes from a command here."""

"""The `goat` command, one module per group of commands."""

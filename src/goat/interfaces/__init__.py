"""The front doors: where people talk to GOAT."""

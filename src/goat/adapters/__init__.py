"""Implementations of the ports, one module per port and backend: `<port>_<backend>.py`."""

"""What the core needs from the outside, as small protocols. Each docstring is a promise that every adapter keeps."""

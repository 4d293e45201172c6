"""The life of a turn: from a committed message to a committed reply, and the search that follows it."""

"""What GOAT remembers. `facade.MemoryLayers` is the only door."""

"""The bundled tools. They come through the same door as a person's own: a module with `build(registry)`."""

"""Template files of the generated text."""

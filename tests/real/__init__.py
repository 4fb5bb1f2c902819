"""Real tokenizers and models out of Python packages, for tests."""

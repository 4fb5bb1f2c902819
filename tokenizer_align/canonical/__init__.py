"""Canonical tokenizations: what the tokenizer itself would give for the whole text."""

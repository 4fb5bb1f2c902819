"""From masks to verified tokens: the decode loop, draft sources, verification, sampling, caches and statistics."""

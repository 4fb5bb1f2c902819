"""The engines of this process: one for each vocabulary in use, and one for its constraints with markers."""

from __future__ import annotations

import threading
import weakref

from .engine import Engine
from .vocabulary import Vocabulary

_engines: weakref.WeakValueDictionary[str, Engine] = weakref.WeakValueDictionary()
_engines_lock = threading.Lock()


def engine_for(vocabulary: Vocabulary, kind: type[Engine] = Engine) -> Engine:
    """The engine of a vocabulary; equal vocabularies share one of a kind as long as somebody holds it."""
    with _engines_lock:
        engine = _engines.get(vocabulary.fingerprint + kind.key)
        if engine is None:
            engine = kind(vocabulary)
            _engines[vocabulary.fingerprint + kind.key] = engine
        return engine

"""The engines of this process: one for each vocabulary in use."""

from __future__ import annotations

import threading
import weakref

from .engine import Engine
from .vocabulary import Vocabulary

_engines: weakref.WeakValueDictionary[str, Engine] = weakref.WeakValueDictionary()
_engines_lock = threading.Lock()


def engine_for(vocabulary: Vocabulary) -> Engine:
    """The engine of a vocabulary; equal vocabularies share one as long as somebody holds it."""
    with _engines_lock:
        engine = _engines.get(vocabulary.fingerprint)
        if engine is None:
            engine = Engine(vocabulary)
            _engines[vocabulary.fingerprint] = engine
        return engine

"""Which law of tokenization a vocabulary can be held to, and the tables for it, made once an engine.

The laws need the tokenizer's own rules. Where those are unknown, or nothing bounds how far ahead they look, "aligned"
gives way to "any" and says why; "canonical" is refused.
"""

from __future__ import annotations

import threading
import weakref

from ..compiled import Compiled
from ..engine import Engine
from ..engines import engine_for
from ..errors import InvalidOption, VocabularyError
from ..expressions import Expr
from ..marked_engine import MarkedEngine
from ..vocabulary import Vocabulary
from .forced_tokens import may_force
from .laws import AlignedCompiled, CanonicalCompiled
from .pairs import Pairs
from .pre_tokens import PreTokens, spelled_contents
from .rules import TokenizationRules
from .survival import Survival
from .token_paths import TokenPaths
from .unigram_endings import Endings
from .unigram_laws import UnigramAlignedCompiled, UnigramCanonicalCompiled, UnigramSurvival

TOKENIZATIONS = ("any", "aligned", "canonical")

_limits: dict[str, str | None] = {}  # by the vocabulary's fingerprint
_latest: dict[str, PreTokens] = {}  # one at most, likewise
_lock = threading.Lock()


def why_not(vocabulary: Vocabulary) -> str | None:
    """Why only "any" can be had with a vocabulary; None where all three laws can."""
    key = vocabulary.fingerprint
    if key not in _limits:
        with _lock:
            _limits[key] = _why_not(vocabulary)
    return _limits[key]


def _why_not(vocabulary: Vocabulary) -> str | None:
    rules = vocabulary.rules
    if rules is None:
        return "how its tokenizer splits and merges text is not known"
    if not vocabulary.is_atomic:
        return "some byte of its tokens is no token by itself"
    try:
        pre_tokens = _pre_tokens_for(vocabulary, rules)
    except VocabularyError as error:
        return str(error)
    if rules.family == "unigram" and not pre_tokens.may_cut:
        return "its Unigram model reads every text as one piece, so that no place of a text settles what follows"
    return None


def survival_for(engine: Engine, may_force: bool = False) -> Survival:
    """The tables of an engine's vocabulary, for which `why_not` gives None; `may_force`: for constraints that may force
    a text to spell a special token."""
    with _lock:
        made: dict[bool, Survival] = engine.survivals
        if may_force not in made:
            rules = _rules_for(engine.vocabulary)
            if isinstance(rules.pairs, Pairs):
                made[may_force] = Survival(engine, rules.paths, rules.pairs, may_force)
            else:
                made[may_force] = UnigramSurvival(engine, rules.paths, rules.pairs, may_force)
            made[may_force].kept_with = rules
        return made[may_force]


class _Rules:
    """What the tables of all engines of a vocabulary have in common: kept as long as one of them."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        rules = vocabulary.rules
        assert rules is not None
        self.pairs = _pairs_for(vocabulary, rules)
        pre_tokens = _pre_tokens_for(vocabulary, rules)
        _latest.clear()  # `paths` keeps it from now on
        self.paths = TokenPaths(pre_tokens, vocabulary.token_bytes, self.pairs.never, vocabulary.texts)


def _pre_tokens_for(vocabulary: Vocabulary, rules: TokenizationRules) -> PreTokens:
    """The lock is held. Who asks which law there is wants the tables next: the automaton is read once for both."""
    if vocabulary.fingerprint not in _latest:
        found = PreTokens.for_rules(rules, vocabulary.token_bytes, texts=vocabulary.texts)
        _latest.clear()
        _latest[vocabulary.fingerprint] = found
    return _latest[vocabulary.fingerprint]


def _pairs_for(vocabulary: Vocabulary, rules: TokenizationRules) -> Pairs | Endings:
    if rules.family == "unigram":
        return Endings(rules, vocabulary.token_bytes, vocabulary.trie, vocabulary.n_rows)
    return Pairs(rules, vocabulary.token_bytes, vocabulary.n_rows, texts=vocabulary.texts)


def _rules_for(vocabulary: Vocabulary) -> _Rules:
    """The lock is held."""
    found = _rules.get(vocabulary.fingerprint)
    if found is None:
        found = _rules[vocabulary.fingerprint] = _Rules(vocabulary)
    return found


_rules: weakref.WeakValueDictionary[str, _Rules] = weakref.WeakValueDictionary()


def compile_under_law(expr: Expr, vocabulary: Vocabulary, tokenization: str, marked: bool = False) -> Compiled:
    """Compile under a law of tokenization; `marked`: the expression holds markers or limits.

    Raises InvalidOption for a law that does not exist, or for "canonical" where the vocabulary cannot be held to it.
    """
    if tokenization not in TOKENIZATIONS:
        raise InvalidOption(
            tokenization, f"tokenization={tokenization!r} does not exist; there is {TOKENIZATIONS}.", TOKENIZATIONS
        )
    kind = MarkedEngine if marked else Engine
    if tokenization == "any":
        return Compiled(expr, vocabulary, engine_for(vocabulary, kind))
    reason = why_not(vocabulary)
    if reason is not None and tokenization == "canonical":
        raise InvalidOption(
            "tokenization",
            f'tokenization="canonical" cannot be had with {vocabulary.name}: {reason}. Use "aligned" or "any".',
        )
    if reason is not None:
        compiled = Compiled(expr, vocabulary, engine_for(vocabulary, kind))
        compiled.law_note = f'{vocabulary.name} allows only tokenization="any": {reason}'
        return compiled
    engine = engine_for(vocabulary, kind)
    assert vocabulary.rules is not None
    law: type[AlignedCompiled | CanonicalCompiled]
    if vocabulary.rules.family == "unigram":
        law = UnigramAlignedCompiled if tokenization == "aligned" else UnigramCanonicalCompiled
    else:
        law = AlignedCompiled if tokenization == "aligned" else CanonicalCompiled
    with engine.lock:
        read = engine.project(expr) if marked else expr
    return law(expr, vocabulary, engine, survival_for(engine, may_force(read, spelled_contents(vocabulary.rules))))

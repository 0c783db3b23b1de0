"""Brings the forms of an English word together: crashes, crashed and crashing are `crash`."""

from __future__ import annotations

import re
from functools import lru_cache

SHORTEST = 4
"""Letters below which a word is left as it is."""
_LETTERS = re.compile(r"[a-z]{4,40}")
_VOWEL = re.compile(r"[aeiouy]")
_NOT_PLURAL = ("ss", "us", "is")
_KEPT_DOUBLE = "lsz"


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """The word without a plural's, a past's or an -ing's ending; other words as they are.

    What is left need not be a word ("creat"): it is only compared with other stems.
    """
    if not _LETTERS.fullmatch(word):
        return word
    if word.endswith("ies") and len(word) > SHORTEST:
        word = f"{word[:-3]}y"
    elif word.endswith("s") and not word.endswith(_NOT_PLURAL):
        word = word[:-1]
    for ending in ("ing", "ed"):
        bare = word.removesuffix(ending)
        if bare != word and len(bare) >= SHORTEST - 1 and _VOWEL.search(bare):
            word = bare
            if len(word) >= SHORTEST and word[-1] == word[-2] and word[-1] not in _KEPT_DOUBLE:
                word = word[:-1]
            break
    if len(word) >= SHORTEST and word.endswith("e"):
        word = word[:-1]
    return word

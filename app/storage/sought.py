"""Understands a query: its terms with what each is worth, its quotations, the steps it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.storage.excerpts import Needle
from app.storage.search_text import UNSPACED, Tokens, fold, query_tokens, spell, tokenise
from app.storage.stems import stem

FUNCTION_WORD = 0.2
"""Worth of an English word that only holds a sentence together, against 1 of any other."""
PART = 0.5
"""Worth of a part or a simpler spelling of a word that is asked for whole as well."""
CHARACTER = 0.2
"""Worth of one character of a script without spaces, where pairs of them are asked for."""
STEM = 0.15
"""Worth of another form of an English word that is asked for: crashed, where crashes is."""
CODE = 1.2
"""Worth of an exact code: nobody writes one by chance."""
MAX_NAMED = 20
"""Steps that a query may name by their numbers."""
MAX_PHRASE = 16
"""Words beyond which nobody means a phrase."""
MAX_QUOTES = 5

FUNCTION_WORDS = frozenset(
    "a about above after again all also although am an and any are as at be because been before"
    " being below between both but by can could did do does doing down during each either else for"
    " from further had has have having he her here hers herself him himself his how i if in into is"
    " it its itself just may me might mine must my myself neither no nor not of off on once only"
    " onto or other our ours ourselves out over own same shall she should since so some such than"
    " that the their theirs them themselves then there these they this those though through to too"
    " under until up upon us very was we were what when where whether which while who whom whose"
    " why will with within without would you your yours yourself".split()
)
"""Closed-class words of English: articles, pronouns, prepositions, conjunctions, auxiliaries."""
_FUNCTION_STEMS = frozenset(map(stem, FUNCTION_WORDS))
_STEPS = re.compile(
    r"\bsteps?\s+(\d{1,6})(?:\s*(?:-|–|to|through|and)\s*(\d{1,6}))?"
    r"|第\s*(\d{1,6})\s*(?:[到至-]\s*第?\s*(\d{1,6})\s*)?步",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'[“„«"「『]([^“”„«»"「」『』]{2,100})[”“»"」』]')
_IN_WORD = re.compile(f"[^\\W{UNSPACED}]")
_UNSPACED = re.compile(f"[{UNSPACED}]")


class Phrase:
    """A text to be found where it is not part of a longer word; scripts without spaces have none.

    No regular expression of its own: to compile one for every query would cost more than the look.
    """

    def __init__(self, folded: str) -> None:
        self.folded = folded
        self._begins = _in_word(folded[:1])
        self._ends = _in_word(folded[-1:])

    def within(self, folded: str) -> bool:
        at = folded.find(self.folded) if self.folded else -1
        while at >= 0:
            end = at + len(self.folded)
            before = self._begins and at > 0 and _in_word(folded[at - 1])
            if not before and not (self._ends and _in_word(folded[end : end + 1])):
                return True
            at = folded.find(self.folded, at + 1)
        return False


@dataclass(frozen=True)
class Term:
    """One word of the query as the index spells it."""

    token: str
    worth: float

    @property
    def telling(self) -> bool:
        """Says something by itself."""
        return self.worth != FUNCTION_WORD


@dataclass(frozen=True)
class Sought:
    """A query, ready to be looked up and compared with texts."""

    terms: tuple[Term, ...]
    phrase: Phrase
    words: tuple[str, ...]
    """All words in order as the index spells them."""
    quotes: tuple[str, ...]
    """Quoted parts, folded."""
    quoted_words: tuple[tuple[str, ...], ...]
    """The words of each of them as the index spells them."""
    steps: tuple[int, ...]
    """Steps that the query names."""
    needles: tuple[Needle, ...]
    """What an excerpt should show."""

    @classmethod
    def of(cls, query: str) -> Sought:
        tokens, whole = query_tokens(query), fold(query)
        quotes = tuple(dict.fromkeys(_QUOTED.findall(query)))[:MAX_QUOTES]
        return cls(
            terms=tuple(_terms(query, tokens)),
            phrase=Phrase(whole),
            words=tuple(map(spell, tokens.words)),
            quotes=tuple(map(fold, quotes)),
            quoted_words=tuple(tuple(map(spell, tokenise(q).words)) for q in quotes),
            steps=tuple(_named_steps(query)),
            needles=tuple(_needles(whole, quotes, tokens)),
        )


def _terms(query: str, tokens: Tokens) -> Iterator[Term]:
    worth: dict[str, float] = {}
    for code in tokens.codes:
        worth[code] = CODE if len(code) > 2 else 1.0
    for word in tokens.words:
        worth.setdefault(word, FUNCTION_WORD if word in FUNCTION_WORDS else 1.0)
    for form in tokens.forms:
        worth.setdefault(form, PART)
    for form in tokens.stems:
        if form not in _FUNCTION_STEMS:
            worth.setdefault(form, STEM)
    if any(len(word) == 2 and _UNSPACED.match(word) for word in tokens.words):
        for form in tokenise(query[:200]).forms:
            if len(form) == 1:
                worth.setdefault(form, CHARACTER)
    return (Term(spell(token), value) for token, value in worth.items())


def _needles(whole: str, quotes: tuple[str, ...], tokens: Tokens) -> Iterator[Needle]:
    yield Needle(whole, 20)
    yield from (Needle(fold(quote), 10) for quote in quotes)
    yield from (Needle(code, 5) for code in tokens.codes)
    for word in dict.fromkeys(tokens.words):
        if word not in FUNCTION_WORDS:
            yield Needle(word, 2)
    yield from (Needle(form, 1) for form in (*tokens.forms, *tokens.stems))


def _named_steps(query: str) -> Iterator[int]:
    """The steps of "step 12", "steps 4 to 7", "第 3 步"."""
    found: dict[int, None] = {}
    for match in _STEPS.finditer(query[:2_000]):
        first, last = (int(n) for n in (match[1] or match[3], match[2] or match[4] or "0"))
        found.update(dict.fromkeys(range(first, max(first, min(last, first + MAX_NAMED)) + 1)))
    return iter(list(found)[:MAX_NAMED])


def _in_word(character: str) -> bool:
    return _IN_WORD.fullmatch(character) is not None

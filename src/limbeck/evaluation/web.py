"""Word tasks as word-embeddings-benchmarks ("web") scores them, for figures that were published with it.

Vectors are lower-cased and made of length 1 when they are loaded, every missing word is the mean of all vectors,
nothing is left out; questions of analogies are lower-cased and lose what is neither letter nor digit, - or _;
relations are scored by product over all 79; categories by the best of six clusterings (docs/fidelity.md §6). See
`docs/evaluate.md` for what that does to a score.
"""

from __future__ import annotations

from limbeck.vectors.nearest import unit_rows
from limbeck.vectors.static import StaticVectors


def as_loaded(vectors: StaticVectors) -> StaticVectors:
    """Words in lower case, of those that then are alike the one that was already so, else the first; unit vectors.

    >>> loaded = as_loaded(StaticVectors(["Cup", "cup", "Mug"], [[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]]))
    >>> loaded.words, loaded.matrix.round(1).tolist()
    (['cup', 'mug'], [[0.0, 1.0], [0.6000000238418579, 0.800000011920929]])
    """
    rows: dict[str, int] = {}
    for row, word in enumerate(vectors.words):
        lower = word.lower()
        if lower not in rows or word == lower:
            rows[lower] = row
    chosen = sorted(rows.items(), key=lambda item: item[1])
    matrix = unit_rows(vectors.matrix[[row for _, row in chosen]])
    return StaticVectors([word for word, _ in chosen], matrix, notes=vectors.notes)


def spell(word: str) -> str:
    """A question's word as it is looked up.

    >>> spell("Boy's"), spell("mother-in-law")
    ('boys', 'mother-in-law')
    """
    return "".join(letter for letter in word.lower() if letter.isalnum() or letter in "-_")

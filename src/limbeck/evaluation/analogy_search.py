"""Whether the answers to many analogies are the nearest words of a whole vocabulary.

A question a : b = c : ? asks for the word d of highest

    3CosAdd  cos(d, b) − cos(d, a) + cos(d, c)                                      (Mikolov, Yih & Zweig 2013)
    3CosMul  cos'(d, b) · cos'(d, c) / (cos'(d, a) + ε),  cos' = (1 + cos) / 2       (Levy & Goldberg 2014)

The second in logarithms is a sum as the first is: what the pair a, b gives a word and what c gives it. Twenty thousand
questions are made of some hundred pairs and words, so that these terms are had from one matrix product for a block of
the vocabulary. And since the right answer is known, only words that come before it are looked for: in a strip of some
words none does if the highest term of the pair and that of c in the strip are together too low, and a question that a
word has been found for is done. The result is that of looking at every word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.evaluation.settings import AnalogyMethod

METHODS: tuple[AnalogyMethod, ...] = get_args(AnalogyMethod)
EPSILON = 1e-3  #: of 3CosMul, as published
BLOCK = 8192  #: words of the vocabulary at a time
STRIP = 64  #: words that are passed over together
LOOKS = 1 << 17  #: strips looked at together
#: scores in float32 that differ by less are computed again in float64; logarithms magnify rounding, most by a's 1 / ε
NEAR: dict[AnalogyMethod, float] = {"add": 2e-6, "mul": 2e-4}
EQUAL = 1e-12  #: and are equal if they differ by less than this
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def answered(
    vocabulary: Floats,
    words: Floats,
    questions: Ints,
    answers: Ints,
    excluded: Ints,
    *,
    methods: tuple[AnalogyMethod, ...] = METHODS,
    device: str | torch.device | None = None,
) -> dict[AnalogyMethod, NDArray[np.bool_]]:
    """Of each question whether no word of the vocabulary answers it better than the right one, by each method.

    vocabulary  (words, d) of any length; rows that are zero have no cosine and never answer
    words       (different, d) vectors of the questions' words, of length 1 where their length should not count
    questions   (questions, 3) of a, b, c their rows in `words`
    answers     (questions,) rows of the right words in the vocabulary, none of them zero
    excluded    (questions, k) rows of the vocabulary that may not answer, −1 for none: the questions' own words
    device      where to reckon: a GPU if there is one, unless said

    Of words that are equally near the one that comes first in the vocabulary answers. The right answer's score and the
    others' come out of two products, which round differently, so those that are nearly equal are computed once more.
    """
    if not len(questions):
        return {method: np.zeros(0, dtype=bool) for method in methods}
    device = torch.device(device if device not in (None, "auto") else "cuda" if torch.cuda.is_available() else "cpu")
    own = torch.from_numpy(words.copy()).to(device)
    pairs, pair = np.unique(questions[:, :2], axis=0, return_inverse=True)
    a, b = (torch.from_numpy(np.ascontiguousarray(side)).to(device) for side in pairs.T)
    p, c = (torch.from_numpy(np.array(side)).to(device) for side in (pair.reshape(-1), questions[:, 2]))
    abc = torch.from_numpy(np.ascontiguousarray(questions)).to(device)
    right = torch.from_numpy(answers.copy()).to(device)
    barred = torch.from_numpy(np.column_stack([excluded, answers])).to(device)
    kinds, kind = np.unique(answers, return_inverse=True)
    of_answers = _cosines(own, torch.from_numpy(vocabulary[kinds].copy()).to(device))
    kind_of = torch.from_numpy(kind.reshape(-1)).to(device)
    wanted = {}  # the score of the right answer
    for method in methods:
        plus, minus = _terms(of_answers, method)
        wanted[method] = (plus[b] - minus[a])[p, kind_of] + plus[c, kind_of]
    alive = {method: ~(barred[:, :-1] == right.unsqueeze(1)).any(dim=1) for method in methods}
    for start in range(0, len(vocabulary), BLOCK):
        block = torch.from_numpy(_padded(vocabulary[start : start + BLOCK])).to(device)
        cosines = _cosines(own, block)  # (different, block)
        for method in methods:
            plus, minus = _terms(cosines, method)
            of_pairs = plus[b] - minus[a]  # (pairs, block)
            strips, strips_of_pairs = (x.view(len(x), -1, STRIP) for x in (plus, of_pairs))
            highest, highest_of_pairs = strips.amax(dim=2), strips_of_pairs.amax(dim=2)
            left = torch.nonzero(alive[method]).squeeze(1)
            for part, at in _worth(left, highest_of_pairs, highest, p, c, wanted[method] - NEAR[method]):
                scores = strips_of_pairs[p[part], at] + strips[c[part], at]  # (looks, strip)
                rows = start + STRIP * at.unsqueeze(1) + torch.arange(STRIP, device=device)
                goal = wanted[method][part].unsqueeze(1)
                near = (scores - goal).abs() <= NEAR[method]
                better = (scores > goal) & ~near
                for column in barred[part].T:
                    better &= rows != column.unsqueeze(1)
                    near &= rows != column.unsqueeze(1)
                alive[method][part[better.any(dim=1)]] = False
                for look, column in (some.T for some in torch.nonzero(near).split(BLOCK)):
                    asked, other = part[look], rows[look, column]
                    theirs, ours = (
                        _exact(own, abc[asked], torch.from_numpy(vocabulary[at.cpu().numpy()]).to(device), method)
                        for at in (other, right[asked])
                    )
                    ahead = (theirs > ours + EQUAL) | (~(theirs < ours - EQUAL) & (other < right[asked]))
                    alive[method][asked[ahead]] = False
    return {method: still.cpu().numpy() for method, still in alive.items()}


def _worth(
    left: torch.Tensor,
    highest_of_pairs: torch.Tensor,
    highest: torch.Tensor,
    p: torch.Tensor,
    c: torch.Tensor,
    least: torch.Tensor,
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Questions and strips in which a word may come before the right answer, some at a time."""
    step = max(1, LOOKS // highest.shape[1])
    for start in range(0, len(left), step):
        some = left[start : start + step]
        bound = highest_of_pairs[p[some]] + highest[c[some]]  # (some, strips)
        number, strip = torch.nonzero(bound >= least[some].unsqueeze(1), as_tuple=True)
        yield some[number], strip


def _exact(own: torch.Tensor, abc: torch.Tensor, found: torch.Tensor, method: AnalogyMethod) -> torch.Tensor:
    """Scores (n,) in float64 of one word (n, d) for each of some questions (n, 3)."""
    unit = torch.nn.functional.normalize(found.double(), dim=1)
    plus, minus = _terms((own[abc].double() * unit.unsqueeze(1)).sum(dim=2), method)
    return plus[:, 1] - minus[:, 0] + plus[:, 2]


def _padded(block: Floats) -> Floats:
    """Whole strips: zeros at the end, which never answer."""
    whole = np.zeros((-(-len(block) // STRIP) * STRIP, block.shape[1]), dtype=np.float32)
    whole[: len(block)] = block
    return whole


def _cosines(words: torch.Tensor, block: torch.Tensor) -> torch.Tensor:
    """(words, block) NaN for rows of the block that are zero."""
    norms = block.norm(dim=1)
    cosines: torch.Tensor = words @ (block / norms.clamp_min(torch.finfo(torch.float32).tiny).unsqueeze(1)).T
    cosines[:, norms == 0] = torch.nan
    return cosines


def _terms(cosines: torch.Tensor, method: AnalogyMethod) -> tuple[torch.Tensor, torch.Tensor]:
    """What b and c add and what a takes away: cosines, or logarithms of shifted ones; −inf for words without any."""
    if method == "add":
        return torch.nan_to_num(cosines, nan=-torch.inf), torch.nan_to_num(cosines, nan=0.0)
    shifted = ((1 + cosines) / 2).clamp_min(0.0)
    plus, minus = shifted.log(), (shifted + EPSILON).log()
    return torch.nan_to_num(plus, nan=-torch.inf, neginf=-torch.inf), torch.nan_to_num(minus, nan=0.0)

"""Do function words lie near their like in sentences of the same structure? (Rajaee & Pilehvar 2021, Figure 3.)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.analysis.groups import Group, Pair, as_sentences, make_groups
from limbeck.analysis.neighbors import nearest, prepared
from limbeck.analysis.reading import read
from limbeck.analysis.result import Analysis, Claim, Findings, Row
from limbeck.analysis.settings import DEFAULTS, GROUPS, AnalysisSettings, StructureSettings
from limbeck.analysis.spaces import BASELINE, Space, check_rows, family_of, fit_spaces, repairs_at
from limbeck.corpus import Corpus, Sentence
from limbeck.corpus.vocabulary import punctuation_only
from limbeck.encoders.protocol import Encoder
from limbeck.errors import LimbeckError
from limbeck.measures.intervals import QUANTILES, REPLICATES, bootstrap_mean
from limbeck.seeds import generator_for, hash_occurrences
from limbeck.stream import TextSource
from limbeck.stream.collected import Collected, collect
from limbeck.stream.workers import Workers

Floats = NDArray[np.float64]

FALLS = "the share of same-structure neighbours falls when dominant directions are removed"
NOT_FOUND = "token not found among the pieces"
OTHER_WORDS = "other words"  #: pairs whose two words differ
#: marks that tokenisers put before a piece that begins a word
MARKS = ("", "Ġ", "▁")


# --- on arrays ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenStructure:
    """One token in one space.

    value     mean share of a row's nearest neighbours that are of its group, with its interval over groups
    chance    the same if neighbours were drawn at random
    change    value minus the baseline space's, with its interval; 0 for the baseline itself
    """

    token: str
    space: str
    value: float
    low: float
    high: float
    chance: float
    change: float
    change_low: float
    change_high: float
    rows: int
    groups: int

    def row(self) -> Row:
        return dict(vars(self))


def group_shares(x: NDArray[Any], groups: NDArray[Any], *, neighbors: int, metric: str) -> tuple[Floats, Floats]:
    """Of each group, the mean share of its rows' nearest neighbours that are of the group too; and by chance.

    A group of one row has no neighbour of its own: its share is 0, by chance too.
    """
    near = nearest(x, neighbors=neighbors, metric=metric)
    _, of_row, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    share = (of_row[near] == of_row[:, None]).mean(1)
    means = np.bincount(of_row, share) / sizes
    return means, (sizes - 1) / (len(x) - 1)


def structure(
    x: Any,
    groups: Any,
    tokens: Any,
    *,
    spaces: Sequence[Space] | None = None,
    settings: AnalysisSettings = DEFAULTS,
) -> list[TokenStructure]:
    """For each token and space: how many of its nearest neighbours are in the same group.

    x         (n, d) vectors of tokens in sentences
    groups    (n,) the group of each row's sentence
    tokens    (n,) the token; neighbours are looked for among rows of the same token
    spaces    from `fit_spaces`; without it the baseline and the paper's repairs, fitted on x
    settings  `neighbors`, `metric` and `seed`
    """
    x, group, token = np.asarray(x), np.asarray(groups), np.asarray(tokens)
    check_rows(x, groups=group, tokens=token)
    found = []
    neighbors, metric, seed = settings.neighbors, settings.metric, settings.seed
    chosen = fit_spaces(x, seed=seed) if spaces is None else spaces
    seen: dict[str, Floats] = {}  # of the baseline
    for space in chosen:
        vectors = space(x)
        for name in dict.fromkeys(token.tolist()):
            rows = np.flatnonzero(token == name)
            if len(rows) <= neighbors or len(np.unique(group[rows])) < 2:
                continue
            shares, chance = group_shares(vectors[rows], group[rows], neighbors=neighbors, metric=metric)
            before = seen.setdefault(name, shares)
            stacked = np.stack([shares, shares - before])
            low, high = bootstrap_mean(stacked, seed=seed, name=f"structure-{name}")
            value, change = stacked.mean(1)
            found.append(
                TokenStructure(
                    name, space.name, float(value), float(low[0]), float(high[0]), float(chance.mean()),
                    float(change), float(low[1]), float(high[1]), len(rows), len(shares),
                )
            )  # fmt: skip
    if not found:
        raise LimbeckError(
            f"some token must have more than {neighbors} rows in two groups or more; none has.",
            code="too_few",
            parameter="neighbors",
        )
    return found


def structure_claims(found: Sequence[TokenStructure]) -> list[Claim]:
    """F3: after each repair the share is lower than before, token by token."""
    before = {one.token: one for one in found if one.space == BASELINE}
    return [
        Claim(
            id=f"F3.falls.{one.space}",
            text=FALLS,
            rule=f"share of neighbours of the same group: {BASELINE} minus {one.space}, over groups",
            value=-one.change,
            low=-one.change_high,
            high=-one.change_low,
            n=one.groups,
            why=f"{before[one.token].value:.1%} before, {one.value:.1%} after, {one.chance:.1%} by chance",
            about=one.token,
            points="points",
        )
        for one in found
        if one.space != BASELINE
    ]


@dataclass(frozen=True)
class PairStructure:
    """Pairs of one kind in one space.

    auc        chance that a same-structure pair is nearer than one of different structures; 0.5: no difference
    same, different   mean distances
    change     |auc − 0.5| minus the baseline space's
    """

    subset: str
    space: str
    auc: float
    low: float
    high: float
    same: float
    different: float
    change: float
    change_low: float
    change_high: float
    same_pairs: int
    different_pairs: int

    def row(self) -> Row:
        return dict(vars(self))


def pairs(
    first: Any,
    second: Any,
    same: Any,
    *,
    words: Any = None,
    spaces: Sequence[Space] | None = None,
    settings: AnalysisSettings = DEFAULTS,
) -> list[PairStructure]:
    """How well the distance of two words tells whether their sentences have the same structure.

    first, second  (n, d) the words' vectors
    same           (n,) whether the sentences have the same structure
    words          (n,) whether the two words are the same; pairs of other words are then told apart too, since a word
                   is near itself whatever its sentence
    settings       `metric` and `seed`
    """
    metric, seed = settings.metric, settings.seed
    a, b, alike = np.asarray(first), np.asarray(second), np.asarray(same, dtype=bool)
    check_rows(a, second=b, same=alike)
    subsets = {"all": np.ones(len(a), dtype=bool)}
    if words is not None:
        subsets[OTHER_WORDS] = ~np.asarray(words, dtype=bool)
    chosen = fit_spaces(np.concatenate([a, b]), seed=seed) if spaces is None else spaces
    found = []
    seen: dict[str, Floats] = {}
    for space in chosen:
        rows = (prepared(space(a), metric) - prepared(space(b), metric)).norm(dim=1).numpy()
        away = rows if metric == "euclidean" else rows**2 / 2  # ‖a − b‖² = 2 (1 − cos) for unit vectors
        for name, some in subsets.items():
            near, far = away[some & alike], away[some & ~alike]
            if min(len(near), len(far)) < 2:
                continue
            draws = _auc_draws(near, far, seed=seed, name=name)  # the first is of all pairs
            before = seen.setdefault(name, draws)
            low, high = np.quantile(draws[1:], QUANTILES)
            change = np.abs(draws - 0.5) - np.abs(before - 0.5)  # below 0.5 structure is told too
            change_low, change_high = np.quantile(change[1:], QUANTILES)
            found.append(
                PairStructure(
                    name, space.name, float(draws[0]), float(low), float(high), float(near.mean()), float(far.mean()),
                    float(change[0]), float(change_low), float(change_high), len(near), len(far),
                )
            )  # fmt: skip
    if not found:
        raise LimbeckError(
            "two pairs of the same and two of different structures are needed; there are fewer.", code="too_few"
        )
    return found


def _auc_draws(near: Floats, far: Floats, *, seed: int, name: str) -> Floats:
    """P(near < far), ties counted half: of all pairs, then of resampled ones, the same for every space."""
    order = np.sort(far)
    below = len(far) - np.searchsorted(order, near, side="right")
    equal = np.searchsorted(order, near, side="right") - np.searchsorted(order, near, side="left")
    generator = generator_for(seed, "pairs", name)
    found = np.empty(REPLICATES + 1)
    found[0] = (below + equal / 2).mean() / len(far)
    wins = (near[:, None] < far[None, :]) + 0.5 * (near[:, None] == far[None, :])  # (near, far)
    for at in range(1, REPLICATES + 1):
        a = np.bincount(generator.integers(len(near), size=len(near)), minlength=len(near))
        b = np.bincount(generator.integers(len(far), size=len(far)), minlength=len(far))
        found[at] = a @ wins @ b / (len(near) * len(far))
    return found


def pair_claims(found: Sequence[PairStructure]) -> list[Claim]:
    """F3 on pairs: after each repair the distance tells less of the structure."""
    before = {one.subset: one for one in found if one.space == BASELINE}
    return [
        Claim(
            id=f"F3.pairs.{one.space}",
            text="structure is told less well by distance when dominant directions are removed",
            rule="|p − 0.5|, p the chance that a same-structure pair is the nearer one: "
            f"{BASELINE} minus {one.space}, over pairs",
            value=-one.change,
            low=-one.change_high,
            high=-one.change_low,
            n=one.same_pairs + one.different_pairs,
            why=f"|p − 0.5| is {abs(before[one.subset].auc - 0.5):.3f} before, {abs(one.auc - 0.5):.3f} after; "
            f"p {before[one.subset].auc:.3f} and {one.auc:.3f}, 0.5: not told at all",
            about=one.subset,
        )
        for one in found
        if one.space != BASELINE
    ]


# --- on a model --------------------------------------------------------------------------------


def structure_of(
    encoder: Encoder,
    treebank: Iterable[Sentence],
    *,
    settings: AnalysisSettings = DEFAULTS,
    groups: StructureSettings = GROUPS,
    batch_tokens: int | None = None,
    workers: int | Workers = 0,
    progress: bool = False,
) -> Analysis:
    """Figure 3 for a model: `groups` made out of a treebank, every layer of the encoder, before and after repair.

    Repairs are fitted on all units of the groups' sentences, or with `transductive` on the tokens alone.
    """
    made = make_groups(treebank, groups, seed=settings.seed)
    source = TextSource(Corpus.from_sentences(as_sentences(made)), encoder, "sentence", batch_tokens)
    collected = collect(source, workers=workers, progress=progress)
    wanted = _wanted(made, groups)
    rows, missing = _rows(collected, made, wanted, pieces=encoder.units == "pieces")
    held = [(token, number) for (token, number, _), row in zip(wanted, rows, strict=True) if row >= 0]
    rows = rows[rows >= 0]
    token = np.array([name for name, _ in held])
    group = np.array([number for _, number in held])
    findings = Findings("structure", encoder.name, ("structure", "spaces"))
    for place, layer in enumerate(collected.layers):
        everything = collected.vectors[place].numpy()
        x = everything[rows]
        spaces = fit_spaces(
            x if settings.transductive else everything,
            methods=settings.methods,
            repairs=repairs_at(layer, settings),
            family=family_of(source.encoder),
            seed=settings.seed,
        )
        found = structure(x, group, token, spaces=spaces, settings=settings)
        claims = structure_claims(found)
        findings.add(layer, claims, structure=(one.row() for one in found), spaces=(space.row() for space in spaces))
    sentences = [
        {"group": number, "sentence": index, "text": " ".join(sentence.words)}
        for number, one in enumerate(made)
        for index, sentence in enumerate(one.sentences)
    ]
    counts = Counter(token.tolist())
    full = groups.groups * groups.group_size
    few = [name for name in groups.tokens if counts[name] < full]
    notes = [f"{name}  has {counts[name]:,} rows instead of {full:,}" for name in few]
    return findings.analysis(
        others={"sentences": sentences},
        units=encoder.units,
        settings={
            **settings.describe(),
            "tokens": list(groups.tokens),
            "groups": groups.groups,
            "size": groups.group_size,
        },
        dropped=collected.dropped | ({NOT_FOUND: missing} if missing else {}),
        notes=tuple(notes),
    )


def _wanted(made: Sequence[Group], settings: StructureSettings) -> list[tuple[str, int, int]]:
    """Token, group and sentence of every row that is looked at: the first groups that hold a token."""
    found = []
    for token in settings.tokens:
        holding = [number for number, group in enumerate(made) if token in group.places][: settings.groups]
        found += [(token, number, index) for number in holding for index in range(len(made[number].sentences))]
    return found


def _rows(
    collected: Collected, made: Sequence[Group], wanted: Sequence[tuple[str, int, int]], *, pieces: bool
) -> tuple[NDArray[np.int64], int]:
    """The row of each token in the collected vectors, -1 for one that has none; and how many have none."""
    if not pieces:
        numbered = as_sentences(made)
        starts = np.cumsum([0, *(len(group.sentences) for group in made)])
        identities = np.array([numbered[starts[group] + index].identity for _, group, index in wanted])
        places = np.array([made[group].places[token] for token, group, _ in wanted])
        hashes = hash_occurrences(identities, places)
        row_of = {int(name): row for row, name in enumerate(collected.occurrences.tolist())}
        rows = np.array([row_of.get(int(name), -1) for name in hashes], dtype=np.int64)
        return rows, int((rows < 0).sum())
    begins: dict[int, int] = {}
    for row, text in enumerate(collected.texts.tolist()):
        begins.setdefault(text, row)
    ends = {text: row + 1 for row, text in enumerate(collected.texts.tolist())}
    numbered = as_sentences(made)
    starts = np.cumsum([0, *(len(group.sentences) for group in made)])
    rows = np.full(len(wanted), -1, dtype=np.int64)
    for at, (token, group, index) in enumerate(wanted):
        sentence = numbered[starts[group] + index]
        if sentence.identity in begins:
            first, last = begins[sentence.identity], ends[sentence.identity]
            rows[at] = piece_row(token, sentence.words, made[group].places[token], collected.strings[first:last])
            rows[at] += first if rows[at] >= 0 else 0
    return rows, int((rows < 0).sum())


def piece_row(token: str, words: Sequence[str], place: int, strings: Sequence[str]) -> int:
    """Which of a sentence's pieces is the token that stands at a place among its words; -1 where that is not sure.

    The token is one piece wherever it stands, so the n-th word is the n-th piece of that name, unless a part of another
    word has the name too: then there are more pieces than words, and nothing is taken. Models that lower-case their
    text know "The" by the same name.

    >>> piece_row("the", ["The", "sea", "and", "the", "sky"], 3, ["the", "sea", "and", "the", "sky"])
    3
    >>> piece_row("the", ["clothes", "of", "the", "day"], 2, ["clo", "the", "s", "Ġof", "Ġthe", "Ġday"])
    -1
    """
    pieces = [at for at, string in enumerate(strings) if any(string == mark + token for mark in MARKS)]
    counts: list[Callable[[str], int]] = [lambda word: word == token, lambda word: word.lower() == token]
    if punctuation_only(token):  # most tokenisers part "U.S." into letters and periods
        counts.append(lambda word: word.count(token))
    for count in counts:
        alike = [at for at, word in enumerate(words) for _ in range(count(word))]
        if len(alike) == len(pieces) and place in alike:
            return pieces[alike.index(place)]
    return -1


def pairs_of(
    encoder: Encoder,
    given: Sequence[Pair],
    *,
    settings: AnalysisSettings = DEFAULTS,
    batch_tokens: int | None = None,
    workers: int | Workers = 0,
    progress: bool = False,
) -> Analysis:
    """Structure by pairs of sentences: words as units, since a pair names the place of a word.

    Repairs are fitted on all words of the sentences, or with `transductive` on the words that are compared.
    """
    if encoder.units != "words":
        raise LimbeckError(
            "Pairs of sentences name the places of words: --units must be words.", code="unsupported", parameter="units"
        )
    sentences = [
        Sentence(words, document=number, index=index)
        for number, pair in enumerate(given)
        for index, words in enumerate((pair.first, pair.second))
    ]
    places = np.repeat([pair.place for pair in given], 2)
    hashes = hash_occurrences(np.array([sentence.identity for sentence in sentences]), places)
    source = TextSource(Corpus.from_sentences(sentences), encoder, "sentence", batch_tokens)
    found = read(source, points=settings.points, chosen=hashes, deduplicate=False, workers=workers, progress=progress)
    both = found.found.reshape(-1, 2).all(1)
    if not both.any():
        raise LimbeckError(
            "no pair has a vector for both of its words: check the places, and --model.", code="no_vectors"
        )
    same = np.array([pair.same for pair in given])[both]
    words = np.array([_word(pair.first, pair.place) == _word(pair.second, pair.place) for pair in given])[both]
    findings = Findings("pairs", encoder.name, ("pairs", "spaces"))
    for place, layer in enumerate(source.layers):
        x = found.chosen[place].reshape(len(given), 2, -1)[both]
        spaces = found.spaces(place, settings, x.reshape(-1, x.shape[2]))
        judged = pairs(x[:, 0], x[:, 1], same, words=words, spaces=spaces, settings=settings)
        claims = pair_claims(judged)
        findings.add(layer, claims, pairs=(one.row() for one in judged), spaces=(space.row() for space in spaces))
    dropped = found.dropped | ({"pairs without both vectors": int((~both).sum())} if not both.all() else {})
    return findings.analysis(
        units="words",
        settings={**settings.describe(), "pairs": len(given)},
        dropped=dropped,
    )


def _word(words: Sequence[str], place: int) -> str:
    return words[place].lower() if place < len(words) else ""

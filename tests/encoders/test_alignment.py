"""Words to pieces, against a brute-force comparison of every word with every piece."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from refusals import raises
from tiny_models import ODD, TOKENIZERS, VANISHING, backend, odd_texts, story, text, tokenizer
from tokenizers import Tokenizer

from limbeck.corpus.units import Text
from limbeck.encoders.alignment import Aligner, overlaps
from limbeck.errors import InputError

KINDS = TOKENIZERS


def expected(kind: str, one: Text, *, blank: bool) -> tuple[list[int], list[list[int]]]:
    """Pieces of a text, and of each word the indices of its pieces, by the definition."""
    string, starts, ends = one.layout()
    made = Tokenizer.from_str(backend(kind).to_str())
    made.encode_special_tokens = True
    encoding = made.encode((" " if blank else "") + string, add_special_tokens=False)
    special = {"[SEP]", "<s>"} & set(encoding.tokens)
    assert not special
    solid = [bool(made.decode([piece]).strip()) or token.strip("▁Ġ") != "" for piece, token in
             zip(encoding.ids, encoding.tokens, strict=True)]  # fmt: skip
    words = []
    for a, b in zip(starts, ends, strict=True):
        a, b = a + blank, b + blank
        meets = [i for i, (p, q) in enumerate(encoding.offsets) if p < b and q > a and solid[i]]
        words.append(meets)
    return encoding.ids, words


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_those_that_overlap(kind: str) -> None:
    aligner = Aligner(tokenizer(kind))
    texts = [*story(), *odd_texts()]
    found = aligner(texts)
    assert found.piece_starts[-1] == len(found.pieces)
    for index, one in enumerate(texts):
        pieces, words = expected(kind, one, blank=aligner.leading_blank)
        low, high = found.piece_starts[index : index + 2]
        assert found.pieces[low:high].tolist() == pieces
        at = found.word_starts[index]
        assert found.word_starts[index + 1] - at == len(words) == len(one.words)
        for word, mine in enumerate(words):
            first, end = found.first[at + word] - low, found.end[at + word] - low
            assert list(range(first, end)) == mine, one.words[word]
            assert 0 <= found.lead[at + word] - low <= max(first, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_spell_their_word(kind: str) -> None:
    """The characters that a word's pieces were made of are the word, whatever the tokeniser did to them."""
    aligner = Aligner(tokenizer(kind))
    for one in story():
        string, _, _ = one.layout()
        encoding = backend(kind).encode((" " if aligner.leading_blank else "") + string, add_special_tokens=False)
        string = (" " if aligner.leading_blank else "") + string
        found = aligner([one])
        for word, first, end in zip(one.words, found.first, found.end, strict=True):
            spelled = string[encoding.offsets[first][0] : encoding.offsets[end - 1][1]].strip()
            assert word in spelled
            assert (
                spelled == word or first in found.end - 1 or end - 1 in found.first
            )  # a piece shared with a neighbour


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_word_is_given_as_any_other(kind: str) -> None:
    aligner = Aligner(tokenizer(kind))
    found = aligner([text("river the river in river")])
    spelled = [found.pieces[a:b].tolist() for a, b in zip(found.first, found.end, strict=True)]
    assert spelled[0] == spelled[2] == spelled[4]
    assert aligner.leading_blank == (kind in ("byte-level", "byte-level untrimmed", "byte-level roberta"))


def test_pieces_of_an_emoji_and_of_nothing() -> None:
    found = Aligner(tokenizer("byte-level"))([text(["the", "😀", "river"])])
    assert found.counts.tolist()[1] == 4  # four bytes, all at the same place; the blank before them is left out
    assert found.lead[1] == found.first[1] - 1
    found = Aligner(tokenizer("wordpiece cased"))([text(["the", *VANISHING, "river"])])
    assert found.counts.tolist()[1:3] == [0, 0]
    assert found.counts.min() == 0
    assert found.counts[[0, 3]].min() > 0


def test_a_piece_over_two_words_belongs_to_both() -> None:
    vocabulary = {"[UNK]": 0, "don": 1, "'": 2, "t": 3, "[CLS]": 4, "[SEP]": 5}
    made = backend("wordpiece cased")
    import json

    state = json.loads(made.to_str())
    state["model"]["vocab"] = vocabulary
    state["added_tokens"] = []
    state["post_processor"] = None
    found = Aligner(Tokenizer.from_str(json.dumps(state)))([text(["do", "n't"], glued={0})])
    assert found.pieces.tolist() == [1, 2, 3]
    assert (found.first.tolist(), found.end.tolist()) == ([0, 0], [1, 3])


@pytest.mark.parametrize(
    ("kind", "prefix", "suffix"),
    [
        ("wordpiece cased", (2,), (3,)),
        ("byte-level", (), ()),
        ("byte-level roberta", (0,), (2,)),
        ("t5", (), (1,)),
        ("llama", (1,), ()),
    ],
)
def test_special_tokens_are_found(kind: str, prefix: tuple[int, ...], suffix: tuple[int, ...]) -> None:
    aligner = Aligner(tokenizer(kind))
    assert (aligner.prefix, aligner.suffix) == (prefix, suffix)


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_written_in_a_text_are_text(kind: str) -> None:
    aligner = Aligner(tokenizer(kind))
    special = {backend(kind).token_to_id(token) for token in ("[SEP]", "[CLS]", "<s>", "</s>", "<pad>")} - {None}
    for either in (aligner, pickle.loads(pickle.dumps(aligner))):
        found = either([text(["[SEP]", "<s>", "</s>", "[CLS]", "<pad>"])])
        owned = {int(p) for a, b in zip(found.first, found.end, strict=True) for p in found.pieces[a:b]}
        assert owned
        assert not special & owned
        # Unigram's own pieces include the special ones; the others split them into signs and letters.
        assert (found.counts.min() == 0) == kind.startswith(("unigram", "t5"))


def test_padding_and_truncation_left_on_do_no_harm() -> None:
    theirs = tokenizer("wordpiece uncased")
    theirs(["a b c", "a"], padding=True, truncation=True, max_length=4)
    assert theirs.backend_tokenizer.padding is not None
    aligner = Aligner(theirs)
    theirs(["a"], padding="max_length", truncation=True, max_length=3)
    want = Aligner(tokenizer("wordpiece uncased"))(story())
    assert np.array_equal(aligner(story()).pieces, want.pieces)


@pytest.mark.parametrize("kind", ["wordpiece uncased", "byte-level", "t5", "llama"])
def test_without_offsets_word_by_word(kind: str) -> None:
    """A tokeniser without a fast backend gives the same for words between blanks."""

    class Slow:
        made = tokenizer(kind)

        def encode(self, string: str, add_special_tokens: bool) -> list[int]:
            return self.made.encode(string, add_special_tokens=add_special_tokens)

        def decode(self, pieces: list[int]) -> str:
            return self.made.decode(pieces)

        def get_vocab(self) -> dict[str, int]:
            return self.made.get_vocab()

        def convert_ids_to_tokens(self, piece: int) -> str:
            return self.made.convert_ids_to_tokens(piece)

    slow, fast = Aligner(Slow()), Aligner(tokenizer(kind))
    assert (slow.prefix, slow.suffix, slow.leading_blank) == (fast.prefix, fast.suffix, fast.leading_blank)
    texts = [text("the river in the cellar"), text("Something unbelievable"), text(["é", "the", "中"])]
    a, b = slow(texts), fast(texts)
    for field in ("piece_starts", "word_starts", "pieces", "first", "end", "lead"):
        assert np.array_equal(getattr(a, field), getattr(b, field)), field
    assert slow.token(5) == fast.token(5)


def test_no_texts_and_texts_of_nothing() -> None:
    aligner = Aligner(tokenizer("wordpiece uncased"))
    assert len(aligner([]).first) == 0
    found = aligner([text(VANISHING), text(["the"]), text(VANISHING)])
    assert found.counts.tolist() == [0, 0, 1, 0, 0]


def test_offsets_that_fall_are_compared_one_by_one() -> None:
    """A line on which one text's pieces stand out of order, with and without length."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        piece_starts, word_starts, pieces, words, at = [0], [0], [], [], 0
        for _ in range(4):
            edges = np.sort(rng.choice(30, size=8, replace=False)) + at
            own = [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
            own_pieces = []
            for a, b in own:  # each word's pieces stand together, out of order only inside it
                parts = rng.integers(a, b, size=3)
                own_pieces += [(int(p), int(rng.integers(p, b + 1))) for p in parts]
            words += own
            pieces += own_pieces
            piece_starts.append(len(pieces))
            word_starts.append(len(words))
            at += 40
        p, w = np.array(pieces), np.array(words)
        low, high = overlaps(p[:, 0], p[:, 1], w[:, 0], w[:, 1], np.array(piece_starts), np.array(word_starts))
        for k, (a, b) in enumerate(words):
            meets = [i for i, (x, y) in enumerate(pieces) if x < b and y > a]
            if meets:
                assert (low[k], high[k]) == (meets[0], meets[-1] + 1)
            else:
                assert low[k] == high[k]


def test_a_thing_that_is_no_tokenizer_is_refused() -> None:
    with raises(InputError, code="wrong_type", parameter="tokenizer"):
        Aligner(3)


def test_odd_words_are_really_odd() -> None:
    """The list above tries something: bytes, accents, ligatures and vanishing words each take a way of their own."""
    counts = {kind: Aligner(tokenizer(kind))([text(ODD + VANISHING)]).counts for kind in KINDS}
    assert all(count.max() > 1 for count in counts.values())
    assert counts["byte-level"].min() > 0
    assert counts["wordpiece uncased"].min() == 0

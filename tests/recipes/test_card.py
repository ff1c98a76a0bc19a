"""A card says what the log and the figures say, and nothing of another run."""

from __future__ import annotations

import json
from pathlib import Path

import limbeck
from recipes.card import card

MODELS = Path(limbeck.__file__).parent / "data" / "miniatures"
LOG = [
    {"step": "10", "tokens": "1000", "loss": "5.0", "rate": "0.004", "seconds": "30"},
    {"step": "20", "tokens": "2000000", "loss": "4.5", "rate": "0.0", "seconds": "120"},
]
ABOUT = {
    "text": "Some text.",
    "machine": "A laptop.",
    "licence": "cc0-1.0",
    "rights": "Free.",
    "mini-gpt2": "A remark.",
}


def test_a_card_is_of_its_own_run() -> None:
    figures = json.loads((MODELS / "figures.json").read_text())
    for name in ("mini-bert", "mini-gpt2", "mini-elmo"):
        text = card(name, figures, ABOUT, LOG, MODELS / name)
        assert "Some text." in text
        assert "A laptop." in text
        assert "greatest rate 0.004" in text
        assert "batches of 100,000" in text
        assert "last training loss 4.500" in text
        assert "Wikipedia " not in text.split("## Held out")[0]
        assert ("A remark." in text) == (name == "mini-gpt2")

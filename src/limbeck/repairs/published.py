"""The two repairs of Rajaee & Pilehvar (2021), with the numbers that the paper found for each kind of model."""

from __future__ import annotations

from typing import Any, Protocol

from limbeck.errors import choose

#: by kind of model (B.2): components of the global method; clusters, components of each
PUBLISHED = {"bert": (15, 27, 12), "roberta": (25, 27, 12), "gpt2": (30, 10, 30)}


class Described(Protocol):
    """An encoder, or a source of its vectors."""

    def describe(self) -> dict[str, Any]: ...


def family_of(encoder: Described) -> str:
    """The paper's model that a model is most like: causal ones GPT-2, RoBERTa's kind RoBERTa, all others BERT."""
    about = encoder.describe()
    kept = about.get("kept_from")
    settings = (kept if isinstance(kept, dict) else about).get("encoder_settings", about)
    if settings.get("causal"):
        return "gpt2"
    return "roberta" if "roberta" in str(settings.get("model_type", "")) else "bert"


def published_numbers(family: str, *, dim: int, rows: int) -> tuple[int, int, int]:
    """Components of the global method, clusters and components of each, made smaller for a small space.

    At most an eighth of the dimensions is removed, and a cluster must have four rows a component on average: where
    nearly all directions are removed, nothing is left to look at.

    >>> published_numbers("gpt2", dim=768, rows=20_000), published_numbers("gpt2", dim=128, rows=400)
    ((30, 10, 30), (16, 6, 16))
    """
    whole, clusters, each = PUBLISHED[choose(family, PUBLISHED, what="family")]
    most = max(1, dim // 8)
    whole, each = min(whole, most), min(each, most)
    return whole, max(1, min(clusters, rows // (4 * each))), each

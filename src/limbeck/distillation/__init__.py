"""Static word vectors out of a language model: one vector a word, from many contexts, one, or none.

vectors = limbeck.distill("bert-base-uncased", "text.txt", out="vectors")
vectors = limbeck.distill("bert-base-uncased", words=["tea", "coffee"])

Names load on first use, since most of them import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from limbeck.lazy import lazy

if TYPE_CHECKING:
    from limbeck.distillation.distilled import DistilledVectors
    from limbeck.distillation.method_settings import MethodSettings
    from limbeck.distillation.methods import METHODS, Method, Trained
    from limbeck.distillation.rows import Known, Rows
    from limbeck.distillation.settings import DistillSettings
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "distilled": "DistilledVectors",
            "method_settings": "MethodSettings",
            "methods": "METHODS Method Trained",
            "rows": "Known Rows",
            "settings": "DistillSettings",
        },
    )

__all__ = ["METHODS", "DistillSettings", "DistilledVectors", "Known", "Method", "MethodSettings", "Rows", "Trained"]

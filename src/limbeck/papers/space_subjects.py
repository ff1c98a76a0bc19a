"""What the claims of Rajaee & Pilehvar (2021) are judged on: a model's space, in parts."""

from __future__ import annotations

import numpy as np

from limbeck.analysis import Analysis, Claim
from limbeck.papers.estimates import CannotShow, Curve
from limbeck.papers.parts import ModelInParts, Part
from limbeck.tables import columns_of

#: part -> what it is, for people who wait for it
PARTS = {
    "layers": "isotropy of every layer",
    "local": "isotropy of clusters put on the origin",
    "removal": "isotropy by number of removed components",
    "frequency": "word frequency in the space",
    "clusters": "what clusters contain",
    "tense": "tense and sense of verbs",
    "structure": "same-structure neighbours",
    "tuning": "clusters and components tuned",
    "sts": "sentence similarity before and after",
    "classify": "classification before and after",
}
#: tables of sentence similarity on new pairs, that were not tuned on and are in no set before: scores, differences
NEW = ("new", "new-compared")


class SpaceModel(ModelInParts):
    """A model, of the kind of BERT (reads both sides), RoBERTa, GPT-2 (reads leftwards) or ELMo (a pair of LSTMs)."""

    PARTS = PARTS
    UNWRITTEN = ("model", "target")  # columns in which parts have the model, under whatever name

    def curve(self, measure: str, column: str = "value") -> Curve:
        """A measure by layer; like `Subject.curve`, so that rules about curves can be asked of both."""
        rows = self.rows("layers")
        if measure not in rows[0]:
            raise CannotShow(f"there are no numbers of {measure} by layer")
        values = np.array([row[measure] for row in rows], dtype=np.float64)
        return Curve(tuple(row["layer"] for row in rows), values, np.zeros_like(values))

    def contextual_layers(self, curve: Curve) -> Curve:
        """All layers but the input."""
        with_input = curve.layers[0] == "0" or not curve.layers[0].isdigit()
        places = [place for place in range(len(curve)) if place or not with_input]
        if not places:
            raise CannotShow("no layer above the input was measured")
        return curve.part(places)


def part_of_analysis(found: Analysis) -> Part:
    """An analysis as a part; its claims are one more table."""
    tables = {**found.tables, "claims": columns_of([claim.row() for claim in found.claims])}
    about = {
        "what": found.what,
        "units": found.units,
        "settings": dict(found.settings),
        "dropped": dict(found.dropped),
        "notes": list(found.notes),
    }
    return Part(tables, about)


def analysis_of(model: SpaceModel, part: str) -> Analysis:
    """The analysis again, under the model's name here: what `limbeck.reporting.analyses` draws."""
    found = model.part(part)
    fields = ("id", "text", "rule", "value", "low", "high", "n", "why", "about", "model", "layer")
    claims = tuple(Claim(**{name: row[name] for name in fields}) for row in found.rows("claims"))
    tables = {
        name: {column: list(cells) for column, cells in columns.items()}
        for name, columns in found.tables.items()
        if name != "claims"
    }
    return Analysis(
        what=str(found.about["what"]),
        model=model.name,
        tables=tables,
        claims=claims,
        units=str(found.about["units"]),
        settings=found.about["settings"],
    )

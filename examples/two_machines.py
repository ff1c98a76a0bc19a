"""Merge results from two machines: each measures half of a text, and the halves give what the whole would have given.

Both halves run here, one after the other. On two machines each has its own command, and the folders meet afterwards:

    limbeck measure --model MODEL --corpus TEXT --part 1/2 --out one
    limbeck measure --model MODEL --corpus TEXT --part 2/2 --out other
    limbeck merge one other --out whole

Run it with `python examples/two_machines.py`; it writes into runs/machines.
"""

from __future__ import annotations

from pathlib import Path

import limbeck as lb
from limbeck.corpus import sample_path

OUT = Path("runs/machines")


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    text = OUT / "text.jsonl"  # 100 sentences of the sample corpus, in documents as they were
    lines = sample_path().read_text(encoding="utf-8").splitlines(keepends=True)[:100]
    text.write_text("".join(lines), encoding="utf-8")

    settings = {"min_contexts": 3, "mev_words": 20}
    for name, part in (("one", "1/2"), ("other", "2/2")):
        lb.measure("mini-bert", text, layers="0,12", part=part, **settings, out=OUT / name, existing="replace")
    merged = lb.merge(OUT / "one", OUT / "other", out=OUT / "merged", existing="replace")
    whole = lb.measure("mini-bert", text, layers="0,12", **settings)
    for measure in ("anisotropy", "self_similarity", "mev", "isoscore"):
        here, there = merged[measure].value, whole[measure].value
        told = ", ".join(f"{value:.6f}" for value in here)
        print(f"{measure:16} {told} merged, {abs(here - there).max():.0e} from the whole")


if __name__ == "__main__":
    main()

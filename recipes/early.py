"""Embedding tables of early checkpoints, thinned to every fourth row: what happens to geometry shows in a sample.

python -m recipes.early out/mini-bert/early.safetensors --out recipes/results/early-mini-bert.safetensors
"""

from __future__ import annotations

import argparse
from pathlib import Path

from safetensors.torch import load_file

from recipes.miniatures import write_tensors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path, help="early.safetensors of recipes.train")
    parser.add_argument("--every", type=int, default=4, help="which rows are kept")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if not options.tables.is_file():
        parser.error(f"{options.tables} must be a file of recipes.train; nothing is there")
    write_tensors(
        options.out, {name: table[:: options.every].clone() for name, table in load_file(options.tables).items()}
    )


if __name__ == "__main__":
    main()

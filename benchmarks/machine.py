"""The machine's facts, written beside every figure, and the file that figures go to."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def facts() -> dict[str, Any]:
    """What a reader needs to judge a figure."""
    import torch

    found: dict[str, Any] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
    }
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
    return found


def results() -> Path:
    """The folder that figures go to."""
    return Path(os.environ.get("LIMBECK_BENCH_OUT", RESULTS))


def report(name: str, figures: dict[str, Any], **unprinted: Any) -> None:
    """Print the figures and write them, with the machine's facts and what is not printed, to results/NAME.json."""
    width = max(map(len, figures))
    print(f"\n{name}")
    for key, value in figures.items():
        print(f"  {key:{width}}  {value:,.4g}" if isinstance(value, float) else f"  {key:{width}}  {value}")
    RESULTS.mkdir(exist_ok=True)
    (results() / f"{name}.json").write_text(
        json.dumps({"figures": figures, "machine": facts(), **unprinted}, indent=2) + "\n"
    )

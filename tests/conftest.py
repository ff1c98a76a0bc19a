"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

# parallel processes are told that a window is 80 columns wide; output goes to no window here
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Made data are small: a team of threads would only wait for each other, most of all on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)

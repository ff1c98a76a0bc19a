"""Settings of all tests."""

import os
import sys
from pathlib import Path

collect_ignore = ["typed"]  # read by mypy, never run

sys.path.append(str(Path(__file__).parent))  # for refusals.py

# parallel processes are told that a window is 80 columns wide; output goes to no window here
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)

# Made data are small: a team of threads would only wait for each other, most of all on a busy machine. It is said here,
# before torch is imported, and in the environment, so that processes started by tests add numbers in the same order.
os.environ.setdefault("OMP_NUM_THREADS", "1")

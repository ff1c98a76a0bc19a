"""`python -m limbeck`."""

import sys

from limbeck.cli import main

if __name__ == "__main__":
    sys.exit(main())

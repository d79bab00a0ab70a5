"""`python -m daybefore` is the command `daybefore`."""

import sys

from daybefore import main

if __name__ == "__main__":
    sys.exit(main())

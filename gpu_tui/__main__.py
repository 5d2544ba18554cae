"""`python -m gpu_tui` is `gpu-tui`."""

from __future__ import annotations

import sys

from gpu_tui.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

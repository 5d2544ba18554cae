"""One tab's cockpit: the usual program, which also ends when its server is gone, however that ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from gpu_tui.cli.main import main

LOOK = 1.0  # seconds between two looks at the server
PATIENCE = 5.0  # seconds for the cockpit to leave tidily


def mind(server: int) -> None:
    """Wait until the server is no longer our parent, then end."""
    while os.getppid() == server:
        time.sleep(LOOK)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=mind, args=(os.getppid(),), daemon=True).start()
    sys.exit(main())

"""A thread for what may hang: it harms nobody but itself."""

import threading

from gpu_tui.collect.on_box.frames import leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def guarded(work: "Callable[..., None]", *words: object) -> None:
    """Whatever goes wrong in any thread ends the program: sh takes over."""
    try:
        work(*words)
    except BaseException:
        leave(1)


class Worker:
    """It does a round each time it is sent, and never two at once."""

    def __init__(self, work: "Callable[[], None]") -> None:
        self._work = work
        self._go = threading.Lock()
        self._go.acquire()
        self.busy = False
        thread = threading.Thread(target=guarded, args=(self._live,))
        thread.daemon = True
        thread.start()

    def send(self) -> None:
        """Into a round. Only while it is not busy."""
        self.busy = True
        self._go.release()

    def _live(self) -> None:
        while True:
            self._go.acquire()
            self._work()
            self.busy = False

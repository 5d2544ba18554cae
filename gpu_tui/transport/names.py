"""A way to a host by its name, looked up on a thread of its own.

A name server that does not answer holds a thread for half a minute. Those of the loop's own pool read the
files of all boxes, and quitting waits for each of them.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress
from threading import Thread

ADDRESS_SECONDS = 4.0  # for one of several addresses
Found = list[tuple[socket.AddressFamily, tuple[str, int]]]
Asked = tuple[str, int, int]  # host, port, address family


class Names:
    """Looks up names. One question for all who ask the same: no more threads than there are names."""

    def __init__(self) -> None:
        self._asked: dict[Asked, asyncio.Future[Found]] = {}

    async def look_up(self, host: str, port: int, family: int) -> Found:
        """The addresses, in the order to try them. Raises OSError or UnicodeError.

        The question stays open if one who asked gives up; who asks again waits for the same answer.
        """
        asked = host, port, family
        answer = self._asked.get(asked)
        if answer is None:
            loop = asyncio.get_running_loop()
            answer = loop.create_future()
            Thread(target=_ask, args=(asked, loop, answer), name="name", daemon=True).start()
            answer.add_done_callback(lambda done: self._answered(asked, done))
            self._asked[asked] = answer
        return await asyncio.shield(answer)

    def _answered(self, asked: Asked, done: asyncio.Future[Found]) -> None:
        del self._asked[asked]
        if not done.cancelled():
            done.exception()  # maybe nobody waits any more


def _ask(asked: Asked, loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Found]) -> None:
    host, port, family = asked
    found: Found | Exception
    try:
        # Of a plain name as text Python would load 1 MB of Unicode's tables.
        plain = host.encode() if host.isascii() else host
        infos = socket.getaddrinfo(plain, port, family=family, type=socket.SOCK_STREAM)
        found = [(info[0], info[4]) for info in infos]  # type: ignore[misc]  # AF_INET or AF_INET6
    except (OSError, UnicodeError) as error:
        found = error
    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(_tell, answer, found)


def _tell(answer: asyncio.Future[Found], found: Found | Exception) -> None:
    if answer.done():
        return
    if isinstance(found, Exception):
        answer.set_exception(found)
    else:
        answer.set_result(found)


async def connected(addresses: Found) -> socket.socket:
    """A socket to the first address that answers. Raises OSError, which names all that did not.

    One that is silent leaves time for those after it: a name may have an address of IPv6 that leads nowhere.
    """
    loop = asyncio.get_running_loop()
    errors: list[OSError] = []
    for number, (family, address) in enumerate(addresses, start=1):
        sock: socket.socket | None = None
        try:
            sock = socket.socket(family, socket.SOCK_STREAM)  # refused where there is no IPv6
            sock.setblocking(False)
            async with asyncio.timeout(ADDRESS_SECONDS if number < len(addresses) else None):
                await loop.sock_connect(sock, address)
        except BaseException as error:
            if sock is not None:
                sock.close()
            if not isinstance(error, OSError):
                raise
            silent = OSError(errno.ETIMEDOUT, f"no answer from {address[0]}")
            errors.append(silent if isinstance(error, TimeoutError) else error)
        else:
            return sock
    if len(errors) == 1:
        raise errors[0]
    raise OSError("; ".join(map(str, errors)))

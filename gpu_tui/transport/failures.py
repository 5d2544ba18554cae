"""What failed on the way to a box or in its login, as a LinkError: one sentence and the next step."""

from __future__ import annotations

import errno
import re
import socket

import asyncssh

from gpu_tui.transport import hostkey, keys
from gpu_tui.transport.access import Route
from gpu_tui.transport.base import (
    ConnectRefused,
    ConnectTimeout,
    HostKeyRejected,
    LinkError,
    LinkLost,
    NameUnknown,
)
from gpu_tui.transport.login import Login, Stage

UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN)


def as_link_error(
    error: Exception,
    route: Route,
    client: Login,
    offer: keys.Offer,
    *,
    behind: str | None,
    said: str,
) -> LinkError:
    """A foreign exception as a LinkError with a sentence and the next step. `said`: by the ProxyCommand."""
    where = route.where
    proxied = route.proxy_command is not None and behind is None
    match error:
        case asyncssh.HostKeyNotVerifiable():
            return hostkey.refusal(route, client.shown, str(error))
        case asyncssh.PermissionDenied():
            return offer.refusal(str(error))
        case asyncssh.DisconnectError() if "oo many authentication" in str(error):
            return offer.refusal(str(error))
        case asyncssh.KeyExchangeFailed() if "host key" in str(error):
            return HostKeyRejected(
                f"{where} has no host key of a type that we and the ssh config allow: {error}",
                next=f"try: {route.command}",
            )
        case asyncssh.ChannelOpenError() if behind is not None:
            return _behind_hop(error, route, behind)
        case TimeoutError() if client.stage is Stage.NAME:
            return NameUnknown(
                f"the name {route.host!r} is not resolved in time: no name server answers",
                next="check your own network or VPN",
            )
        case TimeoutError() if (unsigned := offer.unsigned()) is not None:
            return unsigned
        case socket.gaierror() | UnicodeError():
            return NameUnknown(
                f"the name {route.host!r} does not resolve",
                next="check the host in the fleet file or ~/.ssh/config, and your own network",
            )
        case TimeoutError() if proxied:
            return _by_proxy(
                f"the ProxyCommand on the way to {where} brings no answer", route, said
            )
        case asyncssh.ConnectionLost() | ConnectionResetError() | BrokenPipeError() if proxied:
            return _by_proxy(
                f"the ProxyCommand on the way to {where} ended before the login was done",
                route,
                said,
            )
        case TimeoutError():
            return _timeout(where)
        case asyncssh.ConnectionLost() | ConnectionResetError() | BrokenPipeError():
            return LinkLost(
                f"{where} closed the connection before the login was done",
                next="too many logins at once, or a ban after failed ones: wait a little",
            )
        case OSError():
            return _os_error(error, where)
    return LinkLost(f"{where}: {error}", next=f"try: {route.command}")


def _by_proxy(text: str, route: Route, said: str) -> LinkLost:
    """`said` is the last that the ProxyCommand said itself."""
    return LinkLost(f"{text}: {said}" if said else text, next=f"see what it says: {route.command}")


def _timeout(where: str) -> ConnectTimeout:
    return ConnectTimeout(
        f"{where} does not answer",
        next="check the provider's console: address, port, power, balance",
    )


def _refused(where: str) -> ConnectRefused:
    return ConnectRefused(
        f"{where} refuses the connection",
        next="the box is off, or its port changed: read it again at the provider",
    )


def _os_error(error: OSError, where: str) -> LinkError:
    """Read errno: asyncio folds the errors of several addresses into one text."""
    numbers = {int(number) for number in re.findall(r"\[Errno (-?[0-9]+)\]", str(error))}
    if error.errno is not None:
        numbers.add(error.errno)
    if errno.ECONNREFUSED in numbers:
        return _refused(where)
    if errno.ETIMEDOUT in numbers:
        return _timeout(where)
    if numbers & set(UNREACHABLE):
        return LinkLost(f"there is no route to {where}", next="check your own network or VPN")
    return LinkLost(f"{where}: {error}")


def _behind_hop(error: asyncssh.ChannelOpenError, route: Route, hop: str) -> LinkError:
    """The jump host answered, and could or would not reach the next one."""
    where, reason = route.where, error.reason
    low = reason.lower()
    if error.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED:
        return LinkLost(
            f"the jump host {hop} does not forward to {where}: {reason}",
            next="ask its administrator for TCP forwarding (AllowTcpForwarding, PermitOpen)",
        )
    if "resol" in low or "not known" in low:
        return NameUnknown(
            f"the jump host {hop} cannot resolve {route.host!r}", next="use a name that it knows"
        )
    if "timed out" in low:
        return _timeout(f"{where}, seen from the jump host {hop},")
    return ConnectRefused(
        f"the jump host {hop} cannot reach {where}: {reason}",
        next="the box is off, or its address changed as seen from the jump host",
    )

from __future__ import annotations

import secrets
import threading
from collections import deque
from contextlib import contextmanager
from typing import Any, Deque, Dict, Iterator, Optional, Tuple, Type, Union
from urllib.parse import quote, unquote, urlsplit

from ._calls import PicpoolError
from ._types import Proxy, proxy_url
from .client import Picpool


Faults = Union[Type[Exception], Tuple[Type[Exception], ...]]


class Lease:
    """A proxy in use. Its result is reported when the use ends."""

    def __init__(self, url: str, proxy: Optional[Proxy] = None, session: Optional[str] = None) -> None:
        #: The URL in the form that clients take.
        self.url = url
        #: Of the pool; ``None`` behind a gateway, which knows it by the session.
        self.proxy = proxy
        self.session = session
        self.error: Optional[str] = None
        self.is_banned = False
        #: The host of the site, where the block does not name it.
        self.target: Optional[str] = None

    def failed(self, error: object) -> None:
        """Says that it did not work, where no exception tells it: a page that the target would not have sent, for instance."""
        self.error = str(error) or type(error).__name__

    def banned(self, error: object) -> None:
        """Says that the site refuses this exit."""
        self.failed(error)
        self.is_banned = True


class _Leases:
    def next(self) -> Lease:
        raise NotImplementedError

    def give_back(self, lease: Lease, *, target: Optional[str] = None) -> None:
        raise NotImplementedError

    @contextmanager
    def take(self, target: Optional[str] = None, *, faults: Faults = Exception) -> Iterator[Lease]:
        """The next proxy for a block of code. An exception of ``faults`` that leaves the block counts as its failure. Any other says
        nothing of it, such as ``KeyboardInterrupt``."""
        lease = self.next()
        try:
            yield lease
        except faults as error:
            lease.failed(error)
            self.give_back(lease, target=target or lease.target)
            raise
        self.give_back(lease, target=target or lease.target)


class Rotation(_Leases):
    """Takes proxies from the pool one after the other, those of the server's order first, and reports how each has done. One that
    failed is not taken again before the others were. May be used by several threads.

    ``filter`` is that of ``Picpool.proxies``; ``target`` orders by the site that is to be reached.
    """

    def __init__(self, picpool: Picpool, *, count: int = 100, **filter: Any) -> None:
        self._picpool = picpool
        self._count = count
        self._filter: Dict[str, Any] = filter
        self._queue: Deque[Proxy] = deque()
        self._lock = threading.Lock()

    def next(self) -> Lease:
        """The next proxy; the list is asked for again once all were taken. Raises ``PicpoolError`` with the code ``no_proxy`` where
        the pool has none that suits."""
        with self._lock:
            if not self._queue:
                self._queue.extend(self._picpool.some_proxies(self._count, **self._filter))
            if not self._queue:
                raise PicpoolError("The pool has no proxy that suits.", code="no_proxy")
            proxy = self._queue.popleft()
            return Lease(proxy_url(proxy), proxy)

    def give_back(self, lease: Lease, *, target: Optional[str] = None) -> None:
        """Reports how the proxy has done."""
        assert lease.proxy is not None
        try:
            self._picpool.report(lease.proxy["id"], lease.error is None, target=target, error=lease.error)
        except PicpoolError:
            # The report is optional: the pool will notice by itself.
            pass


class GatewayRotation(_Leases):
    """Takes exits of a gateway, whose URL is that of ``gateway_url``: each lease is a session of its own, unless the URL names one. Over
    https the gateway does not see what a site answers, so bans are reported to it, by the session: it leaves that exit out for the
    site. Everything else it sees itself. ``picpool``: the server of the gateway; without one, nothing is reported.
    """

    def __init__(self, picpool: Optional[Picpool], url: str) -> None:
        self._picpool = picpool
        parts = urlsplit(url)
        self._user = unquote(parts.username or "user")
        self._password = unquote(parts.password or "none")
        self._place = (parts.scheme, parts.netloc.rpartition("@")[2])
        words = self._user.split("-")
        names = [words[at + 1] for at, word in enumerate(words[:-1]) if word.lower() == "session"]
        self._session: Optional[str] = names[-1] if names else None

    def next(self) -> Lease:
        session = self._session or secrets.token_hex(8)
        user = self._user if self._session else f"{self._user}-session-{session}"
        scheme, host = self._place
        url = f"{scheme}://{quote(user, safe='')}:{quote(self._password, safe='')}@{host}"
        return Lease(url, session=session)

    def give_back(self, lease: Lease, *, target: Optional[str] = None) -> None:
        """Reports a ban."""
        if self._picpool is None or target is None or not lease.is_banned:
            return
        token = None if self._password == "none" else self._password
        try:
            self._picpool.report_gateway(target, False, session=lease.session, error=lease.error, token=token)
        except PicpoolError:
            pass


def by_scheme(picpool: Optional[Picpool], gateway: Optional[str], filter: Dict[str, Any]) -> Dict[str, _Leases]:
    """For targets of http and https: over the gateway, or over proxies of the protocol that the target needs, unless the filter names one."""
    if gateway:
        return dict.fromkeys(("http", "https"), GatewayRotation(picpool, gateway))
    assert picpool is not None
    return {scheme: Rotation(picpool, **{"protocol": scheme, **filter}) for scheme in ("http", "https")}

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from typing import Any, Deque, Dict, Iterator, Optional

from ._calls import PicpoolError
from ._types import Proxy, proxy_url
from .client import Picpool


class Lease:
    """A proxy in use. Its result is reported when the use ends."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        #: The URL in the form that clients take.
        self.url = proxy_url(proxy)
        self.error: Optional[str] = None

    def failed(self, error: object) -> None:
        """Says that it did not work, where no exception tells it: a page that the target would not have sent, for instance."""
        self.error = str(error) or type(error).__name__


class Rotation:
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
            return Lease(self._queue.popleft())

    def give_back(self, lease: Lease, *, target: Optional[str] = None) -> None:
        """Reports how the proxy has done. One that works is taken again soon."""
        ok = lease.error is None
        if ok:
            with self._lock:
                self._queue.append(lease.proxy)
        try:
            self._picpool.report(lease.proxy["id"], ok, target=target, error=lease.error)
        except PicpoolError:
            # The report is optional: the pool will notice by itself.
            pass

    @contextmanager
    def take(self, target: Optional[str] = None) -> Iterator[Lease]:
        """The next proxy for a block of code. An exception that leaves the block counts as its failure."""
        lease = self.next()
        try:
            yield lease
        except Exception as error:
            lease.failed(error)
            raise
        finally:
            self.give_back(lease, target=target)

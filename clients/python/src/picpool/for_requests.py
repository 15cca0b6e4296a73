"""``requests`` through the pool."""

from __future__ import annotations

from typing import Any, Optional
from urllib.parse import urlsplit

import requests

from .client import Picpool
from .rotation import Rotation

#: Errors that are the proxy's fault rather than the target's.
_FAULTS = (requests.exceptions.ConnectionError, requests.exceptions.Timeout, requests.exceptions.ChunkedEncodingError)
_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS"})


class PooledSession(requests.Session):
    """A session whose requests each go through another proxy of the pool, which hears how it did. A GET is tried with up to
    ``tries`` proxies; what changes something at the target is sent once. Socks proxies need ``PySocks``.

        with PooledSession(Picpool("http://localhost:3000"), country=["DE", "FR"]) as session:
            session.get("https://example.com/", timeout=10)
    """

    def __init__(self, picpool: Picpool, *, tries: int = 5, **filter: Any) -> None:
        super().__init__()
        self.trust_env = False
        self._rotation = Rotation(picpool, **filter)
        self._tries = tries

    def request(self, method: Any, url: Any, *args: Any, **options: Any) -> requests.Response:
        if options.get("proxies"):
            return super().request(method, url, *args, **options)
        options.setdefault("timeout", 20)
        target = urlsplit(str(url)).hostname
        fault: Optional[BaseException] = None
        for _ in range(self._tries if str(method).upper() in _REPEATABLE else 1):
            try:
                with self._rotation.take(target) as lease:
                    options["proxies"] = {"http": lease.url, "https": lease.url}
                    return super().request(method, url, *args, **options)
            except _FAULTS as error:
                fault = error
        assert fault is not None
        raise fault

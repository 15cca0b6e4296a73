"""``requests`` through the pool, or through a gateway."""

from __future__ import annotations

from typing import Any, Callable, Optional
from urllib.parse import urlsplit

import requests

from .bans import REPEATABLE, is_ban, status_of
from .client import Picpool
from .rotation import by_scheme

#: Errors that are the proxy's fault rather than the target's.
_FAULTS = (requests.exceptions.ConnectionError, requests.exceptions.Timeout, requests.exceptions.ChunkedEncodingError)
#: Of each, requests keeps the connections.
_KEPT_PROXIES = 8


class PooledSession(requests.Session):
    """A session whose requests each go through another proxy of the pool, which hears how it did. A GET is tried with up to
    ``tries`` proxies; what changes something at the target is sent once. Without ``protocol`` in the filter, proxies are those for the
    scheme of the URL. Socks proxies need ``PySocks``.

        with PooledSession(Picpool("http://localhost:3000"), country=["DE", "FR"]) as session:
            session.get("https://example.com/", timeout=10)

    ``gateway``: the URL of a gateway, which is used instead of the list. ``is_ban`` tells which responses refuse the exit: such a
    response counts as a failure of the proxy, and a GET is tried elsewhere. If all tries end so, the last response is returned.
    """

    def __init__(
        self,
        picpool: Picpool,
        *,
        tries: int = 5,
        gateway: Optional[str] = None,
        is_ban: Callable[[requests.Response], bool] = is_ban,
        **filter: Any,
    ) -> None:
        super().__init__()
        self.trust_env = False
        self._rotations = by_scheme(picpool, gateway, filter)
        self._tries = tries
        self._is_ban = is_ban

    def request(self, method: Any, url: Any, *args: Any, **options: Any) -> requests.Response:
        if options.get("proxies"):
            return super().request(method, url, *args, **options)
        options.setdefault("timeout", 20)
        parts = urlsplit(str(url))
        rotation = self._rotations["https" if parts.scheme == "https" else "http"]
        refused: Optional[requests.Response] = None
        fault: Optional[BaseException] = None
        for _ in range(self._tries if str(method).upper() in REPEATABLE else 1):
            try:
                with rotation.take(parts.hostname, faults=_FAULTS) as lease:
                    options["proxies"] = {"http": lease.url, "https": lease.url}
                    response = super().request(method, url, *args, **options)
                    if not self._is_ban(response):
                        return response
                    lease.banned(f"status {status_of(response)}")
                if refused is not None:
                    refused.close()
                refused = response
            except _FAULTS as error:
                fault = error
            finally:
                for adapter in self.adapters.values():
                    for proxy in list(adapter.proxy_manager)[:-_KEPT_PROXIES]:
                        adapter.proxy_manager.pop(proxy, None)
        if refused is not None:
            return refused
        assert fault is not None
        raise fault

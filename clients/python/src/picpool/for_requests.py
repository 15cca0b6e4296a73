"""``requests`` through the pool, or through a gateway."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.utils import select_proxy

from .bans import REPEATABLE, is_ban, is_never_a_sites, is_own_answer, is_unreached, status_of
from .client import Picpool
from .rotation import by_scheme

#: Errors that are the proxy's fault rather than the target's.
_FAULTS = (requests.exceptions.ConnectionError, requests.exceptions.Timeout, requests.exceptions.ChunkedEncodingError)
#: Of each, requests keeps the connections.
_KEPT_PROXIES = 8


class PooledSession(requests.Session):
    """A session whose requests each go through another proxy of the pool, which hears how it did, and redirects through others. A GET is
    tried with up to ``tries`` proxies; what changes something at the target is sent once. Without ``protocol`` in the filter, proxies are
    those for the scheme of the URL. Socks proxies need ``PySocks``.

        with PooledSession(Picpool("http://localhost:3000"), country=["DE", "FR"]) as session:
            session.get("https://example.com/", timeout=10)

    ``gateway``: the URL of a gateway, which is used instead of the list. ``is_ban`` tells which responses refuse the exit: such a
    response counts as a failure of the proxy, and a GET is tried elsewhere. So do 502, 503 and 504 over plain http. If all tries end so, the
    last response is returned. 407 and 511, which only proxies send, are never returned.
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
        self._gateway = gateway is not None
        self._tries = tries
        self._is_ban = is_ban

    def request(self, method: Any, url: Any, *args: Any, **options: Any) -> requests.Response:
        options.setdefault("timeout", 20)
        return super().request(method, url, *args, **options)

    def get_adapter(self, url: Any) -> BaseAdapter:
        # A redirect may lead to a scheme that the proxy before it cannot carry, so each hop has its own.
        return _Pooled(super().get_adapter(url), self._exchange)

    def _exchange(self, adapter: Any, request: requests.PreparedRequest, options: Dict[str, Any]) -> requests.Response:
        url = str(request.url)
        parts = urlsplit(url)
        rotation = self._rotations["https" if parts.scheme == "https" else "http"]
        refused: Optional[requests.Response] = None
        fault: Optional[BaseException] = None
        for _ in range(self._tries if str(request.method).upper() in REPEATABLE else 1):
            try:
                with rotation.take(parts.hostname, faults=_FAULTS) as lease:
                    options["proxies"] = {"http": lease.url, "https": lease.url}
                    response: requests.Response = adapter.send(request, **options)
                    if not options.get("stream"):
                        response.content
                    reason = f"status {status_of(response)}"
                    if is_never_a_sites(response, self._gateway):
                        response.close()
                        raise requests.exceptions.ProxyError(f"The proxy itself has answered: {reason}.")
                    if not (self._gateway and is_own_answer(response)) and self._is_ban(response):
                        lease.banned(reason)
                    elif is_unreached(response, url, self._gateway):
                        lease.failed(reason)
                    else:
                        return response
                if refused is not None:
                    refused.close()
                refused = response
            except _FAULTS as error:
                fault = error
            finally:
                for proxy in list(adapter.proxy_manager)[:-_KEPT_PROXIES]:
                    adapter.proxy_manager.pop(proxy, None)
        if refused is not None:
            return refused
        assert fault is not None
        raise fault


class _Pooled(BaseAdapter):
    """Leaves requests without a proxy of their own to the pool."""

    def __init__(self, adapter: BaseAdapter, exchange: Callable[..., requests.Response]) -> None:
        super().__init__()
        self._adapter = adapter
        self._exchange = exchange

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        if select_proxy(str(request.url), options.get("proxies")):
            return self._adapter.send(request, *args, **options)
        return self._exchange(self._adapter, request, options)

    def close(self) -> None:
        self._adapter.close()

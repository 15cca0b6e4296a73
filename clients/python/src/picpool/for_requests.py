"""``requests`` through the pool, or through a gateway."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union
from urllib.parse import urlsplit

import requests

from .bans import REPEATABLE, is_ban, status_of
from .client import Picpool
from .rotation import GatewayRotation, Rotation

#: Errors that are the proxy's fault rather than the target's.
_FAULTS = (requests.exceptions.ConnectionError, requests.exceptions.Timeout, requests.exceptions.ChunkedEncodingError)


class PooledSession(requests.Session):
    """A session whose requests each go through another proxy of the pool, which hears how it did. A GET is tried with up to
    ``tries`` proxies; what changes something at the target is sent once. Socks proxies need ``PySocks``.

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
        self._rotation: Union[Rotation, GatewayRotation]
        self._rotation = GatewayRotation(picpool, gateway) if gateway else Rotation(picpool, **filter)
        self._tries = tries
        self._is_ban = is_ban

    def request(self, method: Any, url: Any, *args: Any, **options: Any) -> requests.Response:
        if options.get("proxies"):
            return super().request(method, url, *args, **options)
        options.setdefault("timeout", 20)
        target = urlsplit(str(url)).hostname
        refused: Optional[requests.Response] = None
        fault: Optional[BaseException] = None
        for _ in range(self._tries if str(method).upper() in REPEATABLE else 1):
            try:
                with self._rotation.take(target, faults=_FAULTS) as lease:
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
        if refused is not None:
            return refused
        assert fault is not None
        raise fault

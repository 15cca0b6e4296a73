"""A downloader middleware for Scrapy that sends each request through another proxy of the pool.

    DOWNLOADER_MIDDLEWARES = {"picpool.for_scrapy.PicpoolMiddleware": 560}   # before RetryMiddleware and HttpProxyMiddleware
    PICPOOL_URL = "http://localhost:3000"
    PICPOOL_TOKEN = None
    PICPOOL_FILTER = {"country": ["DE"]}
    PICPOOL_IS_BAN = "picpool.bans.is_ban"   # a function of the response, or its path

Scrapy speaks HTTP to proxies: without ``protocol`` in the filter, they are ``http`` ones for http, and ``https`` ones for https. A request that has ``proxy`` in its ``meta``, even
``None``, is left alone; ``RetryMiddleware`` sends a request that failed through another proxy. A response that refuses the exit counts as
a failure of the proxy, and a GET is sent through another one, as often as ``RETRY_TIMES`` says. With a gateway, set
``PICPOOL_GATEWAY = gateway_url(...)``: every request goes there as a session of its own, and bans are reported to ``PICPOOL_URL``.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional
from urllib.parse import urlsplit

from twisted.internet.threads import deferToThread

from .bans import REPEATABLE, is_ban, is_never_a_sites, is_own_answer, is_unreached, status_of
from .client import Picpool
from .rotation import Lease, _Leases, by_scheme


class PicpoolMiddleware:
    def __init__(self, crawler: Any, rotations: Dict[str, _Leases], is_ban: Callable[[Any], bool], gateway: bool = False) -> None:
        self._crawler = crawler
        self._gateway = gateway
        self._rotations = rotations
        self._is_ban = is_ban

    @classmethod
    def from_crawler(cls, crawler: Any) -> PicpoolMiddleware:
        from scrapy.utils.misc import load_object

        settings = crawler.settings
        url = settings.get("PICPOOL_URL")
        picpool = Picpool(url, token=settings.get("PICPOOL_TOKEN")) if url else None
        rotations = by_scheme(picpool, settings.get("PICPOOL_GATEWAY"), settings.getdict("PICPOOL_FILTER"))
        gateway = bool(settings.get("PICPOOL_GATEWAY"))
        return cls(crawler, rotations, load_object(settings.get("PICPOOL_IS_BAN") or is_ban), gateway)

    def _rotation(self, request: Any) -> _Leases:
        return self._rotations["https" if request.url.startswith("https:") else "http"]

    async def process_request(self, request: Any) -> None:
        if "proxy" in request.meta and "picpool_lease" not in request.meta:
            return None
        from scrapy.utils.defer import maybe_deferred_to_future

        lease: Lease = await maybe_deferred_to_future(deferToThread(self._rotation(request).next))
        request.meta["picpool_lease"] = lease
        request.meta["proxy"] = lease.url
        return None

    def process_response(self, request: Any, response: Any) -> Any:
        lease: Optional[Lease] = request.meta.get("picpool_lease")
        # Scrapy's cache marks what it has kept, for which no proxy was used.
        if lease is None or "cached" in response.flags:
            return response
        reason = f"status {status_of(response)}"
        banned = not (self._gateway and is_own_answer(response)) and self._is_ban(response)
        if banned:
            lease.banned(reason)
        # A gateway says itself which of its exits has failed.
        failed = not banned and (
            is_never_a_sites(response, self._gateway) or is_unreached(response, request.url, self._gateway)
        )
        if failed:
            lease.failed(reason)
        self._end(request)
        if not (banned or failed) or request.method not in REPEATABLE:
            return response
        from scrapy.downloadermiddlewares.retry import get_retry_request

        again = get_retry_request(request, reason=f"{'banned' if banned else 'proxy'}: {reason}", spider=self._crawler.spider)
        return again or response

    def process_exception(self, request: Any, exception: Exception) -> None:
        from scrapy.exceptions import IgnoreRequest

        lease: Optional[Lease] = request.meta.get("picpool_lease")
        # Other middlewares drop requests that no proxy has seen.
        if lease is not None and not isinstance(exception, IgnoreRequest):
            lease.failed(f"{type(exception).__name__}: {exception}")
            self._end(request)

    def _end(self, request: Any) -> None:
        lease: Lease = request.meta["picpool_lease"]
        deferToThread(self._rotation(request).give_back, lease, target=urlsplit(request.url).hostname)

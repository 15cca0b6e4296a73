"""A downloader middleware for Scrapy that sends each request through another proxy of the pool.

    DOWNLOADER_MIDDLEWARES = {"picpool.for_scrapy.PicpoolMiddleware": 560}   # before RetryMiddleware and HttpProxyMiddleware
    PICPOOL_URL = "http://localhost:3000"
    PICPOOL_TOKEN = None
    PICPOOL_FILTER = {"protocol": ["http", "https"], "country": ["DE"]}

Scrapy speaks HTTP to proxies: without a filter, ``http`` and ``https`` ones are taken. A request that has ``proxy`` in its ``meta``, even
``None``, is left alone; ``RetryMiddleware`` sends a request that failed through another proxy. With a gateway, set
``PICPOOL_GATEWAY = gateway_url(...)`` instead: every request goes there, and nothing is reported, as the gateway sees it all.
"""

from __future__ import annotations

from typing import Any, Optional
from urllib.parse import urlsplit

from twisted.internet.threads import deferToThread

from .client import Picpool
from .rotation import Lease, Rotation


class PicpoolMiddleware:
    def __init__(self, rotation: Optional[Rotation], gateway: Optional[str]) -> None:
        self._rotation = rotation
        self._gateway = gateway

    @classmethod
    def from_crawler(cls, crawler: Any) -> PicpoolMiddleware:
        settings = crawler.settings
        gateway = settings.get("PICPOOL_GATEWAY")
        if gateway:
            return cls(None, gateway)
        picpool = Picpool(settings["PICPOOL_URL"], token=settings.get("PICPOOL_TOKEN"))
        filter = settings.getdict("PICPOOL_FILTER") or {"protocol": ["http", "https"]}
        return cls(Rotation(picpool, **filter), None)

    async def process_request(self, request: Any) -> None:
        if "proxy" in request.meta and "picpool_lease" not in request.meta:
            return None
        if self._rotation is None:
            request.meta["proxy"] = self._gateway
            return None
        from scrapy.utils.defer import maybe_deferred_to_future

        lease: Lease = await maybe_deferred_to_future(deferToThread(self._rotation.next))
        request.meta["picpool_lease"] = lease
        request.meta["proxy"] = lease.url
        return None

    def process_response(self, request: Any, response: Any) -> Any:
        # 407 and 502 come from proxies; 403 and 429 are the target's reaction to this exit.
        if response.status in (407, 502, 503, 504):
            self._end(request, f"status {response.status}")
        else:
            self._end(request, None)
        return response

    def process_exception(self, request: Any, exception: Exception) -> None:
        self._end(request, f"{type(exception).__name__}: {exception}")

    def _end(self, request: Any, error: Optional[str]) -> None:
        lease: Optional[Lease] = request.meta.get("picpool_lease")
        if lease is None or self._rotation is None:
            return
        if error is not None:
            lease.failed(error)
        deferToThread(self._rotation.give_back, lease, target=urlsplit(request.url).hostname)

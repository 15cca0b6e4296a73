"""The client of picpool, a proxy pool and an image host.

    from picpool import Picpool

    with Picpool("http://localhost:3000") as picpool:
        print(picpool.upload("cat.jpg", format="avif")["markdown"])
        for proxy in picpool.proxies(protocol="socks5", country=["DE", "FR"]):
            print(proxy_url(proxy))

``AsyncPicpool`` has the same methods to be awaited. ``picpool.rotation`` takes proxies from the pool and reports how they did;
``picpool.for_requests``, ``picpool.for_scrapy`` and ``picpool.for_playwright`` do that for these libraries.
"""

from ._calls import PicpoolError
from ._types import Image, ImageInfo, Job, ListedImage, Proxy, ProxyDetails, TestResult, Uploaded, UploadOptions, proxy_url
from .bans import is_ban
from .client import AsyncPicpool, Picpool
from .gateway import gateway_url
from .rotation import GatewayRotation, Lease, Rotation

__all__ = [
    "AsyncPicpool",
    "GatewayRotation",
    "Image",
    "ImageInfo",
    "Job",
    "Lease",
    "ListedImage",
    "Picpool",
    "PicpoolError",
    "Proxy",
    "ProxyDetails",
    "Rotation",
    "TestResult",
    "Uploaded",
    "UploadOptions",
    "gateway_url",
    "is_ban",
    "proxy_url",
]

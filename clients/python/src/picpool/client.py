from __future__ import annotations

import asyncio
import time
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Iterator, List, Optional, Set, Type, cast

import httpx

from . import _calls as calls
from ._calls import Call, Picture, PicpoolError, Reader
from ._types import Image, ImageInfo, Job, ListedImage, Proxy, ProxyDetails, TestResult, Uploaded, UploadOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Picpool:
    """One server. Each method raises ``PicpoolError`` where the server refuses or does not answer.

    ``token`` is one of the server, or its ``ADMIN_TOKEN``. A GET that is answered 429 or 503 is sent again, ``retries`` times,
    after the time that the server names, unless that is more than a minute. An upload whose answer was lost is repeated once, unless
    ``retries`` is 0; nothing else is.
    """

    def __init__(self, url: str, *, token: Optional[str] = None, retries: int = 2, http: Optional[httpx.Client] = None) -> None:
        self.url = url.rstrip("/")
        self._retries = retries
        # The environment's proxy settings are not meant for this server.
        self._http = http or httpx.Client(trust_env=False)
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}

    def __enter__(self) -> Picpool:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def stats(self) -> Dict[str, Any]:
        """Statistics of the services that run."""
        return self._json(Call("GET", "/api/stats"))

    def proxies(self, **filter: Any) -> Iterator[Proxy]:
        """All proxies that the filter leaves, fetched in pages as the loop goes on. Filters are those of ``GET /api/v1/proxies``;
        several values are given as a list; an empty one does not filter."""
        told: Set[int] = set()
        offset = 0
        while True:
            page = self._page(calls.proxies_page(filter, offset=offset, limit=calls.PROXIES_A_PAGE))
            for proxy in page:
                # The pool changes meanwhile: a proxy that moves to a later page is not repeated.
                if proxy["id"] not in told:
                    told.add(proxy["id"])
                    yield proxy
            if len(page) < calls.PROXIES_A_PAGE or filter.get("random"):
                return
            offset += calls.PROXIES_A_PAGE

    def some_proxies(self, count: int, **filter: Any) -> List[Proxy]:
        """The first so many of them, 1 to 500."""
        return self._page(calls.proxies_page(filter, limit=count))

    def proxy(self, id: int) -> ProxyDetails:
        return cast(ProxyDetails, self._json(calls.proxy_call(id)))

    def test_proxy(self, ip: str, port: int, protocol: str = "http") -> TestResult:
        """Tests any proxy now, and waits for the result."""
        return cast(TestResult, self._json(calls.test_call(ip, port, protocol)))

    def report(self, id: int, ok: bool, *, target: Optional[str] = None, error: Optional[str] = None) -> None:
        """Tells the server how a proxy has done."""
        self._json(calls.report_call(id, ok, target, error))

    def report_gateway(
        self,
        target: str,
        ok: bool,
        *,
        session: Optional[str] = None,
        exit: Optional[str] = None,
        id: Optional[int] = None,
        error: Optional[str] = None,
        rest: Optional[str] = None,
        token: Optional[str] = None,
    ) -> Dict[str, Any]:
        """Tells the gateway how an exit has done at a site: the exit of a session, an address, or the ID of a proxy. One that failed is
        left out for the site, and the session moves on. ``token``: of the gateway; that of the client by default. ``rest``: for how
        long, such as ``15m``."""
        what = {"target": target, "ok": ok, "session": session, "exit": exit, "id": id, "error": error, "rest": rest}
        return self._json(calls.gateway_report_call(what, token))

    def refresh(self) -> Job:
        """Starts a refresh of the pool, or answers the one that runs."""
        return cast(Job, self._json(Call("POST", "/api/refresh", must_have=("job",)))["job"])

    def current_refresh(self) -> Job:
        return cast(Job, self._json(Call("GET", "/api/refresh", must_have=("job",)))["job"])

    def upload(
        self, picture: Picture, *, filename: Optional[str] = None, idempotency_key: Optional[str] = None, **options: Unpack[UploadOptions]
    ) -> Uploaded:
        """Uploads a picture: a path, its bytes or an open file. Options are those of ``UploadOptions``. ``idempotency_key``: 16 to 255 characters without
        spaces; another upload with the same key, picture and options within 10 minutes returns what the first has stored."""
        return cast(Uploaded, self._json(calls.upload_call(picture, filename, idempotency_key, options)))

    def image(self, id: str, *, password: Optional[str] = None) -> ImageInfo:
        """What is known of a picture."""
        return cast(ImageInfo, self._json(calls.info_call(id, password)))

    def image_file(self, image: Image, *, password: Optional[str] = None) -> bytes:
        """The file of a picture, as it is stored."""
        return cast(bytes, self._send(calls.file_call(image, password), calls.picture_of))

    def images(self, text: Optional[str] = None) -> Iterator[ListedImage]:
        """All public pictures, newest first, fetched in pages as the loop goes on; those with the text in name, id or format."""
        cursor: Optional[str] = None
        while True:
            page = self._json(calls.images_page(text, cursor))
            yield from cast(List[ListedImage], page["images"])
            cursor = page["next"]
            if cursor is None:
                return

    def delete_image(self, id: str, *, token: Optional[str] = None) -> None:
        """Deletes a picture that was uploaded from this address, or by its delete token."""
        self._json(calls.delete_call(id, token))

    def _page(self, call: Call) -> List[Proxy]:
        return cast(List[Proxy], self._json(call)["proxies"])

    def _json(self, call: Call) -> Dict[str, Any]:
        return cast(Dict[str, Any], self._send(call, calls.parsed))

    def _send(self, call: Call, read: Reader) -> Any:
        call.headers = {**self._headers, **call.headers}
        for attempt in count():
            try:
                answer = self._http.request(call.method, self.url + call.path, **call.arguments())
                return read(self.url, calls.check(answer), call)
            except (httpx.HTTPError, PicpoolError) as fault:
                error = fault if isinstance(fault, PicpoolError) else calls.no_answer(self.url, fault)
                pause = calls.pause_before_again(call, error, attempt, self._retries)
                if pause is None:
                    raise error
                time.sleep(pause)


class AsyncPicpool:
    """The same as ``Picpool``, to be awaited; loops are ``async for``."""

    def __init__(
        self, url: str, *, token: Optional[str] = None, retries: int = 2, http: Optional[httpx.AsyncClient] = None
    ) -> None:
        self.url = url.rstrip("/")
        self._retries = retries
        self._http = http or httpx.AsyncClient(trust_env=False)
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}

    async def __aenter__(self) -> AsyncPicpool:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def stats(self) -> Dict[str, Any]:
        return await self._json(Call("GET", "/api/stats"))

    async def proxies(self, **filter: Any) -> AsyncIterator[Proxy]:
        told: Set[int] = set()
        offset = 0
        while True:
            page = await self._page(calls.proxies_page(filter, offset=offset, limit=calls.PROXIES_A_PAGE))
            for proxy in page:
                if proxy["id"] not in told:
                    told.add(proxy["id"])
                    yield proxy
            if len(page) < calls.PROXIES_A_PAGE or filter.get("random"):
                return
            offset += calls.PROXIES_A_PAGE

    async def some_proxies(self, count: int, **filter: Any) -> List[Proxy]:
        return await self._page(calls.proxies_page(filter, limit=count))

    async def proxy(self, id: int) -> ProxyDetails:
        return cast(ProxyDetails, await self._json(calls.proxy_call(id)))

    async def test_proxy(self, ip: str, port: int, protocol: str = "http") -> TestResult:
        return cast(TestResult, await self._json(calls.test_call(ip, port, protocol)))

    async def report(self, id: int, ok: bool, *, target: Optional[str] = None, error: Optional[str] = None) -> None:
        await self._json(calls.report_call(id, ok, target, error))

    async def report_gateway(
        self,
        target: str,
        ok: bool,
        *,
        session: Optional[str] = None,
        exit: Optional[str] = None,
        id: Optional[int] = None,
        error: Optional[str] = None,
        rest: Optional[str] = None,
        token: Optional[str] = None,
    ) -> Dict[str, Any]:
        what = {"target": target, "ok": ok, "session": session, "exit": exit, "id": id, "error": error, "rest": rest}
        return await self._json(calls.gateway_report_call(what, token))

    async def refresh(self) -> Job:
        return cast(Job, (await self._json(Call("POST", "/api/refresh", must_have=("job",))))["job"])

    async def current_refresh(self) -> Job:
        return cast(Job, (await self._json(Call("GET", "/api/refresh", must_have=("job",))))["job"])

    async def upload(
        self, picture: Picture, *, filename: Optional[str] = None, idempotency_key: Optional[str] = None, **options: Unpack[UploadOptions]
    ) -> Uploaded:
        call = await asyncio.to_thread(calls.upload_call, picture, filename, idempotency_key, options)
        return cast(Uploaded, await self._json(call))

    async def image(self, id: str, *, password: Optional[str] = None) -> ImageInfo:
        return cast(ImageInfo, await self._json(calls.info_call(id, password)))

    async def image_file(self, image: Image, *, password: Optional[str] = None) -> bytes:
        return cast(bytes, await self._send(calls.file_call(image, password), calls.picture_of))

    async def images(self, text: Optional[str] = None) -> AsyncIterator[ListedImage]:
        cursor: Optional[str] = None
        while True:
            page = await self._json(calls.images_page(text, cursor))
            for image in cast(List[ListedImage], page["images"]):
                yield image
            cursor = page["next"]
            if cursor is None:
                return

    async def delete_image(self, id: str, *, token: Optional[str] = None) -> None:
        await self._json(calls.delete_call(id, token))

    async def _page(self, call: Call) -> List[Proxy]:
        return cast(List[Proxy], (await self._json(call))["proxies"])

    async def _json(self, call: Call) -> Dict[str, Any]:
        return cast(Dict[str, Any], await self._send(call, calls.parsed))

    async def _send(self, call: Call, read: Reader) -> Any:
        call.headers = {**self._headers, **call.headers}
        for attempt in count():
            try:
                answer = await self._http.request(call.method, self.url + call.path, **call.arguments())
                return read(self.url, calls.check(answer), call)
            except (httpx.HTTPError, PicpoolError) as fault:
                error = fault if isinstance(fault, PicpoolError) else calls.no_answer(self.url, fault)
                pause = calls.pause_before_again(call, error, attempt, self._retries)
                if pause is None:
                    raise error
                await asyncio.sleep(pause)

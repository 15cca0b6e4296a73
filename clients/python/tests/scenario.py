"""What a user of the client does with a server: ``scenario.py URL TOKEN PAGE PART...``

The server has more than 500 dead proxies. Of the country AQ it has two that it calls alive: one whose port is closed, and one that
works. PAGE is what they are to reach; it answers with the name of the proxy that asked. Of the country BV it has two that work; /picky
beside PAGE refuses the first of them. Prints what was done, as JSON.
"""

import asyncio
import io
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import get_type_hints
from urllib.parse import urljoin, urlsplit

import httpx
import picpool
from picpool import AsyncPicpool, GatewayRotation, Picpool, PicpoolError, Rotation, gateway_url, is_ban, proxy_url

URL, TOKEN, PAGE, *PARTS = sys.argv[1:]
GIF = bytes.fromhex("47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b")
PICKY = urljoin(PAGE, "/picky")
done = []


def check(name, fact):
    if not fact:
        raise AssertionError(f"not as it should be: {name}")
    done.append(name)


def refused(work, kind=PicpoolError):
    try:
        work()
    except kind as error:
        return error
    raise AssertionError("nothing was refused")


def answering(response):
    return Picpool("http://s", http=httpx.Client(transport=httpx.MockTransport(response)))


def never(_):
    raise httpx.ReadTimeout("")


def closed(_):
    raise httpx.RemoteProtocolError("closed.")


def cut(answer):
    return httpx.Response(201, content=answer.content[:99])


def page(status):
    return lambda _: httpx.Response(status, html="<h1>Bad", headers={"retry-after": "0"})


def losing(sent, *ways):
    """The server, but answers are lost as each of ``ways`` says. The keys of what is sent are noted."""

    def passed(request):
        sent.append(request.headers["idempotency-key"])
        told = httpx.post(urljoin(URL, "/api/upload"), content=request.read(), headers=request.headers)
        answer = httpx.Response(told.status_code, content=told.content)
        return ways[len(sent) - 1](answer) if len(sent) <= len(ways) else answer

    return httpx.MockTransport(passed)


def sync_client():
    with Picpool(URL + "/", token=TOKEN) as picpool:
        stats = picpool.stats()
        ids = {proxy["id"] for proxy in picpool.proxies(status="dead")}
        check("every proxy over pages", len(ids) == stats["total"] - stats["alive"] > 500)
        few = picpool.some_proxies(3, protocol=["socks4", "socks5"], sort="response_time")
        check("a limit is not ignored", "some_proxies" in str(refused(lambda: next(picpool.proxies(limit=3)), TypeError)))
        check("filters", len(few) == 3 and all(one["protocol"].startswith("socks") for one in few))
        check("one proxy", picpool.proxy(few[0]["id"])["ip"] == few[0]["ip"] and few[0]["ip"] in proxy_url(few[0]))
        error = refused(lambda: picpool.some_proxies(-1))
        check("a refusal in words", (error.status, error.code, error.details[0]["field"]) == (400, "invalid_parameter", "limit"))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "café.gif")
            path.write_bytes(GIF)
            first = picpool.upload(path, format="gif")
        check("an upload of a file", (first["filename"], first["format"]) == ("café.gif", "gif"))
        hidden = picpool.upload(io.BytesIO(GIF), filename="hidden.gif", format="png", password="tea")
        check("a password", refused(lambda: picpool.image(hidden["id"])).code == "password_required")
        check("the file", len(picpool.image_file(hidden, password="tea")) == hidden["size"])
        found = [image["id"] for image in picpool.images("café")]
        check("a search", first["id"] in found and hidden["id"] not in found)
        for image in (first, hidden):
            picpool.delete_image(image["id"], token=image["delete_token"])
        check("deletion", refused(lambda: picpool.image(first["id"])).status == 404)
        check("a refresh", picpool.refresh()["id"] == picpool.current_refresh()["id"] != "")
        secret = picpool.upload(GIF, format="gif", password="茶 é")
        check("a password in any script", len(picpool.image_file(secret, password="茶 é")) == secret["size"])
        picpool.delete_image(secret["id"], token=secret["delete_token"])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(os.fsencode(folder), b"caf\xe9.gif")
            Path(os.fsdecode(path)).write_bytes(GIF)
            with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as screenshot:
                piped = picpool.upload(screenshot.stdout, format="gif")
            named = picpool.upload(os.fsdecode(path), format="gif")
        with tempfile.SpooledTemporaryFile() as spooled:
            spooled.write(GIF)
            kept = picpool.upload(spooled, format="gif")
        check("an upload of a spooled file, which before Python 3.11 has no seekable()", kept["filename"] == "image")
        check("an upload of a pipe", piped["filename"] == "image")
        check("an upload of a file whose name is not UTF-8", named["filename"] == "caf?.gif")
        for image in (piped, named, kept):
            picpool.delete_image(image["id"], token=image["delete_token"])
    away = refused(lambda: Picpool("http://127.0.0.1:9").stats())
    check("a server that is away", away.status == 0 and away.code == "network")
    silent = refused(answering(never).stats)
    check("an error without words", str(silent) == "http://s does not respond: ReadTimeout.")
    check("an error with a full stop", str(refused(answering(closed).stats)) == "http://s does not respond: closed.")
    moved = refused(answering(lambda _: httpx.Response(301, headers={"location": "https://s/"})).stats)
    check("a redirect", moved.code == "redirected" and "https://s/" in str(moved))
    portal = answering(lambda _: httpx.Response(200, html="<p>Log in"))
    believing = [portal.stats, lambda: portal.delete_image("abc", token="t"), lambda: portal.report(1, True), lambda: portal.image_file({"id": "abc", "format": "png"})]
    check("a page instead of an answer", [refused(one).code for one in believing] == ["invalid_answer"] * 4)
    for foreign in ({}, {"success": True}, {"success": False, "id": "abc", "proxies": [], "images": []}):
        other = answering(lambda _: httpx.Response(200, json=foreign))
        believing = [lambda: other.delete_image("abc"), lambda: other.some_proxies(1), lambda: next(other.images()), other.refresh]
        believing += [lambda: other.upload(GIF), lambda: other.image("abc"), lambda: other.proxy(1), lambda: other.test_proxy("192.0.2.1", 80)]
        check(f"JSON of another program: {foreign}", [refused(one).code for one in believing] == ["invalid_answer"] * 8)


def waits():
    asked = []

    def busy(wait):
        asked.clear()
        response = lambda request: asked.append(request) or httpx.Response(503, headers=[(b"Retry-After", wait)])
        return refused(answering(response).stats).retry_after, len(asked)

    check("a time to wait as a date", busy(formatdate(time.time() - 1, usegmt=True).encode()) == (0, 3))
    later, calls = busy(formatdate(time.time() + 600, usegmt=True).encode())
    check("a wait of more than a minute is left to the caller", 590 < later <= 600 and calls == 1)
    check("a wait beyond all numbers", busy(b"9" * 20) == (float("9" * 20), 1))
    limits = []
    taking = answering(lambda request: limits.append(request.extensions["timeout"]["read"]) or httpx.Response(200, json={"success": True}))
    taking.report(1, True)
    taking.report_gateway("site.test", True, session="abc")
    check("a report, which nobody needs, waits for 5 seconds at most", limits == [5, 5])
    for none in (b"\xb2", b"1 Jan 2020 00:00:00 +99999999999999999999"):
        check("a wait that is none", refused(answering(lambda _: httpx.Response(429, headers=[(b"Retry-After", none)])).refresh).retry_after is None)


def types():
    api = httpx.get(urljoin(URL, "/openapi.json")).json()
    described = api["components"]["schemas"]
    names = {"UploadedImage": "Uploaded", "RefreshJob": "Job", "ProxyTest": "TestResult"}
    for schema in ("ProxyDetails", "ProxyTest", "RefreshJob", "ListedImage", "ImageInfo", "UploadedImage"):
        told = get_type_hints(getattr(picpool, names.get(schema, schema))).keys()
        check(f"types: {schema}", described[schema]["properties"].keys() - {"success"} == told)
    form = api["paths"]["/api/upload"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]
    check("types: the options of an upload", form.keys() - {"image", "filename"} == get_type_hints(picpool.UploadOptions).keys())


class Once:
    """A picture that can be read once only."""

    def __init__(self):
        self.read = io.BytesIO(GIF).read


def losses():
    bad = page(502)
    # Others have left pictures on this server.
    run = secrets.token_hex(4)

    def outcome(name, *ways, retries=2, picture=GIF, **options):
        sent = []
        name += run
        with Picpool(URL, retries=retries, http=httpx.Client(transport=losing(sent, *ways))) as picpool, Picpool(URL) as bare:
            try:
                uploaded = picpool.upload(picture, filename=name, **options)
            except PicpoolError as error:
                uploaded = error
            stored, mine = list(bare.images(name)), False
            for image in stored:
                mine = isinstance(uploaded, dict) and uploaded["id"] == image["id"]
                if mine:
                    bare.delete_image(image["id"], token=uploaded["delete_token"])
            return mine or uploaded.code, len(stored), len(sent), len(set(sent))

    for name, way, picture in (("closed", closed, io.BytesIO(GIF)), ("cut", cut, GIF), ("bad", bad, Once()), ("late", page(504), io.BytesIO(GIF))):
        check(f"an upload whose answer was lost: {name}", outcome(f"lost-{name}", way, picture=picture) == (True, 1, 2, 1))
    check("it is repeated once", outcome("lost-twice", bad, bad, bad) == ("http_502", 1, 2, 1))
    check("and not with retries=0", outcome("not-again", bad, bad, retries=0) == ("http_502", 1, 1, 1))
    check("nor after a refusal", outcome("busy-now", page(503)) == ("http_503", 1, 1, 1))
    check("but the repetition waits for its turn", outcome("busy-later", bad, page(429)) == (True, 1, 3, 1))
    key = {"idempotency_key": secrets.token_hex()}
    check("a key that is empty is refused", outcome("no-key", idempotency_key="") == ("invalid_parameter", 0, 1, 1))
    outcome("by-key", bad, bad, **key)
    check("a key of one's own", outcome("by-key", **key) == (True, 1, 1, 1))


async def async_client():
    sent = []
    async with AsyncPicpool(URL, http=httpx.AsyncClient(transport=losing(sent, page(502)))) as picpool:
        lost = await picpool.upload(GIF, filename="async-lost.gif", format="gif")
    async with AsyncPicpool(URL, token=TOKEN) as picpool:
        seen = 0
        async for _ in picpool.proxies(status="dead"):
            seen += 1
        check("async: every proxy over pages", seen > 500)
        uploads = await asyncio.gather(*(picpool.upload(GIF, filename=f"async-{n}.gif", format="gif") for n in range(4)))
        found = {image["id"] async for image in picpool.images("async-")}
        check("async: uploads and search", {one["id"] for one in uploads} <= found)
        check("async: an upload whose answer was lost", lost["id"] in found and len(sent) == 2 and len(found) == 5)
        for one in (lost, *uploads):
            await picpool.delete_image(one["id"], token=one["delete_token"])
        check("async: deletion", (await picpool.stats())["total"] > 500)


def rotation():
    """Those of AQ, the one with the closed port first."""
    return Rotation(Picpool(URL, token=TOKEN), country="AQ", sort="response_time")


def with_rotation():
    turns = rotation()
    try:
        with turns.take("example.com") as lease:
            raise ConnectionError("closed")
    except ConnectionError:
        pass
    check("rotation: a failure is told, and another one is next", turns.next().url != lease.url)
    with Picpool(URL, token=TOKEN) as picpool:
        [first, _] = picpool.some_proxies(2, country="AQ", sort="response_time")
        before = picpool.proxy(first["id"])["reports"]
        try:
            with rotation().take("example.com"):
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass
        check("rotation: a use that was interrupted says nothing", picpool.proxy(first["id"])["reports"] == before)
    lists = []

    def listing(request):
        lists.append(request.url.path)
        proxies = [{"id": id, "ip": "192.0.2.1", "port": id, "protocol": "http"} for id in (1, 2, 3)]
        return httpx.Response(200, json={"success": True, "proxies": proxies})

    turns = Rotation(answering(listing))
    for _ in range(9):
        with turns.take():
            pass
    check("rotation: the list is asked for again once all were taken", lists.count("/api/v1/proxies") == 3)
    empty = Rotation(Picpool(URL), country="HM")
    check("rotation: no proxy that suits", refused(empty.next).code == "no_proxy")
    check("the URL of a gateway", gateway_url("host", token="t/k", country="de", sesslock=True) == "http://user-country-de-sesslock:t%2Fk@host:8899")
    check("the URL of a gateway with an IPv6 address", gateway_url("::1", country="de") == "http://user-country-de:none@[::1]:8899")


def picky():
    """Those of BV, the one that the site refuses first."""
    return Rotation(Picpool(URL, token=TOKEN), country="BV", sort="response_time")


def reports():
    """What the server was told of the proxy that the site refuses, the newest first."""
    with Picpool(URL, token=TOKEN) as picpool:
        [refused, _] = picpool.some_proxies(2, country="BV", sort="response_time")
        return picpool.proxy(refused["id"])["reports"]


def with_bans():
    import httpx

    check("bans: by status", [code for code in range(200, 600) if is_ban(httpx.Response(code))] == [403, 429, 451, 503])
    own = [{"X-Picpool-Error": "no_upstream"}, {"Proxy-Status": "edge; error=x, picpool; error=destination_unavailable"}]
    check("bans: not what the gateway says itself", not any(is_ban(httpx.Response(503, headers=one), gateway=True) for one in own))
    check("bans: any other proxy can say it", all(is_ban(httpx.Response(503, headers=one)) for one in own))
    check("bans: another proxy's status is one", is_ban(httpx.Response(503, headers={"Proxy-Status": "picpools; error=x"}), gateway=True))


@contextmanager
def a_gateway():
    """A gateway of which each site refuses the first exit, and that notes what it is told."""
    sessions, told = [], []

    class Gateway(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            import base64

            # Browsers send a login only if they are asked for it.
            if self.headers["Proxy-Authorization"] is None:
                self.send_response(407)
                self.send_header("Proxy-Authenticate", 'Basic realm="gateway"')
                self.send_header("Content-Length", "0")
                return self.end_headers()
            user, _, password = base64.b64decode(self.headers["Proxy-Authorization"].split()[1]).decode().partition(":")
            sessions.append((user, password))
            self.send_response(403 if len(sessions) == 1 else 200)
            # Chromium shows no page for a refusal without one.
            self.send_header("Content-Length", "2")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(b"no")

        do_HEAD = do_GET

        def do_POST(self):
            size = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(size)
            if self.path != "/api/gateway/report":
                return self.do_GET()
            told.append((json.loads(body), self.headers["Authorization"]))
            answer = b'{"success":true,"counted":true}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], sessions, told
    finally:
        server.shutdown()


def with_gateway():
    from picpool.for_requests import PooledSession

    with a_gateway() as (port, sessions, told):
        picpool = Picpool(f"http://127.0.0.1:{port}")
        gateway = gateway_url("127.0.0.1", port, token="t/k", country="de")
        with PooledSession(picpool, gateway=gateway) as session:
            check("gateway: a ban is tried again", session.get("http://site.test/").status_code == 200)
        [(first, password), (second, _)] = sessions
        name = first.rpartition("-")[2]
        with PooledSession(picpool, gateway=gateway) as session:
            before = len(os.listdir("/dev/fd"))
            for _ in range(60):
                session.get("http://site.test/")
            check("gateway: sessions that are over keep no file open", len(os.listdir("/dev/fd")) < before + 60)
            del sessions[2:]
        check("gateway: each try is a session", first != second and first == f"user-country-de-session-{name}" and password == "t/k")
        ban = {"target": "site.test", "ok": False, "session": name, "error": "status 403"}
        check("gateway: a ban is reported, with its token", told == [(ban, "Bearer t/k")])
    with a_gateway() as (port, sessions, told):
        rotation = GatewayRotation(Picpool(f"http://127.0.0.1:{port}"), gateway_url("127.0.0.1", port, session="mine"))
        check("gateway: a session of one's own", rotation.next().session == "mine")
        bare = GatewayRotation(None, f"http://Session-mine:t@127.0.0.1:{port}").next()
        check("gateway: a session without a name in front", (bare.session, bare.url) == ("mine", f"http://Session-mine:t@127.0.0.1:{port}"))
        with PooledSession(Picpool(f"http://127.0.0.1:{port}"), gateway=gateway_url("127.0.0.1", port)) as session:
            check("gateway: what changes something is sent once", session.post("http://site.test/").status_code == 403)
        check("gateway: and its ban is reported", len(sessions) == 1 and told[0][1] is None)


class Pages(BaseHTTPRequestHandler):
    """A proxy that opens no tunnel. The last part of a path is the status of its answer, or where it leads."""

    def do_GET(self):
        path = urlsplit(self.path).path
        status = 200 if self.server.honest in self.connection.getsockname()[0] else int(path[1:4])
        self.send_response(status)
        self.send_header("Location", path[5:].replace("+", "/"))
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_):
        pass


@contextmanager
def pages_of_proxies(honest):
    """A pool of three such proxies, what it was told of them, and the protocols that it was asked for."""
    told, asked = [], []
    server = ThreadingHTTPServer(("0.0.0.0", 0), Pages)
    server.honest = honest

    class Pool(Picpool):
        def some_proxies(self, count, **filter):
            asked.append(filter.get("protocol"))
            return [{"id": n, "ip": f"127.0.0.{n}", "port": server.server_port, "protocol": "http"} for n in (1, 2, 3)]

        def report(self, id, ok, *, target=None, error=None):
            told.append((id, ok, target))

    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Pool("http://127.0.0.1:9"), told, asked
    finally:
        server.shutdown()


def through_pages(url, honest="none", method="get"):
    """What a session gets through these, and what it has told of them and asked for."""
    from picpool.for_requests import PooledSession

    with pages_of_proxies(honest) as (pool, told, asked), PooledSession(pool, tries=3) as session:
        try:
            return getattr(session, method)(url).status_code, told, asked
        except OSError as error:
            return type(error).__name__, told, asked


def with_answers_of_proxies():
    for status in (407, 502, 504, 511):
        elsewhere = [(1, False, "site.test"), (2, True, "site.test")]
        check(f"requests: {status} of a proxy is tried elsewhere", through_pages(f"http://site.test/{status}", "127.0.0.2")[:2] == (200, elsewhere))
        got, told, _ = through_pages(f"http://site.test/{status}")
        expected = status if status in (502, 504) else "ProxyError"
        check(f"requests: {status} of all proxies", got == expected and [ok for _, ok, _ in told] == [False] * 3)
        got, told, _ = through_pages(f"http://site.test/{status}", method="post")
        check(f"requests: {status}, once", got == expected and told == [(1, False, "site.test")])


def with_redirects():
    got, told, asked = through_pages("http://site.test/301/http:++other.test+302+https:++third.test+")
    hops = [(1, True, "site.test"), (2, True, "other.test")]
    check("requests: each hop of a redirect has a proxy for its scheme", (got, told[:2], asked) == ("ProxyError", hops, ["http", "https"]))
    check("requests: and only that is blamed which fails", told[2:] == [(n, False, "third.test") for n in (1, 2, 3)])


def with_requests():
    import requests
    from picpool.for_requests import PooledSession

    with_answers_of_proxies()
    with_redirects()
    asked = []
    noting = answering(lambda request: asked.append(request.url.params["protocol"]) or httpx.Response(200, json={"success": True, "proxies": []}))
    with PooledSession(noting) as session:
        for url in ("http://site.test/", "https://site.test/"):
            check("requests: no proxy that suits", refused(lambda: session.get(url)).code == "no_proxy")
    with PooledSession(noting, protocol="socks5") as session:
        refused(lambda: session.get("https://site.test/"))
    check("requests: proxies are those for the scheme, unless the filter says otherwise", asked == ["http", "https", "socks5"])

    with PooledSession(Picpool(URL, token=TOKEN), country="AQ", sort="response_time") as session:
        check("requests: a page by the one that works", "tinyproxy" in session.get(PAGE).text)
    with PooledSession(Picpool(URL, token=TOKEN), country="BV", sort="response_time") as session:
        check("requests: a ban is tried elsewhere", session.get(PICKY).status_code == 200)
        newest = reports()[0]
        check("requests: a ban is a failure", (newest["ok"], newest["target"], newest["error"]) == (False, "127.0.0.1", "status 403"))
    with PooledSession(Picpool(URL, token=TOKEN), country="BV", sort="response_time") as session:
        check("requests: what changes something is sent once", session.post(PICKY).status_code == 403)
    by_text = {"is_ban": lambda response: "127.2.0.8" in response.text, "country": "BV", "sort": "response_time"}
    with PooledSession(Picpool(URL, token=TOKEN), **by_text) as session:
        check("requests: a ban by its text", "127.2.0.9" in session.get(PICKY).text)
    before = reports()
    with PooledSession(Picpool(URL, token=TOKEN), country="BV", sort="response_time") as session:
        try:
            session.get("site.test")
        except requests.exceptions.MissingSchema:
            pass
        check("requests: a fault of the caller is not one of the proxy", reports() == before)
    with PooledSession(Picpool(URL, token=TOKEN), is_ban=lambda _: True, tries=2, country="BV") as session:
        check("requests: the last ban is the answer", session.get(PICKY).status_code in (200, 403))


def with_scrapy():
    import scrapy
    from picpool.for_scrapy import PicpoolMiddleware
    from scrapy.crawler import CrawlerProcess

    pages = []
    unused = []

    class Unused(GatewayRotation):
        def give_back(self, lease, **_):
            unused.append(lease.error)

    class Pool(PicpoolMiddleware):
        @classmethod
        def from_crawler(cls, crawler):
            return cls(crawler, dict.fromkeys(("http", "https"), Unused(None, "http://127.0.0.1:9")), lambda _: False)

    class Near:
        def process_request(self, request):
            if request.url.endswith("kept"):
                return scrapy.http.TextResponse(request.url, flags=["cached"])
            raise scrapy.exceptions.IgnoreRequest

    class Idle(scrapy.Spider):
        name = "idle"
        start_urls = ["http://site.test/kept", "http://site.test/ignored"]
        custom_settings = {"DOWNLOADER_MIDDLEWARES": {Pool: 560, Near: 950}}

        def parse(self, response):
            pages.append(response.url)

    class Spider(scrapy.Spider):
        name = "pages"
        start_urls = [PAGE]

        custom_settings = {
            "DOWNLOADER_MIDDLEWARES": {"picpool.for_scrapy.PicpoolMiddleware": 560},
            "PICPOOL_URL": URL,
            "PICPOOL_TOKEN": TOKEN,
            "PICPOOL_FILTER": {"country": "AQ", "sort": "response_time"},
        }

        def parse(self, response):
            pages.append(response.text)

    class Picky(Spider):
        name = "picky"
        start_urls = [PICKY]
        custom_settings = {**Spider.custom_settings, "PICPOOL_FILTER": {"country": "BV", "sort": "response_time"}}

    with a_gateway() as (port, sessions, told):

        class ByGateway(Spider):
            name = "gateway"
            start_urls = ["http://site.test/"]
            custom_settings = {
                "DOWNLOADER_MIDDLEWARES": {"picpool.for_scrapy.PicpoolMiddleware": 560},
                "PICPOOL_URL": f"http://127.0.0.1:{port}",
                "PICPOOL_GATEWAY": gateway_url("127.0.0.1", port, token="t"),
            }

        process = CrawlerProcess({"LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "DOWNLOAD_DELAY": 0})
        before = reports()
        with pages_of_proxies("127.0.0.2") as (pool, blamed, _):

            class Sick(PicpoolMiddleware):
                @classmethod
                def from_crawler(cls, crawler):
                    return cls(crawler, dict.fromkeys(("http", "https"), Rotation(pool)), is_ban)

            class Answered(Idle):
                name = "answered"
                start_urls = ["http://site.test/511"]
                custom_settings = {"DOWNLOADER_MIDDLEWARES": {Sick: 560}}

            for spider in (Spider, Picky, ByGateway, Idle, Answered):
                process.crawl(spider)
            process.start()
    pages.remove("http://site.test/511")
    check("scrapy: what a proxy answers itself is tried elsewhere", blamed == [(1, False, "site.test"), (2, True, "site.test")])
    check("scrapy: what never reaches a proxy says nothing of it", "http://site.test/kept" in pages and unused == [])
    pages.remove("http://site.test/kept")
    check("scrapy: a page by the one that works", any("tinyproxy" in page for page in pages))
    check("scrapy: a ban is tried elsewhere", "for 127.2.0.9" in pages and len(pages) == 3)
    newest = reports()[0]
    check("scrapy: a ban is a failure", (newest["ok"], newest["error"]) == (False, "status 403") and reports() != before)
    check("scrapy: a ban is reported to the gateway", [report["ok"] for report, _ in told] == [False] and len(sessions) == 2)


class Only(GatewayRotation):
    """Gives one lease, and reports nothing."""

    def __init__(self, lease):
        super().__init__(None, "http://127.0.0.1:9")
        self.next = lambda: lease


def with_playwright():
    from playwright.sync_api import sync_playwright

    from picpool.for_playwright import browser_context, proxy_settings

    turns = rotation()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])
        shown = ""
        for _ in range(2):
            try:
                with browser_context(browser, turns, target=PAGE) as context:
                    page = context.new_page()
                    page.goto(PAGE)
                    shown = page.inner_text("body")
            except Exception as error:
                check("playwright: a proxy that fails", "ERR_PROXY_CONNECTION_FAILED" in str(error))
        before = reports()
        turns, answers = picky(), []
        for _ in range(2):
            with browser_context(browser, turns, target="127.0.0.1") as context:
                answers.append(context.new_page().goto(PICKY).status)
        newest = reports()[0]
        check("playwright: a ban is a failure, and another proxy is next", answers == [403, 200] and reports() != before)
        check("playwright: it is told why", (newest["ok"], newest["error"]) == (False, "status 403"))
        with picky().take("127.0.0.1") as lease, browser_context(browser, Only(lease)) as context:
            with context.expect_event("response", lambda response: response.url == PICKY) as framed:
                context.new_page().set_content(f'<iframe src="{PICKY}"></iframe>')
            check("playwright: a frame that is refused is not the page", framed.value.status == 403 and lease.error is None)
        with a_gateway() as (port, _, told):
            gateway = GatewayRotation(Picpool(f"http://127.0.0.1:{port}"), gateway_url("127.0.0.1", port))
            with browser_context(browser, gateway) as context:
                refused_page = context.new_page().goto("http://site.test/")
            check("playwright: a ban at a gateway names its site", refused_page.status == 403 and told[0][0]["target"] == "site.test")
        browser.close()
    check("playwright: a page by the one that works", "tinyproxy" in shown)
    settings = proxy_settings(gateway_url("gate", token="t/k", country="de"))
    check("playwright: a gateway at the usual port", proxy_settings("http://user:x@gate")["server"] == "http://gate")
    check("playwright: a login", settings == {"server": "http://gate:8899", "username": "user-country-de", "password": "t/k"})


sync_client()
waits()
losses()
types()
asyncio.run(async_client())
with_rotation()
with_bans()
for part in PARTS:
    globals()[f"with_{part}"]()
if "requests" in PARTS:
    with_gateway()
print(json.dumps(done))

"""What a user of the client does with a server: ``scenario.py URL TOKEN PAGE PART...``

The server has more than 500 dead proxies. Of the country QQ it has two that it calls alive: one whose port is closed, and one that
works. PAGE is what they are to reach; it answers with the name of the proxy that asked. Prints what was done, as JSON.
"""

import asyncio
import io
import json
import sys
import tempfile
from pathlib import Path

from picpool import AsyncPicpool, Picpool, PicpoolError, Rotation, gateway_url, proxy_url

URL, TOKEN, PAGE, *PARTS = sys.argv[1:]
GIF = bytes.fromhex("47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b")
done = []


def check(name, fact):
    if not fact:
        raise AssertionError(f"not as it should be: {name}")
    done.append(name)


def refused(work):
    try:
        work()
    except PicpoolError as error:
        return error
    raise AssertionError("nothing was refused")


def sync_client():
    with Picpool(URL + "/", token=TOKEN) as picpool:
        stats = picpool.stats()
        ids = {proxy["id"] for proxy in picpool.proxies(status="dead")}
        check("every proxy over pages", len(ids) == stats["total"] - stats["alive"] > 500)
        few = picpool.some_proxies(3, protocol=["socks4", "socks5"], sort="response_time")
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
    away = refused(lambda: Picpool("http://127.0.0.1:9").stats())
    check("a server that is away", away.status == 0 and away.code == "network")


async def async_client():
    async with AsyncPicpool(URL, token=TOKEN) as picpool:
        seen = 0
        async for _ in picpool.proxies(status="dead"):
            seen += 1
        check("async: every proxy over pages", seen > 500)
        uploads = await asyncio.gather(*(picpool.upload(GIF, filename=f"async-{n}.gif", format="gif") for n in range(4)))
        found = {image["id"] async for image in picpool.images("async-")}
        check("async: uploads and search", {one["id"] for one in uploads} <= found)
        for one in uploads:
            await picpool.delete_image(one["id"], token=one["delete_token"])
        check("async: deletion", (await picpool.stats())["total"] > 500)


def rotation():
    """Those of QQ, the one with the closed port first."""
    return Rotation(Picpool(URL, token=TOKEN), country="QQ", sort="response_time")


def with_rotation():
    turns = rotation()
    try:
        with turns.take("example.com") as lease:
            raise ConnectionError("closed")
    except ConnectionError:
        pass
    check("rotation: a failure is told, and another one is next", turns.next().url != lease.url)
    empty = Rotation(Picpool(URL), country="XX")
    check("rotation: no proxy that suits", refused(empty.next).code == "no_proxy")
    check("the URL of a gateway", gateway_url("host", token="t/k", country="de", sesslock=True) == "http://user-country-de-sesslock:t%2Fk@host:8899")


def with_requests():
    from picpool.for_requests import PooledSession

    with PooledSession(Picpool(URL, token=TOKEN), country="QQ", sort="response_time") as session:
        check("requests: a page by the one that works", "tinyproxy" in session.get(PAGE).text)


def with_scrapy():
    import scrapy
    from scrapy.crawler import CrawlerProcess

    pages = []

    class Spider(scrapy.Spider):
        name = "pages"
        start_urls = [PAGE]

        def parse(self, response):
            pages.append(response.text)

    process = CrawlerProcess(
        {
            "DOWNLOADER_MIDDLEWARES": {"picpool.for_scrapy.PicpoolMiddleware": 560},
            "PICPOOL_URL": URL,
            "PICPOOL_TOKEN": TOKEN,
            "PICPOOL_FILTER": {"country": "QQ", "sort": "response_time"},
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(Spider)
    process.start()
    check("scrapy: a page by the one that works", len(pages) == 1 and "tinyproxy" in pages[0])


def with_playwright():
    from playwright.sync_api import sync_playwright

    from picpool.for_playwright import browser_context, proxy_settings

    turns = rotation()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        shown = ""
        for _ in range(2):
            try:
                with browser_context(browser, turns, target=PAGE) as context:
                    page = context.new_page()
                    page.goto(PAGE)
                    shown = page.inner_text("body")
            except Exception as error:
                check("playwright: a proxy that fails", "ERR_PROXY_CONNECTION_FAILED" in str(error))
        browser.close()
    check("playwright: a page by the one that works", "tinyproxy" in shown)
    settings = proxy_settings(gateway_url("gate", token="t/k", country="de"))
    check("playwright: a login", settings == {"server": "http://gate:8899", "username": "user-country-de", "password": "t/k"})


sync_client()
asyncio.run(async_client())
with_rotation()
for part in PARTS:
    globals()[f"with_{part}"]()
print(json.dumps(done))

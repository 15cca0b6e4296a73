"""Playwright through the pool.

    with sync_playwright() as playwright, browser_context(playwright.chromium.launch(), rotation) as context:
        context.new_page().goto("https://example.com/")
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Optional, Union
from urllib.parse import unquote, urlsplit

from .bans import is_ban, is_own_answer, status_of
from .rotation import GatewayRotation, Rotation


def proxy_settings(url: str) -> Dict[str, str]:
    """The URL of a proxy or a gateway as Playwright's ``proxy=`` takes it, with its login apart."""
    parts = urlsplit(url)
    settings = {"server": f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"}
    if parts.username is not None:
        settings["username"] = unquote(parts.username)
        settings["password"] = unquote(parts.password or "")
    return settings


@contextmanager
def browser_context(
    browser: Any,
    rotation: Union[Rotation, GatewayRotation],
    *,
    target: Optional[str] = None,
    is_ban: Callable[[Any], bool] = is_ban,
    **options: Any,
) -> Iterator[Any]:
    """A browser context behind the next proxy of the rotation, which hears how it did: an exception that leaves the block, such as
    Playwright's at a page that does not load, counts as its failure, and so does a page whose response ``is_ban``. ``target``: the host
    of the site; by default, that of a page that is refused. With a ``GatewayRotation`` over a gateway without tokens, the server needs ``GATEWAY_ASK=true``: browsers send
    their options only if they are asked."""
    with rotation.take(target) as lease:
        context = browser.new_context(proxy=proxy_settings(lease.url), **options)

        def heard(response: Any) -> None:
            is_page = response.request.is_navigation_request() and response.frame.parent_frame is None
            is_own = isinstance(rotation, GatewayRotation) and is_own_answer(response)
            if is_page and not is_own and is_ban(response):
                lease.target = urlsplit(response.url).hostname
                lease.banned(f"status {status_of(response)}")

        context.on("response", heard)
        try:
            yield context
        finally:
            context.close()

from __future__ import annotations

from typing import Any

#: Answers with which sites refuse an exit.
BANS = frozenset({403, 429, 451, 503})
#: What no site sends.
NEVER_A_SITES = frozenset({407, 511})
#: What a proxy says of a site that it cannot reach. Over https, only the site itself can.
UNREACHED = frozenset({502, 503, 504})
#: Methods that may be sent again.
REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS"})


def status_of(response: Any) -> int:
    """The status of a response of requests, httpx, Scrapy or Playwright."""
    return int(getattr(response, "status_code", None) or response.status)


def is_ban(response: Any, gateway: bool = False) -> bool:
    """Whether a site refuses the exit: 403, 429, 451 or 503. What came through a ``gateway`` is none if it is its own answer; any other
    proxy can write what only a gateway says."""
    return status_of(response) in BANS and not (gateway and is_own_answer(response))


def is_never_a_sites(response: Any, gateway: bool) -> bool:
    """Whether a proxy has answered for sure, and not the site. At a ``gateway``, its own answers count as its word."""
    return status_of(response) in NEVER_A_SITES and not (gateway and is_own_answer(response))


def is_unreached(response: Any, url: str, gateway: bool) -> bool:
    """Whether a proxy may say that it cannot reach the site of the URL."""
    return status_of(response) in UNREACHED and url.startswith("http:") and not (gateway and is_own_answer(response))


def is_own_answer(response: Any) -> bool:
    """Whether the gateway has answered, and not the site."""
    names = (part.strip() for part in _header(response, "proxy-status").split(","))
    return _header(response, "x-picpool-error") != "" or any(name.split(";")[0] == "picpool" for name in names)


def _header(response: Any, name: str) -> str:
    value = response.headers.get(name) or ""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)

from __future__ import annotations

from typing import List, Optional, TypedDict


class Proxy(TypedDict):
    """A proxy as lists show it. Times are UTC, ``YYYY-MM-DD HH:MM:SS``."""

    id: int
    ip: str
    port: int
    protocol: str
    country: str
    response_time: float
    last_checked: str
    status: str
    source: str
    anonymity: Optional[str]
    exit_ip: Optional[str]
    proof: Optional[str]
    tampering: Optional[List[str]]
    uptime: Optional[float]
    score: float
    checks: int
    successes: int
    first_seen: str
    last_alive: Optional[str]
    error: Optional[str]
    login: Optional[str]
    recent_checks: str


class TestResult(TypedDict):
    """What a test of one proxy has shown."""

    alive: bool
    status: str
    response_time: float
    country: str
    anonymity: Optional[str]
    exit_ip: Optional[str]
    proof: Optional[str]
    error: Optional[str]


class Job(TypedDict):
    """A refresh of the pool."""

    id: str
    state: str
    stage: Optional[str]
    error: Optional[str]
    fetched: int
    candidates: int
    checked: int
    alive: int


class Image(TypedDict):
    """A picture as lists show it."""

    id: str
    filename: str
    format: str
    width: int
    height: int
    frames: int
    size: int
    created_at: str
    url: str
    raw_url: str


class Uploaded(Image):
    """A picture that was just stored. ``delete_token`` is shown only here."""

    markdown: str
    html: str
    bbcode: str
    protected: bool
    delete_token: str
    delete_url: str


def proxy_url(proxy: Proxy) -> str:
    """The proxy as clients take it: ``socks5://203.0.113.9:1080``. An ``https`` proxy is asked over plain HTTP, by CONNECT."""
    scheme = "http" if proxy["protocol"] == "https" else proxy["protocol"]
    host = f"[{proxy['ip']}]" if ":" in proxy["ip"] else proxy["ip"]
    return f"{scheme}://{host}:{proxy['port']}"

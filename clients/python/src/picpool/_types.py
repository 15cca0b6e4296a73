from __future__ import annotations

from typing import Any, Dict, List, Optional, TypedDict


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


class ProxyDetails(Proxy, total=False):
    """A proxy by its ID. The administrator also gets the last 20 reports, newest first."""

    reports: List[Dict[str, Any]]


class TestResult(TypedDict):
    """What a test of one proxy has shown. Times are in ms."""

    alive: bool
    status: str
    response_time: Optional[float]
    connect_time: Optional[float]
    first_byte_time: Optional[float]
    country: str
    anonymity: Optional[str]
    exit_ip: Optional[str]
    tampering: Optional[List[str]]
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
    skipped: int
    removed: int
    judge: str
    failures: int
    retry_at: Optional[str]
    started_at: Optional[str]
    finished_at: Optional[str]


class UploadOptions(TypedDict, total=False):
    """The fields of ``POST /api/upload``. ``None`` is the same as nothing."""

    format: Optional[str]
    password: Optional[str]
    visibility: Optional[str]
    expires_in: Optional[str]
    max_views: Optional[int]
    max_width: Optional[int]
    max_height: Optional[int]
    quality: Optional[int]
    strip_exif: Optional[bool]
    title: Optional[str]
    alt: Optional[str]
    album: Optional[str]
    album_token: Optional[str]


class Image(TypedDict):
    """A picture."""

    id: str
    filename: str
    title: Optional[str]
    alt: Optional[str]
    format: str
    width: int
    height: int
    frames: int
    size: int
    created_at: str
    url: str
    raw_url: str


class ListedImage(Image):
    """A picture as lists show it. ``thumbhash`` is a blurred preview."""

    thumbhash: Optional[str]
    last_access: str


class _Described(TypedDict):
    markdown: str
    html: str
    bbcode: str
    protected: bool
    visibility: str
    expires_at: Optional[str]
    max_views: Optional[int]
    views_left: Optional[int]
    location: bool
    original: Optional[Dict[str, Any]]
    warnings: List[Dict[str, Any]]


class ImageInfo(ListedImage, _Described):
    """What is known of a picture."""


class _Passing(TypedDict, total=False):
    review: bool
    album: str


class Uploaded(Image, _Described, _Passing):
    """A picture that was just stored. ``delete_token`` is shown only here. Where ``review`` is there, a person looks at it first, and
    until then its links do not work."""

    delete_token: str
    delete_url: str
    removed: List[str]


def proxy_url(proxy: Proxy) -> str:
    """The proxy as clients take it: ``socks5://203.0.113.9:1080``. An ``https`` proxy is asked over plain HTTP, by CONNECT."""
    scheme = "http" if proxy["protocol"] == "https" else proxy["protocol"]
    host = f"[{proxy['ip']}]" if ":" in proxy["ip"] else proxy["ip"]
    return f"{scheme}://{host}:{proxy['port']}"

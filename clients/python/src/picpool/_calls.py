"""What is asked of the server, and what its answers mean, for both clients."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO, Callable, Dict, List, Mapping, Optional, Tuple, Union
from urllib.parse import quote

import httpx

from ._types import Image

#: Maximum number in one answer.
PROXIES_A_PAGE = 500
IMAGES_A_PAGE = 100
#: Seconds. A call that would have to wait for longer is left to the caller.
MAX_PAUSE = 60.0
#: Seconds. What a site has answered waits for the report.
REPORT_TIMEOUT = 5.0

#: Seconds to wait for the answer to an upload after it was sent: half of the time for which the server knows a repetition.
UPLOAD_TIMEOUT = 300.0

#: A picture: a path, its bytes, or an open file.
Picture = Union[str, "os.PathLike[str]", bytes, BinaryIO]


class PicpoolError(Exception):
    """What the server refuses, in its own words, or that it does not answer.

    ``status`` is 0 and ``code`` is ``network`` where no answer came, and ``code`` is ``invalid_answer`` where it was not what was asked for;
    ``retry_after`` is the seconds that the server named.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "network",
        request_id: Optional[str] = None,
        details: Optional[List[Dict[str, str]]] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.request_id = request_id
        self.details = details or []
        self.retry_after = retry_after


@dataclass
class Call:
    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    data: Optional[Dict[str, str]] = None
    files: Optional[Dict[str, Tuple[str, Any]]] = None
    headers: Dict[str, Any] = field(default_factory=dict)
    timeout: float = 30.0
    #: Fields that the answer must have.
    must_have: Tuple[str, ...] = ()

    def arguments(self) -> Dict[str, Any]:
        """As ``httpx`` takes them."""
        timeout = httpx.Timeout(self.timeout, connect=min(self.timeout, 10.0))
        arguments: Dict[str, Any] = {"headers": self.headers, "timeout": timeout, "params": _query(self.params)}
        if self.json is not None:
            arguments["json"] = self.json
        if self.files is not None:
            arguments["files"] = self.files
            arguments["data"] = self.data
        return arguments


def _query(params: Mapping[str, Any]) -> Dict[str, str]:
    def written(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (list, tuple, set, frozenset)):
            return ",".join(str(one) for one in value)
        return str(value)

    return {name: written(value) for name, value in params.items() if value is not None}


def check(answer: httpx.Response) -> httpx.Response:
    """The answer, where it is a good one."""
    if answer.is_success:
        return answer
    try:
        told = answer.json()
    except ValueError:
        told = None
    if answer.has_redirect_location:
        place = answer.headers["location"]
        told = {"error": f"The server redirects to {place}: give its own URL.", "code": "redirected"}
    if not isinstance(told, dict) or not isinstance(told.get("error"), str):
        told = {"error": f"The server answered {answer.status_code} without a reason."}
    raise PicpoolError(
        told["error"],
        status=answer.status_code,
        code=told.get("code", f"http_{answer.status_code}"),
        request_id=told.get("request_id"),
        details=told.get("details"),
        retry_after=_seconds(answer.headers.get("retry-after", "")),
    )


def _seconds(wait: str) -> Optional[float]:
    """What ``Retry-After`` says: seconds, or a date, as something in between may send it."""
    if wait.isdecimal():
        return float(wait)
    try:
        return max(0.0, parsedate_to_datetime(wait).timestamp() - time.time())
    except (OverflowError, TypeError, ValueError):
        return None


def pause_before_again(call: Call, error: PicpoolError, attempt: int, retries: int) -> Optional[float]:
    """Seconds until the call may be sent again; ``None`` where it must not be. An error with a cause is an answer that was lost. A
    repetition of an upload waits for its turn like a GET: otherwise nobody gets the token of what may be stored."""
    if call.method == "GET" or attempt > 0:
        again = error.status in (429, 503)
    else:
        again = "idempotency-key" in call.headers and (error.__cause__ is not None or error.status in (502, 504))
    pause = 1.0 if error.retry_after is None else error.retry_after
    return pause if again and attempt < retries and pause <= MAX_PAUSE else None


def no_answer(url: str, error: httpx.HTTPError) -> PicpoolError:
    told = PicpoolError(f"{url} does not respond: {(str(error) or type(error).__name__).rstrip('.')}.")
    told.__cause__ = error
    return told


#: What is made of a good answer of the server at this URL.
Reader = Callable[[str, httpx.Response, Call], Any]


def picture_of(url: str, answer: httpx.Response, _: Call) -> bytes:
    """The picture of a good answer; a page of something in between is none."""
    if answer.headers.get("content-type", "").startswith("image/"):
        return answer.content
    raise PicpoolError(f"{url} answered something that is not a picture.", status=answer.status_code, code="invalid_answer")


def parsed(url: str, answer: httpx.Response, call: Call) -> Dict[str, Any]:
    """The JSON object of a good answer; what something in between says is none."""
    fault: Optional[ValueError] = None
    try:
        told = answer.json()
    except ValueError as error:
        told, fault = None, error
    if not isinstance(told, dict) or told.get("success", True) is not True or not told.keys() >= set(call.must_have):
        message = f"{url} answered something that picpool would not."
        raise PicpoolError(message, status=answer.status_code, code="invalid_answer") from fault
    return told


def _short(value: Any) -> Any:
    """The server takes no longer texts in reports."""
    return value[:2000] if isinstance(value, str) else value


def gateway_report_call(what: Mapping[str, Any], token: Optional[str]) -> Call:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    told = {name: _short(value) for name, value in what.items() if value is not None}
    return Call("POST", "/api/gateway/report", json=told, headers=headers, timeout=REPORT_TIMEOUT, must_have=("success",))


def proxies_page(filter: Mapping[str, Any], **more: Any) -> Call:
    given = sorted(filter.keys() & more.keys())
    if given:
        raise TypeError(f"{given[0]} does not filter: some_proxies(count, offset=0) returns a part of the list.")
    return Call("GET", "/api/v1/proxies", params={**filter, **more}, must_have=("proxies",))


def images_page(text: Optional[str], cursor: Optional[str]) -> Call:
    path = "/api/list" if text is None else "/api/search"
    return Call("GET", path, params={"q": text, "per_page": IMAGES_A_PAGE, "cursor": cursor}, must_have=("images", "next"))


def image_call(path: str, password: Optional[str], *must_have: str) -> Call:
    # As bytes: httpx would send no letter beyond ASCII.
    headers = {} if password is None else {"x-image-password": password.encode()}
    return Call("GET", path, headers=headers, must_have=must_have)


def info_call(id: str, password: Optional[str]) -> Call:
    return image_call(f"/api/info/{quote(id, safe='')}", password, "id")


def proxy_call(id: int) -> Call:
    return Call("GET", f"/api/proxy/{id}", must_have=("id",))


def file_call(image: Image, password: Optional[str]) -> Call:
    extension = "jpg" if image["format"] == "jpeg" else image["format"]
    return image_call(f"/i/{image['id']}.{extension}", password)


def delete_call(id: str, token: Optional[str]) -> Call:
    # In no URL, which logs would keep.
    headers = {} if token is None else {"x-delete-token": token}
    return Call("DELETE", f"/api/delete/{quote(id, safe='')}", headers=headers, must_have=("success", "id"))


def test_call(ip: str, port: int, protocol: str) -> Call:
    return Call("POST", "/api/test_proxy_quick", json={"ip": ip, "port": port, "protocol": protocol}, timeout=90.0, must_have=("alive",))


def report_call(id: int, ok: bool, target: Optional[str], error: Optional[str]) -> Call:
    report: Dict[str, Any] = {"ok": ok}
    if target is not None:
        report["target"] = _short(target)
    if error is not None:
        report["error"] = _short(error)
    return Call("POST", f"/api/proxy/{id}/report", json=report, timeout=REPORT_TIMEOUT, must_have=("success",))


def upload_call(picture: Picture, filename: Optional[str], key: Optional[str], fields: Mapping[str, Any]) -> Call:
    """A form, so that the password is in no URL. By the key, the server knows a repetition."""
    content: Any = picture
    if isinstance(picture, (str, os.PathLike)):
        content = Path(picture).read_bytes()
        name: Any = os.fspath(picture)
    else:
        name = getattr(picture, "name", None)
        # What cannot be read twice would be empty in a repetition, and httpx takes the length of a pipe for 0. Before Python 3.11, spooled
        # files have no `seekable`.
        if not isinstance(picture, bytes) and not getattr(picture, "seekable", lambda: hasattr(picture, "seek"))():
            content = picture.read()
    # Pipes and temporary files are named by the number of their descriptor.
    name = filename or (os.path.basename(name) if isinstance(name, str) else "image")
    # File names of Linux may be any bytes.
    files = {"image": (name.encode("utf-8", "replace").decode(), content)}
    headers = {"idempotency-key": secrets.token_urlsafe(16) if key is None else key}
    must_have = ("id", "delete_token")
    return Call("POST", "/api/upload", data=_query(fields), files=files, headers=headers, timeout=UPLOAD_TIMEOUT, must_have=must_have)

from __future__ import annotations

from typing import Optional
from urllib.parse import quote


def gateway_url(host: str, port: int = 8899, *, token: Optional[str] = None, **options: object) -> str:
    """The URL of a server's gateway, one proxy in front of its pool, with options in the user name::

        requests.get(page, proxies={"all": gateway_url("localhost", country="de", session="abc")})

    Options are those of the gateway: ``country``, ``session``, ``sesstime``, ``sesslock``, ``anonymity``, ``max_latency``, ``target``,
    ``source`` (``"paid.free"``), ``not_`` (countries to leave out). Several countries are ``"us.de"``. Browsers send options only if they
    are asked for a login: a server without tokens needs ``GATEWAY_ASK=true`` for them.
    """
    words = ["user"]
    for name, value in options.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_")
        words.append(name if value is True else f"{name}-{value}")
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    if token is None and len(words) == 1:
        return f"http://{host}:{port}"
    return f"http://{quote('-'.join(words), safe='')}:{quote(token or 'none', safe='')}@{host}:{port}"

"""The calls of test/support/clients/generated-clients.ts with what openapi-python-client has made."""

import base64
import json
import re
import sys
from io import BytesIO

from generated import Client
from generated.api.image_host import (
    change_image,
    delete_image,
    get_image,
    get_image_info,
    list_images,
    upload_image,
)
from generated.api.proxy_pool import export_proxies, list_proxies, report_proxy
from generated.models import (
    ChangeImageBody,
    ChangeImageBodyVisibility,
    Error,
    ExportProxiesFormat,
    ListProxiesStatus,
    ReportProxyBody,
    UploadImageFilesBody,
    UploadImageFilesBodyFormat,
    UploadImageFormat,
)
from generated.types import File

url, picture = sys.argv[1:]
client = Client(base_url=url)


def file(name: str) -> File:
    return File(payload=BytesIO(base64.b64decode(picture)), file_name=name, mime_type="image/png")


listed = list_proxies.sync(client=client, protocol="socks4,socks5", status=ListProxiesStatus.DEAD, limit=3)
proxies = listed.proxies

lines = export_proxies.sync(client=client, format_=ExportProxiesFormat.TEXT, random=True, limit=5)

report = report_proxy.sync(proxies[0].id, client=client, body=ReportProxyBody(ok=False, target="example.com"))

form = upload_image.sync(
    client=client,
    body=UploadImageFilesBody(
        image=file("ignored.png"), format_=UploadImageFilesBodyFormat.PNG, filename="form é.png"
    ),
)
raw = upload_image.sync(
    client=client,
    body=file("ignored.png"),
    format_=UploadImageFormat.JPEG,
    max_width=1,
    filename="bytes.png",
)
secret = upload_image.sync(
    client=client, body=file("secret.png"), password="tea", format_=UploadImageFormat.GIF
)

info = get_image_info.sync(form.id, client=client)

first = list_images.sync(client=client, per_page=1)
second = list_images.sync(client=client, per_page=1, cursor=first.next_)

changed = change_image.sync(
    form.id,
    client=client,
    x_delete_token=form.delete_token,
    body=ChangeImageBody(visibility=ChangeImageBodyVisibility.UNLISTED, expires_in="1d"),
)

locked = get_image_info.sync_detailed(secret.id, client=client)
unlocked = get_image_info.sync(secret.id, client=client, x_image_password="tea")
content = get_image.sync(f"{secret.id}.gif", client=client, x_image_password="tea")

refused = list_proxies.sync_detailed(client=client, limit=0)

for image in (form, raw, secret):
    delete_image.sync(image.id, client=client, x_delete_token=image.delete_token)
gone = get_image_info.sync_detailed(form.id, client=client)

assert isinstance(locked.parsed, Error) and isinstance(refused.parsed, Error) and isinstance(gone.parsed, Error)
print(
    json.dumps(
        {
            "filters": [
                one.protocol.value.startswith("socks") and one.status.value == "dead" for one in proxies
            ],
            "text": len([line for line in lines.split("\n") if re.fullmatch(r"[\d.]+:\d+", line)]),
            "report": report.next_check != "",
            "form": [form.filename, form.format_.value],
            "bytes": [raw.filename, raw.format_.value, raw.width],
            "info": [info.id == form.id, info.expires_at, info.visibility.value],
            "pages": [len(first.images), len(second.images), first.images[0].id != second.images[0].id],
            "change": [changed.visibility.value, changed.expires_at is not None],
            "password": [
                int(locked.status_code),
                locked.parsed.code,
                unlocked.protected,
                len(content.payload.read()) == secret.size,
            ],
            "error": [int(refused.status_code), refused.parsed.code, refused.parsed.details[0].field],
            "deletion": [int(gone.status_code), gone.parsed.code],
        }
    )
)

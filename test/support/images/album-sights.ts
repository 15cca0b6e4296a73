/** How an album shows a picture to a visitor, in each of its forms. */
export interface AlbumSight {
  page: 'shown' | 'locked' | 'limited' | 'absent';
  json: 'shown' | 'locked' | 'limited' | 'absent';
  zip: boolean;
  /** Whether previews of links to the album show it. */
  preview: boolean;
  /** Whether search engines may list the page. */
  indexed: boolean;
  /** Whether caches may keep the page and the ZIP file. */
  kept: boolean;
}

export interface SeenPicture {
  id: string;
  filename: string;
}

/** Returns the files of a ZIP archive by name. */
export function zipFiles(bytes: Uint8Array): Map<string, Uint8Array> {
  const archive = Buffer.from(bytes);
  const end = archive.lastIndexOf(Buffer.from('PK\u0005\u0006', 'latin1'));
  const files = new Map<string, Uint8Array>();
  for (let at = archive.readUInt32LE(end + 16), left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const [size, name, extra] = [24, 28, 30].map((field, index) =>
      index === 0 ? archive.readUInt32LE(at + field) : archive.readUInt16LE(at + field),
    ) as [number, number, number];
    const header = archive.readUInt32LE(at + 42);
    const data = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28);
    files.set(archive.toString('utf8', at + 46, at + 46 + name), archive.subarray(data, data + size));
    at += 46 + name + extra;
  }
  return files;
}

/**
 * Looks for a picture of an album in the page, the JSON, the ZIP file and the preview. `send`: sends a request of the
 * visitor, whose cookies for albums are `cookie`.
 */
export async function sightOf(
  send: (path: string, init?: RequestInit) => Promise<Response> | Response,
  album: string,
  picture: SeenPicture,
  cookie = '',
): Promise<AlbumSight> {
  const headers = { cookie, accept: '*/*' };
  const page = await send(`/a/${album}`, { headers });
  const text = await page.text();
  const json = (await (await send(`/api/albums/${album}`, { headers })).json()) as {
    images: { id: string; locked: boolean; max_views?: number | null }[];
  };
  const entry = json.images.find(({ id }) => id === picture.id);
  const zip = await send(`/a/${album}.zip`, { headers });
  const stem = picture.filename.replace(/\.\w+$/, '');
  const names = zip.status === 200 ? [...zipFiles(await zip.bytes()).keys()] : [];
  const tile = text.split('<li>').find((part) => part.includes(`/a/${album}/${picture.id}"`));
  return {
    page: tile === undefined ? 'absent' : kindOf(tile, picture),
    json: entry === undefined ? 'absent' : entry.locked ? 'locked' : entry.max_views ? 'limited' : 'shown',
    zip: names.some((name) => name.includes(stem)),
    preview: new RegExp(`og:image" content="[^"]*/i/${picture.id}[./]`).test(text),
    indexed: page.headers.get('x-robots-tag') === null && !text.includes('name="robots" content="noindex"'),
    kept: !(page.headers.get('cache-control') ?? '').includes('no-store'),
  };
}

function kindOf(tile: string, { filename }: SeenPicture): AlbumSight['page'] {
  if (tile.includes('<img')) return 'shown';
  return tile.includes(filename) ? 'limited' : 'locked';
}

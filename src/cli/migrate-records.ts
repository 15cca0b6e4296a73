import type { AlbumStore } from '../image/albums/store.ts';
import type { StateStore } from '../lib/state.ts';
import { formatUrl } from '../proxy/proxy.ts';
import type { ProxyStore } from '../proxy/store.ts';

/**
 * Copies proxies batch by batch; what the new store knows from a later check stays. Answers how many there were.
 */
export async function copyProxies(
  from: Pick<ProxyStore, 'stream'>,
  to: Pick<ProxyStore, 'lookup' | 'save'>,
  onCopied: (count: number) => void,
): Promise<number> {
  let count = 0;
  for await (const records of from.stream({})) {
    const known = new Map((await to.lookup(records)).map((record) => [formatUrl(record), record]));
    const missing = records.filter((record) => {
      const there = known.get(formatUrl(record));
      return there === undefined || there.lastChecked < record.lastChecked;
    });
    await to.save(missing.map(({ id: _, ...draft }) => draft));
    count += records.length;
    onCopied(count);
  }
  return count;
}

/**
 * Copies albums; one that has changed since it was copied is replaced, and what the new store knows in a later revision stays. Answers how
 * many there were.
 */
export async function copyAlbums(from: Pick<AlbumStore, 'all'>, to: AlbumStore): Promise<number> {
  const seen = new Set<string>();
  for await (const albums of from.all()) {
    for (const album of albums) {
      const known = await to.get(album.id);
      if (known !== null && known.revision >= album.revision) continue;
      if (known !== null) await to.remove(album.id);
      await to.insert(album);
    }
    for (const { id } of albums) seen.add(id);
  }
  return seen.size;
}

/** Copies secrets, blocks and reports of jobs. Answers how many there were. */
export async function copyState(from: StateStore, to: StateStore): Promise<number> {
  const keys = await from.keys();
  for (const key of keys) {
    const value = await from.get(key);
    if (value !== null) await to.set(key, value);
  }
  return keys.length;
}

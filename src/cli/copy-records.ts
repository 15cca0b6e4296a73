import { SESSION_KEY } from '../access/sessions.ts';
import type { AuditStore } from '../audit/store.ts';
import type { AlbumStore } from '../image/albums/album.ts';
import { MOVED, type StateStore, UNFINISHED } from '../lib/state.ts';
import { formatUrl } from '../proxy/proxy.ts';
import type { ProxyStore } from '../proxy/store.ts';

/** Copies proxies batch by batch. Later checks in the new store are kept. Returns how many there were. */
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
 * Key in the new store for the albums that were copied into it, so that the next run knows which were deleted since.
 */
const COPIED_ALBUMS = 'migrated-albums';

/**
 * Copies albums. An album that changed since it was copied is replaced; a later revision in the new store is kept. An
 * album that was copied before and then disappeared from either store was deleted, and is removed. Returns how many
 * there were.
 */
export async function copyAlbums(
  from: Pick<AlbumStore, 'all'>,
  to: { albums: AlbumStore; state: StateStore },
): Promise<number> {
  const before = new Set((await to.state.get(COPIED_ALBUMS))?.split(' '));
  const seen = new Set<string>();
  for await (const albums of from.all()) {
    for (const album of albums) {
      seen.add(album.id);
      const known = await to.albums.get(album.id);
      if (known === null ? before.has(album.id) : known.revision >= album.revision) continue;
      // Between a removal and an insertion, an interrupted copy would take it for one that was deleted.
      if (known === null) await to.albums.insert(album);
      for (let at = known?.revision ?? album.revision; at < album.revision; )
        await to.albums.replace({ ...album, revision: ++at });
    }
  }
  for (const id of before) if (!seen.has(id)) await to.albums.remove(id);
  if (seen.size > 0 || before.size > 0) await to.state.set(COPIED_ALBUMS, [...seen].join(' '));
  return seen.size;
}

const AUDIT_BATCH = 500;

/** Copies the audit log. Returns how many acts there were. */
export async function copyAudit(from: AuditStore, to: AuditStore): Promise<number> {
  const open = new Set((await to.unfinished(AUDIT_BATCH)).map(({ id }) => id));
  let count = 0;
  for (let after: string | undefined; ; ) {
    const acts = await from.list({ limit: AUDIT_BATCH, after });
    for (const { stage, ...entry } of acts) {
      await to.append(entry, stage);
      // An earlier copy brought it before it was carried out.
      if (open.has(entry.id)) await to.advance(entry.id, stage);
    }
    count += acts.length;
    after = acts.at(-1)?.id;
    if (after === undefined) return count;
  }
}

/** Key in a backup: when it began, as ISO 8601. Its name may be later. */
export const BEGAN = 'backup-began';
/** Key in a backup: what was wrong with it first. */
export const FAULT = 'backup-fault';
/** The same as `COPIED_ALBUMS` for other values, as JSON. */
const COPIED_VALUES = 'migrated-values';
/** What is stored for a moment, to see whether two stores are one. */
export const TRIAL = 'picpool-trial';
/** What is about one store, and not copied to another. */
const OWN: readonly string[] = [COPIED_ALBUMS, COPIED_VALUES, BEGAN, FAULT, MOVED, UNFINISHED, TRIAL];

/** Copies secrets, blocks and reports of jobs, and removes those that are gone since. Returns how many there were. */
export async function copyState(from: StateStore, to: StateStore): Promise<number> {
  const keys = (await from.keys()).filter((key) => !OWN.includes(key) && !key.startsWith(SESSION_KEY));
  for (const key of keys) {
    const value = await from.get(key);
    if (value !== null) await to.set(key, value);
  }
  const before: string[] = JSON.parse((await to.get(COPIED_VALUES)) ?? '[]');
  for (const key of before) if (!keys.includes(key)) await to.remove(key);
  await to.set(COPIED_VALUES, JSON.stringify(keys));
  return keys.length;
}

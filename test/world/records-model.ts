import type { AuditStore, StagedEntry } from '../../src/audit/store.ts';
import { AppError, message } from '../../src/errors.ts';
import { fail } from '../../src/findings/finding.ts';
import type { AlbumRecord, AlbumStore } from '../../src/image/albums/album.ts';
import { type ImageRecord, visibilityOf } from '../../src/image/image.ts';
import { containsAll, needlesOf, searchedText } from '../../src/image/records/searched.ts';
import { summarise } from '../../src/image/records/summary.ts';
import { END_REMEMBERED_MS, type ImageStore, type Place } from '../../src/image/store.ts';
import { holdLease } from '../../src/lib/lease.ts';
import { type Fence, type Locks, outdated } from '../../src/lib/locks.ts';
import type { StateStore } from '../../src/lib/state.ts';

/** An image as the model keeps it. */
interface Row {
  image: ImageRecord;
  endsAt: number | null;
  /** Views in progress, by token. */
  views: Set<string>;
}

interface Data {
  rows: Map<string, Row>;
  albums: Map<string, AlbumRecord>;
  audit: Map<string, StagedEntry>;
  state: Map<string, string>;
  /** The largest tokens of fences and fenced values. */
  tokens: Map<string, number>;
  /** When images were removed, and when they ended. */
  tombstones: Map<string, number>;
  ends: Map<string, number>;
  /** How many images there should be, counted with each change. */
  counted: number;
}

const EMPTY: Data = {
  rows: new Map(),
  albums: new Map(),
  audit: new Map(),
  state: new Map(),
  tokens: new Map(),
  tombstones: new Map(),
  ends: new Map(),
  counted: 0,
};

/** All that a database holds, in memory. It does at once, and completely, what the real ones do. */
export interface RecordsModel {
  images: ImageStore;
  albums: AlbumStore;
  audit: AuditStore;
  state: StateStore;
  /** Locks for one more copy of the server. `ask`: how it reaches the database. */
  locks(ask?: Ask): Locks;
  /** The largest token that it has seen. */
  lastToken(): number;
  /** Forgets the views that were in progress: the only process that could end them is gone. */
  endViews(): void | Promise<void>;
  /** What it holds now, to be put back later. */
  backup(): () => void | Promise<void>;
  clear(): void | Promise<void>;
}

/** Sends one request to the database. */
type Ask = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** @param now the clock of the database, ms since 1970. */
export function createRecordsModel(now: () => number, newOwner: () => string): RecordsModel {
  let data: Data = structuredClone(EMPTY);
  const held = new Map<string, { owner: string; token: number; until: number }>();

  return {
    images: createImages(() => data, now),
    albums: createAlbums(() => data),
    audit: createAudit(() => data.audit),
    state: createState(() => data),
    locks: (ask = (_, work) => work()) => createLocks(held, { now, newOwner, ask }),
    lastToken: () => Math.max(0, ...data.tokens.values()),
    endViews() {
      for (const row of data.rows.values()) {
        row.views.clear();
        if (row.image.viewsLeft === 0) row.endsAt = 0;
      }
    },
    backup() {
      const copy = structuredClone(data);
      return () => {
        data = structuredClone(copy);
      };
    },
    clear() {
      data = structuredClone(EMPTY);
    },
  };
}

const byPlace = (one: Place, other: Place) =>
  other.createdAt - one.createdAt || (one.id < other.id ? -1 : Number(one.id > other.id));

function createImages(data: () => Data, now: () => number): ImageStore {
  const copyOf = (row: Row | undefined) => (row ? { ...row.image } : null);
  const get = (id: string) => data().rows.get(id);
  const listed = () =>
    [...data().rows.values()]
      .map(({ image }) => image)
      .filter((image) => visibilityOf(image) === 'public')
      .sort(byPlace);

  function bury(id: string): boolean {
    if (!data().rows.delete(id)) return false;
    data().counted--;
    data().tombstones.set(id, now());
    return true;
  }

  function end(id: string): boolean {
    data().ends.set(id, now());
    return bury(id);
  }

  function check(fence: Fence | undefined): void {
    if (!fence) return;
    const name = `images:${fence.name}`;
    if ((data().tokens.get(name) ?? 0) > fence.token) throw outdated();
    data().tokens.set(name, fence.token);
  }

  const faults = async () => {
    const { size } = data().rows;
    return size === data().counted ? [] : [fail(`The counts cover ${data().counted} of ${size} images.`)];
  };

  const hasEnded = (id: string) =>
    (data().ends.get(id) ?? Number.NEGATIVE_INFINITY) > now() - END_REMEMBERED_MS;

  return {
    async insert(image) {
      if (get(image.id))
        throw new AppError('conflict', message('Image {id} already exists.', { id: image.id }));
      data().rows.set(image.id, { image: { ...image }, endsAt: image.expiresAt, views: new Set() });
      data().counted++;
      data().tombstones.delete(image.id);
      data().ends.delete(image.id);
    },
    get: async (id) => copyOf(get(id)),
    getMany: async (ids) =>
      new Map(
        ids.flatMap((id) => {
          const image = copyOf(get(id));
          return image ? [[id, image] as const] : [];
        }),
      ),
    async list({ text = '', after, offset, limit }) {
      const needles = text === '' ? null : needlesOf(text);
      const isFound = (image: ImageRecord) =>
        needles === null || (needles.length > 0 && containsAll(searchedText(image), needles));
      const all = listed().filter(isFound);
      const behind = after ? all.filter((image) => byPlace(after, image) < 0) : all;
      const items = behind.slice(offset, offset + limit).map((image) => ({ ...image }));
      const last = items.at(-1);
      const more = behind.length > offset + limit;
      return {
        items,
        total: all.length,
        exact: true,
        next: last && more ? { createdAt: last.createdAt, id: last.id } : null,
      };
    },
    async newer(place) {
      const all = listed();
      const index = all.findIndex(({ id, createdAt }) => id === place.id && createdAt === place.createdAt);
      return all[index - 1] ?? null;
    },
    async touch(accesses) {
      for (const [id, at] of accesses) {
        const row = get(id);
        if (row) row.image.lastAccess = Math.max(row.image.lastAccess, at);
      }
    },
    remove: async (id) => bury(id),
    async removeIdle(id, before, fence) {
      check(fence);
      const row = get(id);
      return row !== undefined && row.endsAt === null && row.image.lastAccess < before && bury(id);
    },
    async change(id, change) {
      const row = get(id);
      if (!row) return null;
      row.image = { ...row.image, ...change };
      const { expiresAt } = row.image;
      row.endsAt =
        row.image.viewsLeft === 0 && row.endsAt !== null
          ? Math.min(row.endsAt, expiresAt ?? row.endsAt)
          : expiresAt;
      return { ...row.image };
    },
    idleSince: async (before, limit) =>
      [...data().rows.values()]
        .filter(({ image, endsAt }) => endsAt === null && image.lastAccess < before)
        .map(({ image }) => image)
        .sort((one, other) => one.lastAccess - other.lastAccess || (one.id < other.id ? -1 : 1))
        .slice(0, limit)
        .map((image) => ({ ...image })),
    async takeView(id, token, until) {
      const row = get(id);
      if (row?.views.has(token)) return true;
      if (!row || row.image.viewsLeft === null || row.image.viewsLeft <= 0) return false;
      row.image.viewsLeft--;
      row.views.add(token);
      if (row.image.viewsLeft === 0) row.endsAt = Math.min(row.image.expiresAt ?? until, until);
      return true;
    },
    async endView(id, token, seen) {
      const row = get(id);
      // It has ended already: the answer was lost.
      if (!row?.views.delete(token)) return hasEnded(id);
      if (!seen) {
        row.image.viewsLeft = (row.image.viewsLeft ?? 0) + 1;
        row.endsAt = row.image.expiresAt;
        return false;
      }
      return row.image.viewsLeft === 0 && row.views.size === 0 && end(id);
    },
    endedBy: async (time, limit) =>
      [...data().rows.values()]
        .filter(({ endsAt }) => endsAt !== null && endsAt <= time)
        .sort((one, other) => (one.endsAt ?? 0) - (other.endsAt ?? 0))
        .map(({ image }) => ({ ...image }))
        .slice(0, limit),
    async removeEnded(id, time) {
      const endsAt = get(id)?.endsAt ?? null;
      return endsAt !== null && endsAt <= time && end(id);
    },
    hasEnded: async (id) => hasEnded(id),
    recent: async ({ offset, limit, after }) =>
      [...data().rows.values()]
        .map(({ image }) => image)
        .sort((one, other) => other.lastAccess - one.lastAccess || (one.id > other.id ? -1 : 1))
        .filter(
          ({ id, lastAccess }) =>
            !after || lastAccess < after.lastAccess || (lastAccess === after.lastAccess && id < after.id),
        )
        .slice(offset, offset + limit)
        .map((image) => ({ ...image })),
    async *looks() {
      yield [...data().rows.values()].flatMap(({ image: { id, phash } }): [string, string][] =>
        phash === null ? [] : [[id, phash]],
      );
    },
    existing: async (ids) => new Set(ids.filter((id) => get(id))),
    summary: async () =>
      summarise(
        [...data().rows.values()].map(({ image }) => ({
          format: image.format,
          visibility: visibilityOf(image),
          count: 1,
          bytes: image.size,
        })),
      ),
    buried: async (ids) => new Set(ids.filter((id) => data().tombstones.has(id) || data().ends.has(id))),
    async dropTombstones(ageMs) {
      const { tombstones, ends } = data();
      for (const [id, at] of tombstones) if (at <= now() - ageMs) tombstones.delete(id);
      for (const [id, at] of ends) if (at <= now() - END_REMEMBERED_MS) ends.delete(id);
    },
    faults,
    knownFaults: faults,
    prepare: async () => {},
    preparing: () => null,
    async repair() {
      data().counted = data().rows.size;
    },
  };
}

function createAudit(entries: () => Map<string, StagedEntry>): AuditStore {
  const copies = (some: StagedEntry[]) => some.map((entry) => ({ ...entry }));
  const byTime = (one: StagedEntry, other: StagedEntry) => one.at - other.at || (one.id < other.id ? -1 : 1);
  const sorted = () => [...entries().values()].sort(byTime);
  return {
    async append(entry, stage) {
      if (!entries().has(entry.id)) entries().set(entry.id, { ...entry, stage });
    },
    async advance(id, stage) {
      const found = entries().get(id);
      if (found && found.stage > stage) found.stage = stage;
    },
    async list({ limit, after, subject }) {
      const newest = sorted().reverse();
      if (subject !== undefined)
        return copies(newest.filter((one) => one.subject === subject).slice(0, limit));
      const place = newest.findIndex(({ id }) => id === after);
      if (place === -1 && after !== undefined) return [];
      return copies(newest.slice(place + 1, place + 1 + limit));
    },
    unfinished: async (limit) => {
      const open: StagedEntry[] = [];
      // It is asked for all the time.
      for (const entry of entries().values()) if (entry.stage > 0) open.push(entry);
      return copies(open.sort((one, other) => other.stage - one.stage || byTime(one, other)).slice(0, limit));
    },
    async drop(day) {
      const old = sorted().filter((one) => one.stage === 0 && one.day < day);
      for (const { id } of old) entries().delete(id);
      return old.length;
    },
  };
}

function createAlbums(data: () => Data): AlbumStore {
  const get = (id: string) => data().albums.get(id);
  const all = () => [...data().albums.values()].map((album) => ({ ...album }));
  return {
    async insert(album) {
      if (get(album.id))
        throw new AppError('conflict', message('Album {id} already exists.', { id: album.id }));
      data().albums.set(album.id, { ...album });
    },
    async get(id) {
      const found = get(id);
      return found ? { ...found } : null;
    },
    async replace(album) {
      if (get(album.id)?.revision !== album.revision - 1) return false;
      data().albums.set(album.id, { ...album });
      return true;
    },
    async remove(id, revision) {
      const found = get(id);
      return (
        found !== undefined && found.revision === (revision ?? found.revision) && data().albums.delete(id)
      );
    },
    dueBy: async (time, limit) =>
      all()
        .filter(({ dueAt }) => dueAt <= time)
        .sort((one, other) => one.dueAt - other.dueAt)
        .slice(0, limit),
    async *all() {
      if (data().albums.size > 0) yield all();
    },
  };
}

function createState(data: () => Data): StateStore {
  return {
    get: async (key) => data().state.get(key) ?? null,
    async set(key, value) {
      data().state.set(key, value);
    },
    async getOrSet(key, value) {
      const known = data().state.get(key);
      if (known !== undefined) return known;
      data().state.set(key, value);
      return value;
    },
    async setFenced(key, value, token) {
      if ((data().tokens.get(key) ?? 0) > token) return false;
      data().tokens.set(key, token);
      data().state.set(key, value);
      return true;
    },
    async remove(key, token = Number.MAX_SAFE_INTEGER) {
      if ((data().tokens.get(key) ?? 0) > token) return;
      data().state.delete(key);
      data().tokens.delete(key);
    },
    keys: async () => [...data().state.keys()],
  };
}

function createLocks(
  held: Map<string, { owner: string; token: number; until: number }>,
  { now, newOwner, ask }: { now: () => number; newOwner: () => string; ask: Ask },
): Locks {
  return {
    async acquire(name, ttlMs) {
      const owner = newOwner();
      const askedAt = performance.now();
      const mine = () => {
        const lock = held.get(name);
        return lock?.owner === owner && lock.until > now() ? lock : null;
      };
      const token = await ask('locks.acquire', async () => {
        const known = held.get(name);
        if (known && known.until > now() && known.owner !== owner) return null;
        // As the real ones do: by the server's clock in microseconds.
        const next = Math.max((known?.token ?? 0) + 1, Math.floor(now() * 1000));
        held.set(name, { owner, token: next, until: now() + ttlMs });
        return next;
      });
      if (token === null) return null;
      const extend = (ms: number) => async () => {
        const lock = mine();
        if (lock) lock.until = now() + ms;
        return lock !== null;
      };
      return holdLease({
        token,
        ttlMs,
        askedAt,
        renew: () => ask('locks.renew', extend(ttlMs)),
        release: () => ask('locks.release', extend(0)),
      });
    },
  };
}

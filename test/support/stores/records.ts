import type { AlbumRecord } from '../../../src/image/albums/album.ts';
import type { ImageRecord } from '../../../src/image/image.ts';
import type { ProxyDraft } from '../../../src/proxy/store.ts';

/** An image record; what is not given is the same in all of them. Its id and format are plain: no letters but `png`. */
export function image(fields: Partial<ImageRecord> = {}): ImageRecord {
  return {
    id: '000000000000',
    filename: '0.png',
    format: 'png',
    width: 640,
    height: 480,
    frames: 1,
    size: 1000,
    hash: 'a'.repeat(64),
    uploader: '192.0.2.1',
    passwordHash: null,
    deleteTokenHash: 'b'.repeat(64),
    createdAt: 1_700_000_000_000,
    lastAccess: 1_700_000_000_000,
    unlisted: 0,
    expiresAt: null,
    maxViews: null,
    viewsLeft: null,
    thumbhash: null,
    phash: null,
    exif: null,
    made: null,
    title: null,
    alt: null,
    ...fields,
  };
}

/** An album record without pictures; what is not given is the same in all of them. */
export function album(fields: Partial<AlbumRecord> = {}): AlbumRecord {
  return {
    id: '000000000000',
    revision: 1,
    title: 'Harbour',
    unlisted: 0,
    tokenHash: 'c'.repeat(64),
    createdAt: 1_700_000_000_000,
    empty: 1,
    dueAt: 1_700_000_500_000,
    pictures: '',
    cover: '',
    guests: '',
    ...fields,
  };
}

/** A draft of a living proxy; what is not given is the same in all of them. */
export function draft(fields: Partial<ProxyDraft> = {}): ProxyDraft {
  return {
    protocol: 'http',
    ip: '192.0.2.1',
    port: 8080,
    country: 'DE',
    source: 'list-one',
    status: 'alive',
    responseMs: 500,
    anonymity: 'elite',
    exitIp: '198.51.100.7',
    error: null,
    firstSeen: 1_700_000_000_000,
    lastChecked: 1_700_000_100_000,
    lastAlive: 1_700_000_100_000,
    nextCheck: 1_700_000_200_000,
    checks: 3,
    successes: 2,
    run: 2,
    runSince: 1_700_000_050_000,
    uptime: 0.5,
    uptimeWeight: 0.25,
    proof: 'relayed',
    tampering: null,
    reports: null,
    login: null,
    recent: 0b1110,
    ...fields,
  };
}

/** `count` drafts with addresses of their own. */
export function drafts(
  count: number,
  fields: (index: number) => Partial<ProxyDraft> = () => ({}),
): ProxyDraft[] {
  return Array.from({ length: count }, (_, index) =>
    draft({ ip: `203.0.${index >> 8}.${index & 255}`, ...fields(index) }),
  );
}

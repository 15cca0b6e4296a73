/** The statements of one step. The step at index n migrates schema version n to n + 1. Never edit a released one. */
export type Migration = readonly string[];

/**
 * Proxies. `badness`, `slowness` and `tie` express the order of `dependable` as one ascending key, so that pages and
 * batches are ranges of an index (SQLite compares a row value with an index only up to a row ID, hence `tie`). An
 * export reads only `proxies_order`. Triggers maintain the counts, with response times in whole microseconds so that
 * sums do not drift. The version starts at the time of creation, so that a new file never repeats a version of an old
 * one.
 */
const proxies: Migration = [
  `CREATE TABLE proxies (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    protocol TEXT NOT NULL, ip TEXT NOT NULL, port INTEGER NOT NULL,
    country TEXT NOT NULL, source TEXT NOT NULL, status TEXT NOT NULL,
    response_ms REAL, anonymity TEXT, exit_ip TEXT, error TEXT,
    first_seen INTEGER NOT NULL, last_checked INTEGER NOT NULL, last_alive INTEGER, next_check INTEGER NOT NULL,
    checks INTEGER NOT NULL, successes INTEGER NOT NULL, run INTEGER NOT NULL, run_since INTEGER NOT NULL,
    uptime REAL NOT NULL, uptime_weight REAL NOT NULL,
    badness REAL AS (-uptime), slowness REAL AS (ifnull(response_ms, 9e999)), tie INTEGER AS (id),
    UNIQUE (ip, port, protocol)
  )`,
  `CREATE INDEX proxies_order ON proxies (status, protocol, badness, slowness, tie, country, anonymity, source, ip, port)`,
  `CREATE INDEX proxies_country ON proxies (country, status, protocol, badness, slowness, tie, anonymity, source)`,
  `CREATE INDEX proxies_due ON proxies (next_check)`,
  `CREATE INDEX proxies_dead ON proxies (ifnull(last_alive, first_seen)) WHERE status = 'dead'`,
  `CREATE TABLE proxy_counts (
    status TEXT NOT NULL, protocol TEXT NOT NULL, country TEXT NOT NULL,
    count INTEGER NOT NULL, timed INTEGER NOT NULL, total_us INTEGER NOT NULL,
    PRIMARY KEY (status, protocol, country)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TRIGGER proxies_inserted AFTER INSERT ON proxies BEGIN ${count('new')} END`,
  `CREATE TRIGGER proxies_deleted AFTER DELETE ON proxies BEGIN ${uncount('old')} END`,
  `CREATE TRIGGER proxies_updated AFTER UPDATE OF status, country, response_ms ON proxies
    WHEN (old.status, old.country, old.response_ms) IS NOT (new.status, new.country, new.response_ms)
    BEGIN ${uncount('old')} ${count('new')} END`,
  `CREATE TABLE proxy_version (value INTEGER NOT NULL) STRICT`,
  `INSERT INTO proxy_version VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER))`,
];

function count(row: string): string {
  return `INSERT INTO proxy_counts VALUES (${row}.status, ${row}.protocol, ${row}.country, 1,
      ${row}.response_ms IS NOT NULL, CAST(ifnull(round(${row}.response_ms * 1000), 0) AS INTEGER))
    ON CONFLICT DO UPDATE SET count = count + 1, timed = timed + excluded.timed,
      total_us = total_us + excluded.total_us;`;
}

function uncount(row: string): string {
  return `UPDATE proxy_counts SET count = count - 1, timed = timed - (${row}.response_ms IS NOT NULL),
      total_us = total_us - CAST(ifnull(round(${row}.response_ms * 1000), 0) AS INTEGER)
    WHERE (status, protocol, country) = (${row}.status, ${row}.protocol, ${row}.country);`;
}

/**
 * Images. `pos` increases in the order of the list, oldest first, so that a page of the list is a walk down row IDs
 * (see `image-order.ts`).
 */
const images: Migration = [
  `CREATE TABLE images (
    pos INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE, filename TEXT NOT NULL, format TEXT NOT NULL,
    width INTEGER NOT NULL, height INTEGER NOT NULL, frames INTEGER NOT NULL, size INTEGER NOT NULL,
    hash TEXT NOT NULL, uploader TEXT NOT NULL, password_hash TEXT, delete_token_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL, last_access INTEGER NOT NULL
  )`,
  `CREATE INDEX images_created ON images (created_at DESC, id)`,
  `CREATE INDEX images_idle ON images (last_access, id)`,
  `CREATE INDEX images_public ON images (pos) WHERE password_hash IS NULL`,
  `CREATE TABLE image_counts (
    format TEXT NOT NULL, protected INTEGER NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (format, protected)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TRIGGER images_inserted AFTER INSERT ON images BEGIN
    INSERT INTO image_counts VALUES (new.format, new.password_hash IS NOT NULL, 1, new.size)
    ON CONFLICT DO UPDATE SET count = count + 1, bytes = bytes + excluded.bytes;
  END`,
  `CREATE TRIGGER images_deleted AFTER DELETE ON images BEGIN
    UPDATE image_counts SET count = count - 1, bytes = bytes - old.size
    WHERE (format, protected) = (old.format, old.password_hash IS NOT NULL);
  END`,
];

const state: Migration = [
  `CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID`,
];

/** A log of recently added and removed public images (see `image-search.ts`), replacing the first index of names. */
const imageLog: Migration = [
  `CREATE TABLE image_log (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, removed INTEGER NOT NULL) STRICT`,
  `CREATE TRIGGER images_came AFTER INSERT ON images WHEN new.password_hash IS NULL BEGIN
    INSERT INTO image_log (id, removed) VALUES (new.id, 0);
  END`,
  `CREATE TRIGGER images_went AFTER DELETE ON images WHEN old.password_hash IS NULL BEGIN
    INSERT INTO image_log (id, removed) VALUES (old.id, 1);
  END`,
  `CREATE TRIGGER image_log_grew AFTER INSERT ON image_log BEGIN
    DELETE FROM image_log WHERE seq <= new.seq - 100000;
  END`,
  `DROP TABLE IF EXISTS image_grams`,
];

/** Removed images whose files may still exist. Triggers record every removal. */
const tombstones: Migration = [
  `CREATE TABLE tombstones (id TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  `CREATE TRIGGER images_buried AFTER DELETE ON images BEGIN
    INSERT INTO tombstones VALUES (old.id, CAST(unixepoch('subsec') * 1000 AS INTEGER))
    ON CONFLICT DO UPDATE SET at = excluded.at;
  END`,
  `CREATE TRIGGER images_unburied AFTER INSERT ON images BEGIN DELETE FROM tombstones WHERE id = new.id; END`,
];

/** The proof of a proxy. */
const proof: Migration = [`ALTER TABLE proxies ADD COLUMN proof TEXT`];

/** Due proxies are queried by status. */
const dueByStatus: Migration = [
  `DROP INDEX proxies_due`,
  `CREATE INDEX proxies_due ON proxies (status, next_check)`,
];

/**
 * The search index (see `image-search.ts`), replacing the log that an index in memory followed. Existing images are
 * indexed in the background: those below the mark are still missing.
 */
const imageIndex: Migration = [
  'DROP TRIGGER images_came',
  'DROP TRIGGER images_went',
  'DROP TABLE image_log',
  `CREATE VIRTUAL TABLE image_text USING fts5(
    text, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1')`,
  `CREATE VIRTUAL TABLE image_short USING fts5(
    words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')`,
  'CREATE TABLE image_index (below INTEGER NOT NULL) STRICT',
  'INSERT INTO image_index SELECT ifnull(max(pos) + 1, 0) FROM images',
];

/** What proxies change on the way, and what users report about them. */
const tamperingAndReports: Migration = [
  `ALTER TABLE proxies ADD COLUMN tampering TEXT`,
  `ALTER TABLE proxies ADD COLUMN reports TEXT`,
];

/** Proxies that ask for a login. They are few, so a separate index shows quickly whether there are any. */
const logins: Migration = [
  `ALTER TABLE proxies ADD COLUMN login TEXT`,
  `CREATE INDEX proxies_login ON proxies (id) WHERE login IS NOT NULL`,
];

/** SQL for the visibility of an image. */
export const VISIBILITY = (row: string) =>
  `CASE WHEN ${row}.password_hash IS NOT NULL THEN 'protected' WHEN ${row}.unlisted = 1 THEN 'unlisted' ELSE 'public' END`;
const countImage = (row: string) =>
  `INSERT INTO image_counts VALUES (${row}.format, ${VISIBILITY(row)}, 1, ${row}.size)
    ON CONFLICT DO UPDATE SET count = count + 1, bytes = bytes + excluded.bytes;`;
const uncountImage = (row: string) =>
  `UPDATE image_counts SET count = count - 1, bytes = bytes - ${row}.size
    WHERE (format, visibility) = (${row}.format, ${VISIBILITY(row)});`;

/**
 * Visibility, expiry and views of images. `ends_at` is when a record is removed: at its expiry, or when its last
 * view, which is in progress, counts as seen. `image_ends` remembers expired and used-up images.
 */
const imageEnds: Migration = [
  `ALTER TABLE images ADD COLUMN unlisted INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE images ADD COLUMN expires_at INTEGER`,
  `ALTER TABLE images ADD COLUMN max_views INTEGER`,
  `ALTER TABLE images ADD COLUMN views_left INTEGER`,
  `ALTER TABLE images ADD COLUMN views_open INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE images ADD COLUMN ends_at INTEGER`,
  `CREATE INDEX images_ending ON images (ends_at, last_access, id)`,
  `DROP INDEX images_public`,
  `CREATE INDEX images_listed ON images (pos) WHERE password_hash IS NULL AND unlisted = 0`,
  `CREATE TABLE image_ends (id TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  `DROP TRIGGER images_inserted`,
  `DROP TRIGGER images_deleted`,
  `CREATE TABLE counts_before AS SELECT * FROM image_counts`,
  `DROP TABLE image_counts`,
  `CREATE TABLE image_counts (
    format TEXT NOT NULL, visibility TEXT NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (format, visibility)
  ) STRICT, WITHOUT ROWID`,
  `INSERT INTO image_counts
    SELECT format, CASE protected WHEN 1 THEN 'protected' ELSE 'public' END, count, bytes FROM counts_before`,
  `DROP TABLE counts_before`,
  `CREATE TRIGGER images_inserted AFTER INSERT ON images BEGIN ${countImage('new')} END`,
  `CREATE TRIGGER images_deleted AFTER DELETE ON images BEGIN ${uncountImage('old')} END`,
  `CREATE TRIGGER images_changed AFTER UPDATE OF password_hash, unlisted ON images
    BEGIN ${uncountImage('old')} ${countImage('new')} END`,
];

/** Perceptual hashes and previews. */
const looks: Migration = [
  `ALTER TABLE images ADD COLUMN thumbhash TEXT`,
  `ALTER TABLE images ADD COLUMN phash TEXT`,
];

/** The latest checks of proxies; none for those known before. */
const recentChecks: Migration = [`ALTER TABLE proxies ADD COLUMN recent INTEGER NOT NULL DEFAULT 1`];

/** Albums. Their pictures are one text, so that a change affects one row. */
const albums: Migration = [
  `CREATE TABLE albums (
    id TEXT PRIMARY KEY, revision INTEGER NOT NULL, title TEXT NOT NULL, unlisted INTEGER NOT NULL,
    token_hash TEXT NOT NULL, created_at INTEGER NOT NULL, empty INTEGER NOT NULL, due_at INTEGER NOT NULL,
    pictures TEXT NOT NULL
  ) STRICT`,
  `CREATE INDEX albums_due ON albums (due_at, id)`,
];

/** How pictures were taken, if their EXIF was kept. */
const exif: Migration = [`ALTER TABLE images ADD COLUMN exif TEXT`];

/** What images were made from. */
const made: Migration = [`ALTER TABLE images ADD COLUMN made TEXT`];

/** What uploaders call their images, and what these show. */
const imageTexts: Migration = [
  `ALTER TABLE images ADD COLUMN title TEXT`,
  `ALTER TABLE images ADD COLUMN alt TEXT`,
];

/** Acts on others' pictures, and of the administrator. */
const audit: Migration = [
  `CREATE TABLE audit (
    id TEXT PRIMARY KEY, at INTEGER NOT NULL, day INTEGER NOT NULL, subject TEXT NOT NULL, stage INTEGER NOT NULL,
    text TEXT NOT NULL
  ) STRICT`,
  `CREATE INDEX audit_at ON audit (at, id)`,
  `CREATE INDEX audit_day ON audit (day)`,
  `CREATE INDEX audit_subject ON audit (subject, at, id)`,
  `CREATE INDEX audit_open ON audit (stage DESC, at, id) WHERE stage > 0`,
];

/** The covers of albums, and their guests. */
const covers: Migration = [
  `ALTER TABLE albums ADD COLUMN cover TEXT NOT NULL DEFAULT ''`,
  `ALTER TABLE albums ADD COLUMN guests TEXT NOT NULL DEFAULT ''`,
];

/** All steps ever released, oldest first. */
export const migrations: readonly Migration[] = [
  [...proxies, ...images, ...state],
  imageLog,
  tombstones,
  proof,
  dueByStatus,
  imageIndex,
  tamperingAndReports,
  logins,
  imageEnds,
  looks,
  recentChecks,
  albums,
  exif,
  made,
  imageTexts,
  audit,
  covers,
];

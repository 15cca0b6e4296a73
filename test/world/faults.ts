/** A change of the tree that puts a fault back, and what must then fail. */
export interface PutBack {
  /** What users would see. */
  name: string;
  changes: { file: string; from: string; to: string }[];
  /** Arguments of `bun`, or the simulated worlds of which one must be broken. Default: `images`. */
  proof?: string[] | 'pool' | 'bytes';
}

const HISTORY = ['bench/fleet.ts', 'histories', '3', '60', '1'];
const trial = (name: string) => ['scripts/loss.ts', '0', '1', name];
const change = (file: string, from: string, to: string) => ({ file, from, to });
const IMAGE = 'src/image';

/** Faults that picpool once had, and others like them. */
export const FAULTS: readonly PutBack[] = [
  {
    name: 'a clock that is ahead makes every picture idle',
    changes: [
      change(
        `${IMAGE}/maintenance/service-time.ts`,
        'servedFor: async (ms) => cutoff(await current(), ms),',
        'servedFor: async (ms) => now() - ms,',
      ),
      change(`${IMAGE}/maintenance/service-time.ts`, 'if (doubt === null) return null;', 'return null;'),
    ],
  },
  {
    name: 'tokens of locks follow the clock, so that one that was ahead stops the cleanup',
    changes: [
      change(
        'adapters/local/locks.ts',
        'last = Math.max(last, lastToken()) + 1;',
        'last = Math.max(last + 1, Date.now() * 1000);',
      ),
    ],
  },
  {
    name: 'two interrupted steps of the epochs stop all removals until the operator confirms',
    changes: [change(`${IMAGE}/maintenance/epoch.ts`, 'Math.max(records, files + 1)', 'records + 1')],
  },
  {
    name: 'a picture that was allowed by half stays public when it is blocked',
    changes: [change(`${IMAGE}/review/reviews.ts`, '    await discard(image);\n', '')],
  },
  {
    name: 'a client that leaves has its picture published',
    changes: [
      change(`${IMAGE}/upload/storing.ts`, 'signal?.throwIfAborted();\n      await files', 'await files'),
      change(
        `${IMAGE}/upload/storing.ts`,
        '        signal?.throwIfAborted();\n        const inReview',
        '        const inReview',
      ),
      change(`${IMAGE}/upload/intake.ts`, '        signal.throwIfAborted();\n', ''),
    ],
  },
  {
    name: 'a form that fails in the middle leaves its first pictures public',
    changes: [
      change(`${IMAGE}/upload/intake.ts`, '        await Promise.all(stored.map(service.takeBack));\n', ''),
    ],
  },
  {
    name: 'an upload whose record is stored without an answer fails, and is public',
    changes: [
      change(
        `${IMAGE}/upload/storing.ts`,
        "if (isUnclear(cause)) await unfinished.settle('take-back', image);",
        '',
      ),
    ],
  },
  {
    name: 'uploads go on while the files of all pictures are missing',
    changes: [
      change(
        `${IMAGE}/maintenance/missing-files.ts`,
        '    if (!(await areMissing())) return;\n',
        '    if (!(await areMissing()) || stores) return;\n',
      ),
    ],
  },
  {
    name: 'a deletion without an answer is never told',
    changes: [
      change(
        `${IMAGE}/owner-actions.ts`,
        "unfinished.during('deletion', [image], async () => {\n      const isGone = await images.remove(image.id).finally(() => records.forget(image.id));\n      if (!isGone) throw notFound();\n      await onRemoved(image);\n    });",
        '(async () => {\n      const isGone = await images.remove(image.id).finally(() => records.forget(image.id));\n      if (!isGone) throw notFound();\n      await onRemoved(image);\n    })();',
      ),
    ],
  },
  {
    name: 'the end of a last view, without an answer or with the death of the server, is never told',
    changes: [
      change(
        `${IMAGE}/serve/limited-views.ts`,
        "unfinished.during('removal', [image], async",
        '((work: (done: (image: ImageRecord) => void) => Promise<void>) => work(() => {}))(async',
      ),
    ],
  },
  {
    name: 'what the store does late is never told',
    changes: [
      change(`${IMAGE}/maintenance/unfinished.ts`, 'else return isSettled;', ''),
      change(`${IMAGE}/maintenance/unfinished.ts`, 'return isDone || isSettled;', 'return true;'),
    ],
  },
  {
    name: 'deleting frees no space for a copy that did not make the smaller versions',
    changes: [
      change(
        `${IMAGE}/serve/thumbnails.ts`,
        'const size = sizes.get(key) ?? (await blobs.stat(key).catch(() => null))?.size ?? 0;',
        'const size = sizes.get(key) ?? 0;',
      ),
    ],
  },
  {
    name: 'of two additions to an album at once, one is lost',
    changes: [
      change(
        `${IMAGE}/albums/kept.ts`,
        'if (await albums.replace(changed)) return changed;',
        'if ((await albums.replace(changed)) || tries) return changed;',
      ),
    ],
  },
  {
    name: 'an album that is changed while it is deleted stays',
    changes: [
      change(
        `${IMAGE}/albums/albums.ts`,
        'album = (await albums.remove(id, album.revision)) ? null : await albums.get(id);',
        'await albums.remove(id, album.revision - 1);\n        album = null;',
      ),
    ],
  },
  {
    name: 'in a full store nobody can delete',
    changes: [
      change(
        'src/audit/audit.ts',
        "        if (error instanceof AppError && error.code === 'storage_full') return null;\n",
        '',
      ),
    ],
  },
  {
    name: 'a message that its receiver did not take the first time is lost',
    changes: [
      change(
        'src/webhooks/webhooks.ts',
        'if (fault.final || waitMs === null)',
        'if (fault || waitMs === null)',
      ),
    ],
  },
  {
    name: 'a picture that is viewed while a cleanup runs is removed by it',
    changes: [
      change(`${IMAGE}/maintenance/cleanup.ts`, '        await accesses.flush();\n', ''),
      change(
        `${IMAGE}/maintenance/cleanup.ts`,
        'const removable = idle.filter(({ id }) => !accesses.has(id));',
        'const removable = idle;',
      ),
      change(`${IMAGE}/maintenance/cleanup.ts`, '!accesses.has(image.id) && ', ''),
    ],
  },
  {
    name: 'of two changes at once, both succeed, and the picture is open without its password',
    changes: [
      change(
        `${IMAGE}/owner-actions.ts`,
        "wish.visibility === 'protected' && changed.passwordHash === null",
        'false',
      ),
    ],
  },
  {
    name: 'all but the last byte of a picture with one view is free',
    changes: [
      change(`${IMAGE}/serve/limited.ts`, 'const tenth = Math.ceil(size / 10);', 'const tenth = size;'),
    ],
  },
  {
    name: 'an upload has its record before its file',
    changes: [
      change(
        `${IMAGE}/records/image-files.ts`,
        '      await blobs.put(originalKey(image), path, MEDIA_TYPES[image.format]);\n      changed = true;\n      try {\n        await images.insert(image);\n      } catch',
        '      changed = true;\n      try {\n        await images.insert(image);\n        await blobs.put(originalKey(image), path, MEDIA_TYPES[image.format]);\n      } catch',
      ),
    ],
  },
  {
    name: 'a file that could not be removed is forgotten, and its tombstone dropped at once',
    changes: [
      change(`${IMAGE}/records/image-files.ts`, 'if (failed.size < MAX_REMEMBERED) failed.add(key);', ''),
      change(`${IMAGE}/maintenance/sweep.ts`, '  await quarantine.remove(found.buried);\n', ''),
    ],
  },
  {
    name: 'other copies go on showing what was deleted',
    changes: [change(`${IMAGE}/records/records.ts`, 'LIFE_MS = 2000', 'LIFE_MS = 2_000_000')],
  },
  {
    name: 'a copy that died leaves its business to nobody',
    changes: [
      change(`${IMAGE}/maintenance/unfinished.ts`, '    await unfinished.finish();', ''),
      change(`${IMAGE}/maintenance/unfinished.ts`, '        await look();\n', ''),
    ],
  },
  {
    name: 'expired pictures are not announced',
    changes: [change(`${IMAGE}/maintenance/upkeep.ts`, '            await onRemoved(image);\n', '')],
  },
  {
    name: 'a change is not announced to the cache of records',
    changes: [
      change(
        `${IMAGE}/owner-actions.ts`,
        'const changed = await images.change(id, change).finally(() => records.forget(id));',
        'const changed = await images.change(id, change);',
      ),
    ],
  },
  {
    name: 'a clock that is right again still stamps pictures with the time that it had',
    changes: [
      change(
        `${IMAGE}/maintenance/service-time.ts`,
        'stamped = now() < floor && floor - now() <= DOUBT_MS ? floor + 1 : now();',
        'stamped = now() < floor ? floor + 1 : now();',
      ),
      change(
        `${IMAGE}/upload/storing.ts`,
        'audienceOf(wanted, rules, now())',
        'audienceOf(wanted, rules, stamp())',
      ),
    ],
  },
  {
    name: 'a worker that fails leaves viewers without a picture',
    changes: [
      change(
        `${IMAGE}/serve/thumbnails.ts`,
        "if (error instanceof AppError && error.code === 'not_found') throw error;",
        "if (!(error instanceof AppError) || error.code === 'not_found') throw error;",
      ),
    ],
  },
  {
    name: 'what no judge can decide keeps everything else from being tried',
    changes: [
      change(
        'src/proxy/discovery/discovery.ts',
        'const turn = from.queue.next() ?? nextUndecided();',
        'const turn = undecided.shift()?.turn ?? from.queue.next();',
      ),
    ],
    proof: 'pool',
  },
  {
    name: 'two copies refresh at once',
    changes: [
      change(
        'src/proxy/refresh/refresh.ts',
        'const lease = await locks.acquire(LOCK, LEASE_MS);\n      if (lease) {',
        'const lease = await locks.acquire(LOCK + random(), LEASE_MS);\n      if (lease) {',
      ),
    ],
    proof: 'pool',
  },
  {
    name: 'a crash between slot and index gives one site the results of another',
    changes: [
      change(
        'src/proxy/targets/shared-sites.ts',
        '      if (written && (written.site ?? site) !== site) continue;\n',
        '',
      ),
    ],
    proof: 'pool',
  },
  {
    name: 'a clock that was ahead postpones the next refresh',
    changes: [
      change(
        'src/proxy/refresh/timers.ts',
        'return plannedFor(Math.max(next, isFree ? 0 : first), now, intervalMs * (1 + JITTER / 2));',
        'return plannedFor(Math.max(next, isFree ? 0 : first), now, Number.POSITIVE_INFINITY);',
      ),
    ],
    proof: 'pool',
  },
  {
    name: 'a clock that was ahead ends the chart',
    changes: [
      change(
        'src/proxy/pool/pool-history.ts',
        'elapsedSince(at, clock.now()) < spanMs',
        'clock.now() - at < spanMs',
      ),
    ],
    proof: 'pool',
  },
  {
    name: 'a check by a clock that was ahead is not replaced',
    changes: [change('adapters/sqlite/proxy-rows.ts', ' && known.lastChecked <= now() + SKEW_MS', '')],
    proof: 'pool',
  },
  {
    name: 'a request that its client will never complete keeps its connection',
    changes: [
      change('src/gateway/plain.ts', 'if (!isWhole(request, client)) client.socket.destroy();', ''),
      change(
        'src/gateway/plain.ts',
        'if (!this.#requestEnd.done) this.#options.client.socket.destroy();',
        '',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'a client that sends more requests than are read ahead stalls',
    changes: [
      change(
        'src/gateway/client.ts',
        '    if (this.#paused && this.inbox.size <= MOST_AHEAD_BYTES) this.#resume();\n',
        '',
      ),
      change(
        'src/gateway/client.ts',
        '    this.serving = null;\n    this.#resume();',
        '    this.serving = null;',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'requests that came before the end of the client are not answered',
    changes: [
      change(
        'src/gateway/client.ts',
        '    if (!this.inbox.isEmpty) this.#goOn();\n    // Whole requests are still served, but one that has not begun by now never will.\n    if (this.hasEnded && this.serving === null) this.close();',
        '    if (this.hasEnded) return this.close();\n    if (!this.inbox.isEmpty) this.#goOn();',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'what is no trailer passes for one, and may be a request to the next reader',
    changes: [change('src/lib/http-message.ts', 'trailerLine(line.slice(0, -2))', 'line')],
    proof: 'bytes',
  },
  {
    name: 'chunks are passed on as they came',
    changes: [change('src/lib/http-message.ts', 'if (!isChunked) return', 'if (count >= 0) return')],
    proof: 'bytes',
  },
  {
    name: 'an error in answer to HEAD has a body',
    changes: [
      change(
        'src/gateway/fault.ts',
        "method === 'HEAD' ? HEAD_VOICE : HTTP_VOICE",
        'method ? HTTP_VOICE : HEAD_VOICE',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'the path has bytes that no path may have',
    changes: [change('src/gateway/http-request.ts', '.replace(/[^!-~]/g, encoded)', '')],
    proof: 'bytes',
  },
  {
    name: 'no fencing',
    changes: [
      change('adapters/redis/locks.ts', 'if seen > tonumber(ARGV[2]) then', 'if false then'),
      change(
        'adapters/redis/state.ts',
        "if tonumber(redis.call('HGET', KEYS[1], fence) or 0) > tonumber(ARGV[3]) then return 0 end",
        '',
      ),
      // Nor does a copy that lost its lease hear of it.
      change('adapters/redis/locks.ts', 'if (!released) ending.abort(reason);', 'void reason;'),
    ],
    proof: HISTORY,
  },
  {
    name: 'no lease of the sweep',
    changes: [
      change(
        `${IMAGE}/maintenance/sweep.ts`,
        'await options.locks.acquire(CLEANUP_LOCK, CLEANUP_LOCK_TTL_MS);',
        '{ token: Date.now() * 1000 + CLEANUP_LOCK_TTL_MS % 7 + CLEANUP_LOCK.length, lost: new AbortController().signal, async release() {} };',
      ),
    ],
    proof: HISTORY,
  },
  {
    name: 'no epochs',
    changes: [
      change(
        `${IMAGE}/maintenance/epoch.ts`,
        'export function epochFault({ records, files }: Epochs): string | null {',
        'export function epochFault({ records, files }: Epochs): string | null {\n  if (records !== -1) return null;',
      ),
    ],
    proof: trial('records of yesterday are put'),
  },
  {
    name: 'no tombstones',
    changes: [
      change('adapters/redis/image-scripts.ts', "redis.call('ZADD', KEYS[6], redis.call('TIME')[1], id)", ''),
      change(
        'adapters/sqlite/schema.ts',
        '`CREATE TRIGGER images_buried AFTER DELETE ON images BEGIN',
        '`CREATE TRIGGER images_buried AFTER DELETE ON images WHEN false BEGIN',
      ),
    ],
    proof: trial('all files vanish'),
  },
];

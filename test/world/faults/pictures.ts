import { faultFor, IMAGE, type PutBack } from './fault.ts';

const fault = faultFor('images');
const hanging = faultFor('hanging');
const dying = faultFor('dying');
const seen = faultFor(['test', 'test/api/image-scan.test.ts', '-t', 'by the first of two moderators']);

/** Faults of what users do with pictures and albums. */
export const PICTURE_FAULTS: readonly PutBack[] = [
  fault('a picture that was allowed by half stays public when it is blocked', [
    `${IMAGE}/review/reviews.ts`,
    '    await discard(image, (await blobs.stat(heldKey(image))) === null);\n',
    '',
  ]),
  hanging('a picture that was blocked is public once the store has carried out its approval', [
    `${IMAGE}/owner-actions.ts`,
    "if (mayCome) await unfinished.settle('take-back', image);",
    '',
  ]),
  fault(
    'a client that leaves has its picture published',
    [`${IMAGE}/upload/storing.ts`, 'signal?.throwIfAborted();\n      await files', 'await files'],
    [
      `${IMAGE}/upload/storing.ts`,
      '        signal?.throwIfAborted();\n        const inReview',
      '        const inReview',
    ],
    [`${IMAGE}/upload/intake.ts`, '        signal.throwIfAborted();\n', ''],
  ),
  fault('a form that fails in the middle leaves its first pictures public', [
    `${IMAGE}/upload/intake.ts`,
    '        await Promise.all(stored.map(service.takeBack));\n',
    '',
  ]),
  fault('an upload whose record is stored without an answer fails, and is public', [
    `${IMAGE}/upload/storing.ts`,
    "if (isUnclear(cause)) await unfinished.settle('take-back', image);",
    '',
  ]),
  fault('a deletion without an answer is never told', [
    `${IMAGE}/owner-actions.ts`,
    "unfinished.during('deletion', [image], async () => {\n      const isGone = await images.remove(image.id).finally(() => records.forget(image.id));\n      if (!isGone) throw notFound();\n      await onRemoved(image);\n    });",
    '(async () => {\n      const isGone = await images.remove(image.id).finally(() => records.forget(image.id));\n      if (!isGone) throw notFound();\n      await onRemoved(image);\n    })();',
  ]),
  fault('of two additions to an album at once, one is lost', [
    `${IMAGE}/albums/kept.ts`,
    'if (await albums.replace(changed)) return changed;',
    'if ((await albums.replace(changed)) || tries) return changed;',
  ]),
  fault('an album that is changed while it is deleted stays', [
    `${IMAGE}/albums/albums.ts`,
    'album = (await albums.remove(id, album.revision)) ? null : await albums.get(id);',
    'await albums.remove(id, album.revision - 1);\n        album = null;',
  ]),
  fault('of two changes at once, both succeed, and the picture is open without its password', [
    `${IMAGE}/owner-actions.ts`,
    "wish.visibility === 'protected' && changed.passwordHash === null",
    'false',
  ]),
  fault('all but the last byte of a picture with one view is free', [
    `${IMAGE}/serve/limited.ts`,
    'const tenth = Math.ceil(size / 10);',
    'const tenth = size;',
  ]),
  fault('an upload has its record before its file', [
    `${IMAGE}/records/image-files.ts`,
    '      await blobs.put(originalKey(image), path, MEDIA_TYPES[image.format]);\n      changed = true;\n      try {\n        await images.insert(image);\n      } catch',
    '      changed = true;\n      try {\n        await images.insert(image);\n        await blobs.put(originalKey(image), path, MEDIA_TYPES[image.format]);\n      } catch',
  ]),
  fault('other copies go on showing what was deleted', [
    `${IMAGE}/records/records.ts`,
    'LIFE_MS = 2000',
    'LIFE_MS = 2_000_000',
  ]),
  fault('a change is not announced to the cache of records', [
    `${IMAGE}/owner-actions.ts`,
    'const changed = await images.change(id, change).finally(() => records.forget(id));',
    'const changed = await images.change(id, change);',
  ]),
  fault('a worker that fails leaves viewers without a picture', [
    `${IMAGE}/serve/thumbnails.ts`,
    "if (error instanceof AppError && error.code === 'not_found') throw error;",
    "if (!(error instanceof AppError) || error.code === 'not_found') throw error;",
  ]),
  fault('every view that is broken off is given back', [
    `${IMAGE}/serve/limited-views.ts`,
    'capacity: 2,',
    'capacity: 2000,',
  ]),
  fault('of two pictures that go to review at once, one is lost', [
    `${IMAGE}/review/reviews.ts`,
    "name: 'image-reviews', clock",
    "name: 'image-reviews' + Math.random(), clock",
  ]),
  hanging('a change of what is in review that is done late is the last word', [
    'src/image/review/reviews.ts',
    'await writeHeld(state, KEY, changed, demandHeld());',
    'demandHeld();\n      await (state as StateStore).set(KEY, JSON.stringify(changed));',
  ]),
  fault(
    'a picture that is blocked leaves its file',
    [`${IMAGE}/review/reviews.ts`, '    await blobs.remove(heldKey(image));\n  }', '  }'],
    [
      `${IMAGE}/maintenance/survey.ts`,
      '      else if (file.blob.modified < straysBefore) note(found.expired, file);\n    }',
      '    }',
    ],
  ),
  fault('an upload whose record could not be stored is acknowledged', [
    `${IMAGE}/records/image-files.ts`,
    '        if (stored?.deleteTokenHash !== image.deleteTokenHash) throw cause;\n',
    '        if (stored && stored.deleteTokenHash !== image.deleteTokenHash) throw cause;\n',
  ]),
  fault('what has expired is shown while it waits to be removed', [
    `${IMAGE}/records/records.ts`,
    'if (image ? isOver(image, now()) : await',
    'if (image ? isOver(image, 0) : await',
  ]),
  dying('what is to be taken back is forgotten when the process dies', [
    `${IMAGE}/maintenance/unfinished.ts`,
    '      await note(key, business);\n      await finishBusiness(key, business).catch(() => {});\n',
    '      await finishBusiness(key, business).catch(() => {});\n',
  ]),
  dying('what is to be taken back is noted only when it could not be at once', [
    `${IMAGE}/maintenance/unfinished.ts`,
    '      await note(key, business);\n      await finishBusiness(key, business).catch(() => {});\n',
    '      await finishBusiness(key, business).catch(() => {});\n      if (open.has(key)) await note(key, business);\n',
  ]),
  hanging('a picture that was deleted can still be allowed', [
    `${IMAGE}/owner-actions.ts`,
    '    if ((await inReview(id)) && (await reviews?.withdraw(id))) return;\n    const image = await images.get(id);\n',
    '    const image = await images.get(id);\n    if (image === null && (await inReview(id)) && (await reviews?.withdraw(id))) return;\n',
  ]),
  fault(
    'an album is swept although it has pictures',
    [
      `${IMAGE}/albums/albums.ts`,
      '    if (!alive && album.empty === 1) return',
      '    if (album.empty === 1 || !alive) return',
    ],
    [`${IMAGE}/albums/albums.ts`, 'empty: alive ? 0 : 1, dueAt', 'empty: 1, dueAt'],
  ),
  fault(
    'what was taken out of an album comes back with the next addition',
    [
      `${IMAGE}/albums/kept.ts`,
      '      const album = await find(id);\n      const change = await work(album);',
      '      const album = seen.get(id) ?? (await find(id));\n      seen.set(id, album);\n      const change = await work(album);\n      seen.set(id, { ...album, ...change, revision: album.revision + 1 });',
    ],
    [
      `${IMAGE}/albums/kept.ts`,
      '  async function find(id: string): Promise<AlbumRecord> {',
      '  const seen = new Map<string, AlbumRecord>();\n  async function find(id: string): Promise<AlbumRecord> {',
    ],
  ),
  fault('of a form that fails, only what was stored last is taken back', [
    `${IMAGE}/upload/intake.ts`,
    'stored.map(service.takeBack)',
    'stored.slice(-1).map(service.takeBack)',
  ]),
  fault('nobody is told of a picture that was allowed', [
    `${IMAGE}/review/reviews.ts`,
    '    onStored(image);\n',
    '',
  ]),
  seen('a block that finds the picture allowed counts as done', [
    `${IMAGE}/review/reviews.ts`,
    'if ((await images.get(id)) !== null)',
    'if (false as boolean)',
  ]),
  fault('other copies obey a token that was revoked', [
    'src/access/tokens.ts',
    'const BELIEVED_MS = 500;',
    'const BELIEVED_MS = 3_600_000;',
  ]),
  fault('of two guests at once, both get the last place', [
    `${IMAGE}/albums/invites.ts`,
    '.slice(0, roomIn(invite, present))',
    '',
  ]),
  fault('an invitation that was revoked lets guests in', [
    `${IMAGE}/albums/invites.ts`,
    'withGuests({ ...guests, invites, lapsed: [] }, ',
    'withGuests(guests, ',
  ]),
];

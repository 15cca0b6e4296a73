import { faultFor, IMAGE, type PutBack } from './fault.ts';

const fault = faultFor('images');
const hanging = faultFor('hanging');
const alone = faultFor('alone');

/** Faults of what the image host does on its own. */
export const UPKEEP_FAULTS: readonly PutBack[] = [
  fault(
    'a clock that is ahead makes every picture idle',
    [
      `${IMAGE}/maintenance/service-time.ts`,
      'servedFor: async (ms: number) => cutoff(await current(), ms),',
      'servedFor: async (ms: number) => now() - ms,',
    ],
    [`${IMAGE}/maintenance/service-time.ts`, 'if (doubt === null) return null;', 'return null;'],
  ),
  fault('tokens of locks follow the clock, so that one that was ahead stops the cleanup', [
    'adapters/local/locks.ts',
    'last = Math.max(last, lastToken()) + 1;',
    'last = Math.max(last + 1, Date.now() * 1000);',
  ]),
  fault('two interrupted steps of the epochs stop all removals until the operator confirms', [
    `${IMAGE}/maintenance/epoch.ts`,
    'Math.max(records, files + 1)',
    'records + 1',
  ]),
  fault('uploads go on while the files of all pictures are missing', [
    `${IMAGE}/maintenance/missing-files.ts`,
    '    if (!(await areMissing())) return;\n',
    '    if (!(await areMissing()) || stores) return;\n',
  ]),
  fault('the end of a last view, without an answer or with the death of the server, is never told', [
    `${IMAGE}/serve/limited-views.ts`,
    "unfinished.during('removal', [image], async",
    '((work: (done: (image: ImageRecord) => void) => Promise<void>) => work(() => {}))(async',
  ]),
  hanging(
    'what the store does late is never told',
    [
      `${IMAGE}/maintenance/unfinished.ts`,
      "kind === 'deletion' ? remove(image) : isSettled",
      "kind !== 'deletion' || remove(image)",
    ],
    [`${IMAGE}/maintenance/unfinished.ts`, 'return isDone || isSettled;', 'return true;'],
  ),
  fault('deleting frees no space for a copy that did not make the smaller versions', [
    `${IMAGE}/serve/thumbnails.ts`,
    'const size = sizes.get(key) ?? (await blobs.stat(key).catch(() => null))?.size ?? 0;',
    'const size = sizes.get(key) ?? 0;',
  ]),
  fault('in a full store nobody can delete', [
    'src/audit/audit.ts',
    '      if (isStorageFull(error)) return null;\n',
    '',
  ]),
  fault('a message that its receiver did not take the first time is lost', [
    'src/webhooks/webhooks.ts',
    'if (fault.final || waitMs === null)',
    'if (fault || waitMs === null)',
  ]),
  fault(
    'a picture that is viewed while a cleanup runs is removed by it',
    [`${IMAGE}/maintenance/cleanup.ts`, '        await accesses.flush();\n', ''],
    [
      `${IMAGE}/maintenance/cleanup.ts`,
      'const removable = idle.filter(({ id }) => !accesses.has(id));',
      'const removable = idle;',
    ],
    [`${IMAGE}/maintenance/cleanup.ts`, '!accesses.has(image.id) && ', ''],
  ),
  fault(
    'a file that could not be removed is forgotten, and its tombstone dropped at once',
    [`${IMAGE}/records/image-files.ts`, 'if (failed.size < MAX_REMEMBERED) failed.add(key);', ''],
    [`${IMAGE}/maintenance/quarantine.ts`, '[...buried, ...expired]', 'expired'],
  ),
  fault('a copy that died leaves its business to nobody', [
    `${IMAGE}/maintenance/unfinished.ts`,
    '        await look();\n',
    '',
  ]),
  fault('expired pictures are not announced', [
    `${IMAGE}/maintenance/upkeep.ts`,
    '            await onRemoved(image);\n',
    '',
  ]),
  fault(
    'a clock that is right again still stamps pictures with the time that it had',
    [
      `${IMAGE}/maintenance/service-time.ts`,
      'stamped = now() < floor && floor - now() <= DOUBT_MS ? floor + 1 : now();',
      'stamped = now() < floor ? floor + 1 : now();',
    ],
    [`${IMAGE}/upload/storing.ts`, 'audienceOf(wanted, rules, now())', 'audienceOf(wanted, rules, stamp())'],
  ),
  fault('views that could not be written at once are forgotten', [
    `${IMAGE}/maintenance/accesses.ts`,
    '      pending = new Map([...batch, ...pending].slice(0, MAX_KEPT));\n',
    '',
  ]),
  fault('a server that ends in order forgets the last views', [
    `${IMAGE}/maintenance/upkeep.ts`,
    '      await accesses.flush();\n      await unfinished.finish();',
    '      await unfinished.finish();',
  ]),
  alone('a picture whose last view ended with its server is said to be viewed', [
    'adapters/sqlite/images.ts',
    'forgetViews: () => database.transaction(() => forgetViews.run()),',
    'forgetViews: () => {},',
  ]),
  fault(
    'files are removed while all records are gone',
    [
      `${IMAGE}/maintenance/doubts.ts`,
      '    const unpaired = await pairingFault();',
      '    const unpaired = (await pairingFault()) && null;\n    if (unpaired === null) return [];',
    ],
    // Each of these alone removes nothing either.
    [`${IMAGE}/maintenance/epoch.ts`, 'if (epochFault(epochs) !== null) return false;', ''],
    [`${IMAGE}/maintenance/sweep.ts`, 'return strays.length;', 'return 0;'],
  ),
  fault('time without service counts as time without a view', [
    `${IMAGE}/maintenance/service-time.ts`,
    '  if (stepMs > MOST_STEP_MS) pauses.push([known.at, now]);\n',
    '',
  ]),
  fault('messages that wait behind one that is lost are lost with it', [
    'src/webhooks/webhooks.ts',
    '      waiting.shift();',
    '      if (delivered) waiting.shift();\n      else waiting.length = 0;',
  ]),
  fault('the space of smaller versions is not counted', [
    `${IMAGE}/serve/thumbnails.ts`,
    '        await bytes.add(size);\n',
    '',
  ]),
  fault(
    'files of deleted pictures stay if their removal failed once',
    [`${IMAGE}/maintenance/quarantine.ts`, '[...buried, ...expired]', 'expired'],
    [`${IMAGE}/maintenance/maintenance.ts`, '  await files.retryRemovals();\n', ''],
  ),
  fault('a file of a review that nobody knows of stays forever', [
    `${IMAGE}/maintenance/survey.ts`,
    '      else if (file.blob.modified < straysBefore) note(found.expired, file);\n    }',
    '    }',
  ]),
  fault('work that was begun is not noted, and ends with its process', [
    `${IMAGE}/maintenance/unfinished.ts`,
    '      await note(key, business);\n      try {',
    '      try {',
  ]),
  fault('a removal of idle pictures without an answer is never told', [
    `${IMAGE}/maintenance/cleanup.ts`,
    "unfinished.during('removal', removable, async (done) => {",
    '((work: (done: (image: ImageRecord) => void) => Promise<void>) => work(() => {}))(async (done) => {',
  ]),
  fault('a removal of expired pictures without an answer is never told', [
    `${IMAGE}/maintenance/upkeep.ts`,
    "unfinished.during('removal', ended, async (done) => {",
    '((work: (done: (image: ImageRecord) => void) => Promise<void>) => work(() => {}))(async (done) => {',
  ]),
  fault('a clock that is ahead by days ends pictures before their time', [
    `${IMAGE}/maintenance/service-time.ts`,
    'return doubt === null ? at : 0;',
    'return doubt === null ? at : at;',
  ]),
  fault('of views that could not be written, all but a few are forgotten', [
    `${IMAGE}/maintenance/accesses.ts`,
    'MAX_KEPT = 100_000',
    'MAX_KEPT = 1',
  ]),
  fault('other copies go on storing what was blocked', [
    'src/moderation/blocks.ts',
    'const BELIEVED_MS = 1500;',
    'const BELIEVED_MS = 3_600_000;',
  ]),
  fault(
    'of two blocks at once, one is lost',
    [
      'src/moderation/blocks.ts',
      'await writeHeld(state, KEY, list, demandHeld());',
      'demandHeld();\n      await state.set(KEY, JSON.stringify(list));',
    ],
    [
      'src/moderation/blocks.ts',
      "holding({ locks, name: 'blocks', clock }",
      "holding({ locks, name: 'blocks ' + Math.random(), clock }",
    ],
  ),
];

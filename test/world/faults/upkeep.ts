import { change, IMAGE, type PutBack } from './fault.ts';

/** Faults of what the image host does on its own. */
export const UPKEEP_FAULTS: readonly PutBack[] = [
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
      change(
        `${IMAGE}/maintenance/unfinished.ts`,
        "kind === 'deletion' ? remove(image) : isSettled",
        "kind !== 'deletion' || remove(image)",
      ),
      change(`${IMAGE}/maintenance/unfinished.ts`, 'return isDone || isSettled;', 'return true;'),
    ],
    proof: 'hanging',
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
    name: 'in a full store nobody can delete',
    changes: [change('src/audit/audit.ts', '      if (isStorageFull(error)) return null;\n', '')],
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
    name: 'a file that could not be removed is forgotten, and its tombstone dropped at once',
    changes: [
      change(`${IMAGE}/records/image-files.ts`, 'if (failed.size < MAX_REMEMBERED) failed.add(key);', ''),
      change(`${IMAGE}/maintenance/quarantine.ts`, '[...buried, ...expired]', 'expired'),
    ],
  },
  {
    name: 'a copy that died leaves its business to nobody',
    changes: [change(`${IMAGE}/maintenance/unfinished.ts`, '        await look();\n', '')],
  },
  {
    name: 'expired pictures are not announced',
    changes: [change(`${IMAGE}/maintenance/upkeep.ts`, '            await onRemoved(image);\n', '')],
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
    name: 'views that could not be written at once are forgotten',
    changes: [
      change(
        `${IMAGE}/maintenance/accesses.ts`,
        '      pending = new Map([...batch, ...pending].slice(0, MAX_KEPT));\n',
        '',
      ),
    ],
  },
  {
    name: 'a server that ends in order forgets the last views',
    changes: [
      change(
        `${IMAGE}/maintenance/upkeep.ts`,
        '      await accesses.flush();\n      await unfinished.finish();',
        '      await unfinished.finish();',
      ),
    ],
  },
  {
    name: 'a picture whose last view ended with its server is said to be viewed',
    changes: [
      change(
        'adapters/sqlite/images.ts',
        'forgetViews: () => database.transaction(() => forgetViews.run()),',
        'forgetViews: () => {},',
      ),
    ],
    proof: 'alone',
  },
  {
    name: 'files are removed while all records are gone',
    changes: [
      change(
        `${IMAGE}/maintenance/doubts.ts`,
        '    const unpaired = await pairingFault();',
        '    const unpaired = (await pairingFault()) && null;\n    if (unpaired === null) return [];',
      ),
      // Each of these alone removes nothing either.
      change(`${IMAGE}/maintenance/epoch.ts`, 'if (epochFault(epochs) !== null) return false;', ''),
      change(`${IMAGE}/maintenance/sweep.ts`, 'return strays.length;', 'return 0;'),
    ],
  },
  {
    name: 'time without service counts as time without a view',
    changes: [
      change(
        `${IMAGE}/maintenance/service-time.ts`,
        '  if (stepMs > MOST_STEP_MS) pauses.push([known.at, now]);\n',
        '',
      ),
    ],
  },
  {
    name: 'messages that wait behind one that is lost are lost with it',
    changes: [
      change(
        'src/webhooks/webhooks.ts',
        '      waiting.shift();',
        '      if (delivered) waiting.shift();\n      else waiting.length = 0;',
      ),
    ],
  },
  {
    name: 'the space of smaller versions is not counted',
    changes: [change(`${IMAGE}/serve/thumbnails.ts`, '        await bytes.add(size);\n', '')],
  },
  {
    name: 'files of deleted pictures stay if their removal failed once',
    changes: [
      change(`${IMAGE}/maintenance/quarantine.ts`, '[...buried, ...expired]', 'expired'),
      change(`${IMAGE}/maintenance/maintenance.ts`, '  await files.retryRemovals();\n', ''),
    ],
  },
  {
    name: 'a file of a review that nobody knows of stays forever',
    changes: [
      change(
        `${IMAGE}/maintenance/survey.ts`,
        '      else if (file.blob.modified < straysBefore) note(found.expired, file);\n    }',
        '    }',
      ),
    ],
  },
  {
    name: 'work that was begun is not noted, and ends with its process',
    changes: [
      change(
        `${IMAGE}/maintenance/unfinished.ts`,
        '      await note(key, business);\n      try {',
        '      try {',
      ),
    ],
  },
  {
    name: 'a removal of idle pictures without an answer is never told',
    changes: [
      change(
        `${IMAGE}/maintenance/cleanup.ts`,
        "unfinished.during('removal', removable, async (done) => {",
        '((work: (done: (image: ImageRecord) => void) => Promise<void>) => work(() => {}))(async (done) => {',
      ),
    ],
  },
  {
    name: 'a removal of expired pictures without an answer is never told',
    changes: [
      change(
        `${IMAGE}/maintenance/upkeep.ts`,
        "unfinished.during('removal', ended, async (done) => {",
        '((work: (done: (image: ImageRecord) => void) => Promise<void>) => work(() => {}))(async (done) => {',
      ),
    ],
  },
  {
    name: 'a clock that is ahead by days ends pictures before their time',
    changes: [
      change(
        `${IMAGE}/maintenance/service-time.ts`,
        'return doubt === null ? at : 0;',
        'return doubt === null ? at : at;',
      ),
    ],
  },
  {
    name: 'of views that could not be written, all but a few are forgotten',
    changes: [change(`${IMAGE}/maintenance/accesses.ts`, 'MAX_KEPT = 100_000', 'MAX_KEPT = 1')],
  },
  {
    name: 'other copies go on storing what was blocked',
    changes: [
      change('src/moderation/blocks.ts', 'const BELIEVED_MS = 1500;', 'const BELIEVED_MS = 3_600_000;'),
    ],
  },
  {
    name: 'of two blocks at once, one is lost',
    changes: [
      change(
        'src/moderation/blocks.ts',
        'await writeHeld(state, KEY, list, demandHeld());',
        'demandHeld();\n      await state.set(KEY, JSON.stringify(list));',
      ),
      change(
        'src/moderation/blocks.ts',
        "holding({ locks, name: 'blocks', clock }",
        "holding({ locks, name: 'blocks ' + Math.random(), clock }",
      ),
    ],
  },
];

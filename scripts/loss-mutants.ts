/**
 * `bun scripts/loss-mutants.ts [word]`: takes out, one at a time, what keeps data from being lost, in a copy of the tree, and looks
 * whether the proofs notice. Needs what `scripts/loss.ts` and `bench/fleet.ts` need; some minutes.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { copyTree } from './mutate/copy-tree.ts';

interface Change {
  file: string;
  from: string;
  to: string;
}

interface Mutant {
  name: string;
  changes: Change[];
  /** The proofs that must then fail. */
  proof: string[];
}

const HISTORY = ['bench/fleet.ts', 'histories', '3', '60', '1'];
const trial = (name: string) => ['scripts/loss.ts', '0', '1', name];

const MUTANTS: Mutant[] = [
  {
    name: 'no fencing',
    changes: [
      {
        file: 'adapters/redis/locks.ts',
        from: 'if seen > tonumber(ARGV[2]) then',
        to: 'if false then',
      },
      {
        file: 'adapters/redis/state.ts',
        from: "if tonumber(redis.call('HGET', KEYS[1], fence) or 0) > tonumber(ARGV[3]) then return 0 end",
        to: '',
      },
      // Nor does a copy that lost its lease hear of it.
      { file: 'adapters/redis/locks.ts', from: 'if (!released) ending.abort(reason);', to: 'void reason;' },
    ],
    proof: HISTORY,
  },
  {
    name: 'no lease of the sweep',
    changes: [
      {
        file: 'src/image/maintenance/sweep.ts',
        from: 'await options.locks.acquire(CLEANUP_LOCK, CLEANUP_LOCK_TTL_MS);',
        to: '{ token: Date.now() * 1000 + CLEANUP_LOCK_TTL_MS % 7 + CLEANUP_LOCK.length, lost: new AbortController().signal, async release() {} };',
      },
    ],
    proof: HISTORY,
  },
  {
    name: 'no epochs',
    changes: [
      {
        file: 'src/image/maintenance/epoch.ts',
        from: 'export function epochFault({ records, files }: Epochs): string | null {',
        to: 'export function epochFault({ records, files }: Epochs): string | null {\n  if (records !== -1) return null;',
      },
    ],
    proof: trial('records of yesterday are put'),
  },
  {
    name: 'no tombstones',
    changes: [
      {
        file: 'adapters/redis/image-scripts.ts',
        from: "redis.call('ZADD', KEYS[6], redis.call('TIME')[1], id)",
        to: '',
      },
      {
        file: 'adapters/sqlite/schema.ts',
        from: '`CREATE TRIGGER images_buried AFTER DELETE ON images BEGIN',
        to: '`CREATE TRIGGER images_buried AFTER DELETE ON images WHEN false BEGIN',
      },
    ],
    proof: trial('all files vanish'),
  },
];

const root = resolve(import.meta.dir, '..');
const [word = ''] = process.argv.slice(2);
let missed = 0;
for (const { name, changes, proof } of MUTANTS.filter((mutant) => mutant.name.includes(word))) {
  const folder = await copyTree(root);
  try {
    for (const { file, from, to } of changes) {
      const path = join(folder, file);
      const text = await readFile(path, 'utf8');
      if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
      await writeFile(
        path,
        text.replace(from, () => to),
      );
    }
    const child = Bun.spawn([process.execPath, ...proof], { cwd: folder, stdout: 'pipe', stderr: 'pipe' });
    const [said, cause] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    const faults = said.split('\n').filter((line) => /^( {5}| {2}WRONG)/.test(line));
    const isCaught = (await child.exited) !== 0 && faults.length > 0;
    if (!isCaught) missed++;
    console.log(`${isCaught ? 'caught' : 'MISSED'}  ${name}: bun ${proof.join(' ')}`);
    console.log([...faults.slice(0, 3), ...(isCaught ? [] : [said, cause])].join('\n'));
  } finally {
    await rm(folder, { recursive: true });
  }
}
process.exit(missed > 0 ? 1 : 0);

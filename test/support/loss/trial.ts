import { until } from '../stores/services.ts';
import { type Disaster, isWell, swept } from './disaster.ts';
import { createLedger, keyOf, type Ledger } from './ledger.ts';
import type { Copies } from './world.ts';

const REFUSED = 'image files are not removed';
/** Images that a trial begins with. */
const IMAGES = 8;

/**
 * Lets disasters happen one after the other to a server that is used meanwhile, and then puts back what they took, in the
 * other order. Answers what is wrong, in sentences: files that are gone although a record, old or new, names them; deleted
 * images that are back; a copy that does not say what has happened, or has not recovered at the end.
 */
export async function runTrial<World extends Copies>(
  world: World,
  disasters: readonly Disaster<World>[],
): Promise<string[]> {
  const faults: string[] = [];
  const ledger = createLedger(world);
  await ledger.upload(IMAGES);
  await deleteFirst(ledger);
  await world.files.age();
  await world.twoTurns();

  const promised = new Set(ledger.stored.keys());

  const heals: (() => Promise<void>)[] = [];
  for (const disaster of disasters) heals.unshift(await disaster.strike(world, ledger));
  if (disasters.length === 1) for (const id of ledger.stored.keys()) promised.add(id);
  faults.push(...(await everyoneSays(world, disasters)));
  faults.push(...(await use(world, ledger)));

  for (const heal of heals) await heal();
  await until(() => isWell(world)).catch(async () => {
    for (const server of world.servers) {
      faults.push(`does not recover: ${JSON.stringify(await world.readiness(server))}`);
    }
  });
  if (faults.length > 0) return faults;
  await world.files.age();
  await swept(world);

  const putBack = new Set(disasters.map((disaster) => disaster.putsBack));
  // Who puts back both as they were takes back the deletions since then.
  if (putBack.has('records') && putBack.has('files')) ledger.deleted.clear();
  const stored = [...ledger.stored.values()];
  // Of what came meanwhile the record may be gone again; its file goes only with the folder that it is in.
  for (const { id } of stored) if (!promised.has(id)) ledger.stored.delete(id);
  const swaps = disasters.some(({ swapsFiles }) => swapsFiles);
  const named = swaps ? ledger.keys() : stored.map(keyOf);
  faults.push(...gone(named, await kept(world), 'after it'));
  for (const id of await ledger.undead()) faults.push(`after it the deleted image ${id} is back`);
  const deleted = new Set([...ledger.deleted.values()].map(keyOf));
  for (const key of await kept(world)) {
    if (deleted.has(key)) faults.push(`after it the file ${key} of a deleted image is still there`);
  }
  for (const one of await ledger.unreadable()) faults.push(`after it the image ${one}`);
  return faults;
}

async function deleteFirst(ledger: Ledger): Promise<void> {
  const [first] = ledger.stored.values();
  if (first) await ledger.remove(first);
}

/** Each copy names one of the reasons in its readiness, and in one line of its log. */
async function everyoneSays<World extends Copies>(
  world: World,
  disasters: readonly Disaster<World>[],
): Promise<string[]> {
  const reasons = disasters.map(({ reason }) => reason);
  const isNamed = (text: string) => reasons.some((reason) => reason.test(text));
  const faults: string[] = [];
  for (const server of world.servers) {
    await until(async () => isNamed(JSON.stringify((await world.readiness(server)).degraded ?? []))).catch(
      async () => faults.push(`readiness says ${JSON.stringify(await world.readiness(server))}`),
    );
    const refused = () =>
      server.logged.filter(({ message }) => message === REFUSED).map(({ facts }) => JSON.stringify(facts));
    // Readiness may find out first, when it writes.
    await until(() => refused().some(isNamed)).catch(() =>
      faults.push(`the log says ${refused().join() || 'nothing'}`),
    );
    const lines = refused();
    const repeated = lines.filter((line, index) => line === lines[index - 1]);
    if (repeated.length > 0) faults.push(`the log says again: ${repeated[0]}`);
  }
  return faults;
}

/** Uploads and deletes while the disaster lasts, and looks that all files stay but those of deleted images. */
async function use(world: Copies, ledger: Ledger): Promise<string[]> {
  const here = new Set(await kept(world));
  const [oldest] = ledger.stored.values();
  const before = ledger.keys().filter((key) => here.has(key));
  const [one, two] = await ledger.tryUpload(2);
  if (one) await ledger.remove(one);
  if (oldest) await ledger.remove(oldest);
  await world.files.age();
  await world.twoTurns();
  const deleted = new Set([...ledger.deleted.values()].map(keyOf));
  const named = [...before, ...(two ? [keyOf(two)] : [])].filter((key) => !deleted.has(key));
  const faults = gone(named, await kept(world), 'meanwhile');
  for (const id of await ledger.undead()) faults.push(`meanwhile the deleted image ${id} is back`);
  return faults;
}

/** Keys of all files, in their places or in quarantine. */
async function kept({ files }: Copies): Promise<string[]> {
  return [...(await files.placed()), ...(await files.quarantined())];
}

function gone(keys: readonly string[], present: readonly string[], when: string): string[] {
  return keys.filter((key) => !present.includes(key)).map((key) => `${when} the file ${key} is gone`);
}

/** Pairs of different disasters in random order. */
export function randomPairs<World extends Copies>(
  disasters: readonly Disaster<World>[],
  count: number,
  random: () => number,
): Disaster<World>[][] {
  const any = () => Math.floor(random() * disasters.length);
  return Array.from({ length: count }, () => {
    const first = any();
    let second = any();
    while (second === first) second = any();
    return [first, second].flatMap((index) => disasters[index] ?? []);
  });
}

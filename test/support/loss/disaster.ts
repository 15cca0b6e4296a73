import { until } from '../stores/services.ts';
import type { Ledger } from './ledger.ts';
import type { Copies } from './world.ts';

/** Something that happens to the stores, or around them. */
export interface Disaster<World extends Copies> {
  name: string;
  /** What every copy says then. */
  reason: RegExp;
  /** What is put back afterwards as it was before. */
  putsBack: 'records' | 'files' | 'nothing';
  /** The files that are there during the disaster are not those that are there after it. */
  swapsFiles?: boolean;
  /** Lets it happen. The answer puts the lost data back, or makes the best of what is left. */
  strike(world: World, ledger: Ledger): Promise<() => Promise<void>>;
}

/** Whether each copy finds nothing wrong. */
export async function isWell(world: Copies): Promise<boolean> {
  const all = await Promise.all(world.servers.map((server) => world.readiness(server)));
  return all.every(({ code, degraded }) => code === 200 && degraded === undefined);
}

/** What happens between yesterday and today: images come and go, and the cleanup runs. */
export async function aDay(world: Copies, ledger: Ledger): Promise<void> {
  const [first] = ledger.stored.values();
  await ledger.tryUpload(3);
  if (first) await ledger.remove(first);
  await world.twoTurns();
}

/** Resolves when any copy has swept to the end since the call. */
export async function swept({ servers }: Pick<Copies, 'servers'>): Promise<void> {
  const seen = servers.map(({ logged }) => logged.length);
  await until(() =>
    servers.some(({ logged }, index) =>
      logged.slice(seen[index]).some(({ message }) => message === 'images cleaned up'),
    ),
  );
}

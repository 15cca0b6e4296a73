import { cli } from '../servers/cli.ts';
import { until } from '../stores/services.ts';
import type { Ledger } from './ledger.ts';
import type { Copies } from './world.ts';

/** Something that happens to the stores, or around them. */
export interface Disaster<World extends Copies> {
  name: string;
  /** What every copy says then; `null`: it depends. */
  reason: RegExp | null;
  /** What is put back afterwards as it was before. */
  putsBack: 'records' | 'files' | 'nothing';
  /** The files that are there during the disaster are not those that are there after it. */
  swapsFiles?: boolean;
  /** Makes no sense beside another one. */
  alone?: boolean;
  /** Lets it happen. The answer puts the lost data back, or makes the best of what is left. */
  strike(world: World, ledger: Ledger): Promise<() => Promise<void>>;
}

/** Whether each copy finds nothing wrong. */
export async function isWell(world: Copies): Promise<boolean> {
  const all = await Promise.all(world.servers.map((server) => world.readiness(server)));
  return all.every(({ code, degraded }) => code === 200 && degraded === undefined);
}

/** Has the operator say that the stores as they stand belong together. */
export async function confirm({ env }: Pick<Copies, 'env'>): Promise<void> {
  const { code, stdout, stderr } = await cli(['sweep', '--confirm'], { env });
  if (code !== 0) throw new Error(`sweep --confirm: ${code} ${stdout} ${stderr}`);
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

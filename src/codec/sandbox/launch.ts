import { mkdirSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { restrict } from '../../lib/linux/landlock.ts';
import { become, limit, startSession } from '../../lib/linux/process.ts';
import { install } from '../../lib/linux/seccomp.ts';
import type { System } from '../../lib/linux/system.ts';
import { loadSharp } from '../convert/sharp.ts';
import type { Environment } from '../workers/protocol.ts';
import { allowances, LAUNCH_FILTER, MAX_FILE_BYTES, MAX_FILES, MAX_PROCESSES } from './policy.ts';
import { createParts } from './report.ts';

export interface LaunchOptions {
  system: System;
  /** Absolute path and arguments that start this program again. */
  command: readonly string[];
  env: Environment;
  /** The arguments from the pool: `[folder, memory in bytes, must, load]`. */
  args: readonly string[];
}

/** Subcommand of the launcher, and of the worker that it becomes. */
export const LAUNCHER = 'convert-sandbox';
export const WORKER = 'convert-worker';

/**
 * Takes away from this process what no conversion needs, as far as the kernel supports it, and becomes a worker. Ends
 * the process if a part is unavailable and `must` demands all of them.
 */
export async function launch({ system, command, env, args }: LaunchOptions): Promise<never> {
  const [folder = '', memory = '', must = '', load = ''] = args;
  // The single-file program unpacks its libraries when it first loads them, which the sandbox forbids.
  if (load === 'load') await loadSharp();
  const { missing, apply } = createParts(system);
  startSession(system);
  apply('limits', (calls) => {
    limit('core', 0, calls);
    limit('fileSize', MAX_FILE_BYTES, calls);
    limit('files', MAX_FILES, calls);
    limit('processes', MAX_PROCESSES, calls);
  });
  const fromSource = command.length > 1 && 'bun' in process.versions;
  const modules = fromSource ? { NODE_PATH: modulePath(folder) } : {};
  apply('files', (calls) => restrict(allowances(command, env, folder), calls));
  apply('network', (calls) => install(LAUNCH_FILTER, calls));
  if (missing.length > 0 && must === 'must') process.exit(1);
  const next = [...command, WORKER, folder, memory, missing.join(), must];
  return become(next, { ...env, ...modules }, system);
}

/**
 * Makes sharp's addon resolvable in the sandbox, and returns NODE_PATH. Bun looks for packages by listing every
 * parent folder, which the sandbox forbids for the project's own folder, because the data may be in it. Bun also
 * searches the folders of NODE_PATH, but then ignores the `exports` of packages, without which sharp's addon is not
 * found. So the addon gets a link under its public name. Must be called before the sandbox closes.
 */
function modulePath(folder: string): string {
  const require = createRequire(import.meta.url);
  const sharp = require.resolve('sharp');
  const packages = sharp.slice(0, sharp.lastIndexOf('/node_modules/') + '/node_modules'.length);
  const links = join(folder, 'modules');
  for (const system of [platform(), `${platform()}musl`]) {
    const name = `@img/sharp-${system}-${arch()}/sharp.node`;
    try {
      const addon = createRequire(sharp).resolve(name);
      mkdirSync(dirname(join(links, name)), { recursive: true });
      symlinkSync(addon, join(links, name));
    } catch {
      // The package is for another C library.
    }
  }
  return `${packages}:${links}`;
}

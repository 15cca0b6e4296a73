import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ReadmeCommand, readmeCommands } from './readme.ts';
import { CLAIMS } from './readme-claims.ts';
import { createReadmeShell } from './readme-shell.ts';
import { openReadmeWorld } from './readme-world.ts';
import { withFolder } from './temporary.ts';

/** Starts the server that all other commands talk to. */
const START = /^\.\/scripts\/start\b/;

/** Commands of the README that are not run here, each with the reason. All others are. */
const NOT_RUN: readonly { text: RegExp; reason: string }[] = [
  { text: /^\.\/scripts\/test\b/, reason: 'it is the gate, and this a part of it' },
  {
    text: /^podman build\b/,
    reason: 'it fetches from two registries; scripts/container-test builds the image and runs it without',
  },
];

export interface ReadmeOutcome extends ReadmeCommand {
  state: 'passed' | 'failed' | 'not run';
  /** Why it failed or was not run. */
  reason: string;
  seconds: number;
}

/**
 * Runs every command of the README, as a user would who tries one after the other, and answers how each went. A faulty
 * list of what is not run is a failure, too.
 */
export async function runReadme(onOutcome: (outcome: ReadmeOutcome) => void = () => {}) {
  const commands = readmeCommands(await readFile(new URL('../../README.md', import.meta.url), 'utf8'));
  const outcomes: ReadmeOutcome[] = [];
  let addedAt = performance.now();
  function add(command: ReadmeCommand, state: ReadmeOutcome['state'], reason: string): void {
    const at = performance.now();
    const outcome = { ...command, state, reason, seconds: (at - addedAt) / 1000 };
    addedAt = at;
    outcomes.push(outcome);
    onOutcome(outcome);
  }

  await withFolder(async (folder) => {
    const world = await openReadmeWorld(folder);
    try {
      addedAt = performance.now();
      const shell = createReadmeShell(join(folder, 'here'), world.env);
      for (const command of commands) {
        const excuse = NOT_RUN.find(({ text }) => text.test(command.text));
        if (excuse) {
          add(command, 'not run', excuse.reason);
          continue;
        }
        const run = START.test(command.text) ? world.start(command.text) : shell.run(command);
        const fault = await run.catch((error: unknown) => String(error));
        add(command, fault ? 'failed' : 'passed', fault ?? '');
      }
    } finally {
      await world.close();
    }
  });
  for (const { text } of NOT_RUN) {
    if (commands.some((command) => text.test(command.text))) continue;
    add({ text: String(text), line: 0, printed: '' }, 'failed', 'not run, and not in the README either');
  }
  for (const { command: text } of CLAIMS) {
    if (commands.some((command) => text.test(command.text))) continue;
    add({ text: String(text), line: 0, printed: '' }, 'failed', 'held to its word, and not in the README');
  }
  return outcomes;
}

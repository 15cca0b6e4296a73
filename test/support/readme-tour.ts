import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ReadmeCommand, readmeCommands } from './readme.ts';
import { CLAIMS } from './readme-claims.ts';
import { createReadmeShell } from './readme-shell.ts';
import { openReadmeWorld } from './readme-world.ts';
import { withFolder } from './temporary.ts';

/** Starts the server that all other commands talk to. */
const START = /^GATEWAY_PORT=8899 \.\/scripts\/start\b/;

/** Commands that are not run here, each with the reason. All others are. */
const NOT_RUN: readonly { text: RegExp; reason: string }[] = [
  {
    text: /^podman build\b/,
    reason: 'it fetches from two registries; scripts/container-test builds the image and runs it without',
  },
  { text: /^(flameshot|scrot) /, reason: 'it needs a screen' },
  { text: /^curl -sF file=@"\$1"/, reason: 'Typora puts the file there' },
  {
    text: /^curl .*=TOKEN /,
    reason: 'the token stands in a header of the answer before; test/api/image-clients.test.ts deletes so',
  },
  {
    text: /img\.example\/api\/upload/,
    reason: 'a host of somebody else; test/e2e/tokens.test.ts uploads with a token',
  },
  ...[
    'scripts/verify-release',
    'echo "picpool $(cat keys.pub)"',
    'ssh-keygen -Y verify',
    'sha256sum --check',
  ].map((start) => ({
    text: new RegExp(`^${RegExp.escape(start)}`),
    reason: 'it needs a release; test/unit/signed-release.test.ts verifies one that it makes',
  })),
];

export interface ReadmeOutcome extends ReadmeCommand {
  /** Which document it stands in. */
  file: string;
  state: 'passed' | 'failed' | 'not run';
  /** Why it failed or was not run. */
  reason: string;
  seconds: number;
}

/**
 * Runs every command of the README and of `docs/`, as a user would who tries one after the other, and answers how each went. A faulty
 * list of what is not run is a failure, too.
 */
export async function runReadme(onOutcome: (outcome: ReadmeOutcome) => void = () => {}) {
  const commands = await allCommands();
  const outcomes: ReadmeOutcome[] = [];
  let addedAt = performance.now();
  function add(command: DocumentCommand, state: ReadmeOutcome['state'], reason: string): void {
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
      const shell = createReadmeShell(join(folder, 'here'), world);
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
    add(missing(text), 'failed', 'not run, and in no document either');
  }
  for (const { command: text } of CLAIMS) {
    if (commands.some((command) => text.test(command.text))) continue;
    add(missing(text), 'failed', 'held to its word, and in no document');
  }
  return outcomes;
}

type DocumentCommand = ReadmeCommand & { file: string };

const missing = (text: RegExp): DocumentCommand => ({
  file: 'test/support',
  line: 0,
  text: String(text),
  printed: '',
});

/** The commands of the README, which starts the server, and then of the documents by name. */
async function allCommands(): Promise<DocumentCommand[]> {
  const root = new URL('../../', import.meta.url);
  const documents = (await readdir(new URL('docs', root))).filter((name) => name.endsWith('.md')).sort();
  const files = ['README.md', ...documents.map((name) => `docs/${name}`)];
  const commands = files.map(async (file) =>
    readmeCommands(await readFile(new URL(file, root), 'utf8')).map((command) => ({ ...command, file })),
  );
  return (await Promise.all(commands)).flat();
}

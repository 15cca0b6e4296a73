import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { filesOf } from '../../scripts/gate/files.ts';
import { absent } from '../support/absent.ts';
import { readmeCommands } from '../support/documents/commands.ts';
import { PROMISES, promiseOf } from '../support/documents/promises.ts';
import { shapeFault } from '../support/documents/shape.ts';
import { createReadmeShell } from '../support/documents/shell.ts';
import { openReadmeWorld } from '../support/documents/world.ts';
import { withFolder } from '../support/temporary.ts';

/** Starts the server that all other commands talk to. */
const START = /^GATEWAY_PORT=8899 \.\/scripts\/start\b/;

/** The commands of the README, which starts the server, and then of the documents by name. */
async function allCommands() {
  const files = ['README.md', ...filesOf('docs/*.md')];
  const commands = files.map(async (file) =>
    readmeCommands(await Bun.file(file).text()).map((command) => ({ ...command, file })),
  );
  return (await Promise.all(commands)).flat();
}

test.skipIf(absent('tinyproxy', 'microsocks', 'danted', 'openssl', 'curl', 'jq'))(
  'every command of the README and of docs/ does what it says, or is named with the reason why it is not run',
  async () => {
    const commands = await allCommands();
    const faults: string[] = [];
    let passed = 0;
    await withFolder(async (folder) => {
      const world = await openReadmeWorld(folder);
      try {
        const shell = createReadmeShell(join(folder, 'here'), world);
        for (const command of commands) {
          const place = `${command.file}:${command.line} ${command.text}`;
          const { notRun } = promiseOf(command.text);
          if (notRun) console.log(`not run: ${place}\n  ${notRun}`);
          if (notRun) continue;
          const run = START.test(command.text) ? world.start(command.text) : shell.run(command);
          const fault = await run.catch((error: unknown) => String(error));
          if (fault) faults.push(`${place}\n  ${fault}`);
          else passed++;
        }
      } finally {
        await world.close();
      }
    });
    console.log(`documents: ${passed} of ${commands.length} commands passed`);
    expect(faults).toEqual([]);
    expect(passed).toBeGreaterThan(20);
  },
  180_000,
);

test('every promise is about a command of a document', async () => {
  const texts = (await allCommands()).map(({ text }) => text);
  const unused = PROMISES.filter(({ command }) => !texts.some((text) => command.test(text)));
  expect(unused.map(({ command }) => String(command))).toEqual([]);
});

test('commands are found wherever a document has them, with what it prints under them', () => {
  const markdown =
    'Do\n\n    ./start   # now\n    ./stop\n\n```console\n$ one\n{"a":\n1}\n\n$ two\n$ three\n3\n```\n';
  const found = readmeCommands(markdown).map(({ text, printed, line }) => [line, text, printed]);
  expect(found).toEqual([
    [3, './start   # now', ''],
    [4, './stop', ''],
    [7, 'one', '{"a":\n1}\n'],
    [11, 'two', ''],
    [12, 'three', '3\n'],
  ]);
  expect(() => readmeCommands('```sh\nrm -r /\n```\n')).toThrow('line 1: a block of sh');
});

test('outputs are alike when only numbers, ids and chosen proxies differ', () => {
  const printed = '{"id":"abc","url":"http://a/abc",\n"alive":true,"took":3,"error":null}\n';
  const answer = (one: object) =>
    JSON.stringify({ id: 'xyz', url: 'http://a/xyz', alive: true, took: 40, error: null, ...one });
  expect(shapeFault(printed, answer({}))).toBeNull();
  for (const other of [{ more: 1 }, { alive: false }, { took: null }, { url: 'http://b/xyz' }]) {
    expect(shapeFault(printed, answer(other))).not.toBeNull();
  }
  expect(shapeFault('socks4://127.0.0.1:80\n', 'http://10.1.2.3:8080\n')).toBeNull();
  expect(shapeFault('socks4://127.0.0.1:80\n', 'http://10.1.2.3:8080\nhttp://10.1.2.4:80\n')).not.toBeNull();
});

import { expect, test } from 'bun:test';
import { absent } from '../support/absent.ts';
import { readmeCommands } from '../support/readme.ts';
import { shapeFault } from '../support/readme-shape.ts';
import { runReadme } from '../support/readme-tour.ts';

test.skipIf(absent('tinyproxy', 'microsocks', 'danted', 'openssl', 'curl', 'jq'))(
  'every command of the README and of docs/ does what it says, or is named with the reason why it is not run',
  async () => {
    const outcomes = await runReadme();
    const told = outcomes.filter(({ state }) => state !== 'passed');
    for (const { state, file, line, text, reason } of told) {
      console.log(`${file}:${line} ${state}: ${text}\n  ${reason}`);
    }
    console.log(`documents: ${outcomes.length - told.length} of ${outcomes.length} commands passed`);
    expect(told.filter(({ state }) => state === 'failed')).toEqual([]);
    expect(outcomes.length - told.length).toBeGreaterThan(20);
  },
  180_000,
);

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

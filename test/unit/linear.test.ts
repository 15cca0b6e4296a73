import { describe, expect, test } from 'bun:test';
import { analyse } from 'scslre';
import { answerReader } from '../../src/gateway/http-answer.ts';
import { readRequest } from '../../src/gateway/http-request.ts';
import { openingReader } from '../../src/gateway/opening.ts';
import { socksReader } from '../../src/gateway/socks-ask.ts';
import { readTarget } from '../../src/gateway/target.ts';
import { readUser } from '../../src/gateway/user-options.ts';
import { parseForeignJson } from '../../src/lib/foreign-json.ts';
import { bodyEnd, headReader } from '../../src/lib/http-message.ts';
import { withoutSecrets } from '../../src/lib/masked.ts';
import { readEcho } from '../../src/proxy/check/echo.ts';
import { answerReader as checkedAnswerReader } from '../../src/proxy/check/http.ts';
import { Inbox } from '../../src/proxy/check/inbox.ts';
import { countrySpelledLike } from '../../src/proxy/pool/country-code.ts';
import { createParser } from '../../src/proxy/sources/parser.ts';
import { SOURCE_FORMATS } from '../../src/proxy/sources/source.ts';
import { partsOf } from '../support/documents/code.ts';

/** Returns why the time of an expression may grow faster than the text. */
function faultsOf(expression: RegExp): string[] {
  return analyse(expression, { reportTypes: { Move: true, Self: true, Trade: true } }).reports.map(
    ({ type }) => type,
  );
}

describe('regular expressions', () => {
  test('are found in code, but not in comments, strings or divisions', () => {
    const code = `
      // /comment/
      const a = /one\\/[/"]/gi.test(\`\${b / 2} /text/ \${/two/}\`) / c / d;
      /* /comment/ */ f('/text/', "/text/", (1 + 2) / 3 / 4, list[0] / 5 / 6);
      return /three/;`;
    expect(partsOf(code).expressions.map(({ source }) => source)).toEqual(['one\\/[/"]', 'two', 'three']);
  });

  test.each([/^(a+)+$/, /\s+$/, /^([\w-]+):[ \t]*([^\r\n]*?)[ \t]*$/])(
    'that take long are recognised: %s',
    (one) => {
      expect(faultsOf(one)).not.toEqual([]);
    },
  );

  test('take time in proportion to the text, wherever they are', async () => {
    const slow: string[] = [];
    let count = 0;
    for (const file of new Bun.Glob('{src,adapters}/**/*.ts').scanSync('.')) {
      for (const { line, source, flags } of partsOf(await Bun.file(file).text()).expressions) {
        count++;
        const faults = faultsOf(new RegExp(source, flags));
        if (faults.length > 0) slow.push(`${file}:${line}: /${source}/${flags} (${faults.join()})`);
      }
    }
    expect(count).toBeGreaterThan(250);
    expect(slow).toEqual([]);
  });
});

type Work = (text: string) => void;

const quietly =
  (work: Work): Work =>
  (text) => {
    try {
      work(text);
    } catch {
      // What is refused must be refused in time as well.
    }
  };

/** Passes the text on in pieces, as a slow sender would, with all that has arrived. */
function inDrops(text: string, onMore: (sofar: Buffer) => void): void {
  const inbox = new Inbox();
  for (let at = 0; at < text.length; at += 16) {
    inbox.add(Buffer.from(text.slice(at, at + 16), 'latin1'));
    onMore(inbox.view());
  }
}

/** The text as a ClientHello that comes in records of 500 bytes. */
function inRecords(text: string): string {
  const pieces = `\x01\x00\xff\xff${text}`.match(/.{1,500}/gs) ?? [];
  return pieces.map((piece) => `\x16\x03\x01\x01\xf4${piece}`).join('');
}

function listReader(format: (typeof SOURCE_FORMATS)[number]): Work {
  return (text) => {
    const rules = { protocol: null, logins: true, allowPrivate: true };
    const parser = createParser(format, { ...rules, onCandidate() {} });
    for (let at = 0; at < text.length; at += 32_768) parser.push(text.slice(at, at + 32_768));
    parser.end();
  };
}

const READERS: [name: string, work: Work, most: number][] = [
  [
    'the head of a message',
    (text) => void headReader()(Buffer.from(`GET / HTTP/1.1\r\n${text}\r\n\r\n`)),
    60_000,
  ],
  ['a head that comes in drops', (text) => inDrops(text, headReader()), 60_000],
  [
    'an answer in drops',
    (text) => inDrops(`HTTP/1.1 103 x\r\nA: ${text}\r\n\r\nHTTP/1.1 200 ${text}`, answerReader('GET')),
    16_000,
  ],
  [
    'a request',
    (text) =>
      void readRequest({
        line: `GET http://${text} HTTP/1.1`,
        fields: [
          ['connection', text],
          ['proxy-authorization', `Basic ${text}`],
          ['content-length', text],
        ],
        bytes: 0,
      }),
    16_000,
  ],
  ['the opening of a tunnel', (text) => inDrops(text, openingReader()), 30_000],
  ['a ClientHello in records', (text) => inDrops(inRecords(text), openingReader()), 30_000],
  ['chunks', (text) => void bodyEnd('chunked').take(Buffer.from(text)), 60_000],
  ['a request over SOCKS', (text) => void socksReader(() => {})(inboxOf(text)), 60_000],
  ['a host', (text) => void readTarget(text, 443), 16_000],
  ['a user name', (text) => void readUser(text, { sites: new Map(), sources: new Map() }), 16_000],
  [
    'names of lists',
    (text) => void readUser(`u-source-${text}`, { sites: new Map(), sources: new Map([['a', new Set()]]) }),
    16_000,
  ],
  ['JSON', (text) => void parseForeignJson(text), 60_000],
  ['what a command says', (text) => void withoutSecrets(`?${text}`), 60_000],
  ['an echo', (text) => void readEcho(text, null), 16_000],
  [
    'the answer of a judge',
    (text) => void checkedAnswerReader()(inboxOf(`HTTP/1.1 200 OK\r\n${text}\r\n\r\n`)),
    8_000,
  ],
  ...SOURCE_FORMATS.map((format): [string, Work, number] => [
    `a list as ${format}`,
    listReader(format),
    200_000,
  ]),
];

const SEEDS = [
  ' ',
  '\t',
  '\n',
  '\r\n',
  ':',
  ',',
  ', ',
  ';',
  '"',
  '\\',
  '\\"',
  '\n\\"',
  '[',
  '{"a":',
  '[{',
  '<',
  '<td>',
  '<script',
  '<!--',
  '&nbsp;',
  'a',
  '0',
  '.',
  'a.',
  '1.',
  '1:',
  '-',
  'target-',
  'x-',
  '%',
  '@',
  'a:a@',
  '/',
  '//',
  'http://',
  '=',
  'A=',
  'A ',
  'key',
  '1.2.3.4 80\n',
  '1.2.3.4:80:',
  'x: \t',
  '0\r\n',
  '1\r\na\r\n',
  '\x16\x03\x01\x00\x01\x01',
  '\x05\x01',
  'GET ',
];

/** Shapes that make careless readers start over again and again. */
const shapesOf = (seed: string, length: number): string[] => {
  const run = seed.repeat(Math.ceil(length / seed.length)).slice(0, length);
  return [run, `x:y${run}z`, `"${run}`, `1.2.3.4:80${run}!`, `["${run}"]`];
};

/** Below this, a ratio of times has no meaning. */
const NOISE_MS = 25;
/** For a text that is twice as long. */
const MOST_RATIO = 3;

test.each(READERS)('the time to read %s grows as the text does', (_name, work, most) => {
  const run = quietly(work);
  const slow: string[] = [];
  for (const seed of SEEDS) {
    const [half, whole] = [shapesOf(seed, most / 2), shapesOf(seed, most)];
    for (const [shape, text] of whole.entries()) {
      // What takes longer only sometimes is the work of others on this machine.
      let ratio = Number.POSITIVE_INFINITY;
      for (let time = 0; time < 10 && ratio > MOST_RATIO; time++) {
        const longer = best(() => run(text), 2, NOISE_MS);
        ratio = longer < NOISE_MS ? 0 : longer / best(() => run(half[shape] ?? ''), 2);
      }
      if (ratio > MOST_RATIO) slow.push(`${JSON.stringify(text.slice(0, 20))}: ${ratio} times as long`);
    }
  }
  expect(slow).toEqual([]);
});

test('the time to find which country was meant does not grow with what was written', () => {
  const timeFor = (length: number) => best(() => countrySpelledLike('a'.repeat(length)), 5);
  expect(timeFor(100_000)).toBeLessThan(20 * timeFor(10));
});

/** The least time of several runs. No other run follows one that took less than `enough`. */
function best(work: () => void, times: number, enough = 0): number {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < times && least >= enough; time++) {
    const startedAt = performance.now();
    work();
    least = Math.min(least, performance.now() - startedAt);
  }
  return least;
}

function inboxOf(text: string): Inbox {
  const inbox = new Inbox();
  inbox.add(Buffer.from(text, 'latin1'));
  return inbox;
}

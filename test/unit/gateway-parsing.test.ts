import { describe, expect, test } from 'bun:test';
import { answerHead, answerReader } from '../../src/gateway/http-answer.ts';
import { readRequest } from '../../src/gateway/http-request.ts';
import { openingReader, readGreeting, recordFollower } from '../../src/gateway/opening.ts';
import { socksReader } from '../../src/gateway/socks-ask.ts';
import { readAuthority, readTarget, refusedTarget } from '../../src/gateway/target.ts';
import { bodyEnd, framingOf, headReader } from '../../src/lib/http-message.ts';
import { Inbox } from '../../src/proxy/check/inbox.ts';
import { clientHello } from '../support/gateway/client-hello.ts';
import { words } from '../support/words.ts';

function headOf(text: string) {
  const head = headReader()(Buffer.from(text));
  if (!head) throw new Error('no whole head');
  return head;
}

function plainOf(text: string) {
  const ask = readRequest(headOf(text));
  if (ask.request === null) throw new Error('not plain');
  return ask.request;
}

describe('the head of a request', () => {
  test('is sent on in absolute form to proxies and in origin form to servers, with the host of the URL', () => {
    const request = plainOf('GET http://Example.com/a?b HTTP/1.1\r\nHost: other.example\r\nX: 1\r\n\r\n');
    expect(request.forProxy(null).toString()).toBe(
      'GET http://example.com/a?b HTTP/1.1\r\nHost: example.com\r\nX: 1\r\nConnection: keep-alive\r\n\r\n',
    );
    expect(request.forServer.toString()).toStartWith('GET /a?b HTTP/1.1\r\nHost: example.com\r\n');
  });

  test('loses the headers of one connection, but never those that frame the body', () => {
    const request = plainOf(
      'POST http://a.example/ HTTP/1.1\r\nConnection: x-mine, content-length\r\nX-Mine: 1\r\nProxy-Authorization: Basic YTpi\r\nTE: trailers\r\nContent-Length: 3\r\n\r\n',
    );
    expect(request.forServer.toString()).toBe(
      'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n',
    );
  });

  test.each([
    'GET / HTTP/1.1\r\n\r\n',
    'GET http://a.example/ HTTP/2.0\r\n\r\n',
    'GET http://a.example/ HTTP/1.1\r\nA : 1\r\n\r\n',
    'GET http://a.example/ HTTP/1.1\r\nA: 1\n B: 2\r\n\r\n',
    'GET http://a.example/ HTTP/1.1\r\nA: 1\r\n folded\r\n\r\n',
    'GET http://a@b.example/ HTTP/1.1\r\n\r\n',
    'GET http://a.example:99999/ HTTP/1.1\r\n\r\n',
    'CONNECT a.example HTTP/1.1\r\n\r\n',
    'CONNECT http://a.example:443 HTTP/1.1\r\n\r\n',
    'POST http://a.example/ HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
    'POST http://a.example/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n',
    'POST http://a.example/ HTTP/1.1\r\nContent-Length: +3\r\n\r\n',
    'POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n',
  ])('is refused where it could be read in two ways or is none: %j', (text) => {
    expect(() => readRequest(headOf(text))).toThrow();
  });

  test.each(['ws', 'https'])('of %s needs a tunnel, as a client is told that asks for none', (scheme) => {
    expect(() => readRequest(headOf(`GET ${scheme}://a.example/ HTTP/1.1\r\n\r\n`))).toThrow(
      `${scheme}:// needs a tunnel`,
    );
  });

  test('has the login of Basic authentication', () => {
    const ask = readRequest(
      headOf('CONNECT a.example:443 HTTP/1.1\r\nProxy-Authorization: Basic YTpiOmM=\r\n\r\n'),
    );
    expect(ask.login).toEqual({ user: 'a', password: 'b:c' });
  });

  test('may name a host in UTF-8, as some clients do', () => {
    for (const line of ['GET http://bücher.example/ HTTP/1.1', 'CONNECT bücher.example:443 HTTP/1.1']) {
      const ask = readRequest(headOf(`${line}\r\n\r\n`));
      expect(ask.target.host).toBe('xn--bcher-kva.example');
    }
  });

  test('of OPTIONS may be about the whole server', () => {
    const request = plainOf('OPTIONS http://a.example HTTP/1.1\r\n\r\n');
    expect(request.forServer.toString()).toStartWith('OPTIONS * HTTP/1.1\r\n');
    expect(request.forProxy(null).toString()).toStartWith('OPTIONS http://a.example HTTP/1.1\r\n');
  });

  test('is at most 64 KB', () => {
    expect(
      headReader()(Buffer.from(`GET http://a.example/ HTTP/1.1\r\nA: ${'x'.repeat(1000)}`)),
    ).toBeUndefined();
    expect(() =>
      headReader()(Buffer.from(`GET http://a.example/ HTTP/1.1\r\nA: ${'x'.repeat(66_000)}`)),
    ).toThrow();
  });

  test('has lines of at most 16 KB', () => {
    const withLine = (length: number) =>
      headReader()(Buffer.from(`GET / HTTP/1.1\r\n${'x'.repeat(length)}:\r\n\r\n`));
    expect(withLine(16_383)?.fields.length).toBe(1);
    expect(() => withLine(16_384)).toThrow('one of its lines');
  });

  test('loses blanks around values, and only those', () => {
    expect(headOf('GET / HTTP/1.1\r\nA: \t x y\u00a0 \t\r\nB:\r\nC: \t \r\n\r\n').fields).toEqual([
      ['A', 'x y\u00c2\u00a0'],
      ['B', ''],
      ['C', ''],
    ]);
  });
});

describe('the end of a body', () => {
  const chunked = '5;x=1\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: 1\r\n\r\n';

  test('is found in chunks, however they are split, without what follows', () => {
    for (let cut = 1; cut <= chunked.length; cut++) {
      const end = bodyEnd('chunked');
      const bytes = Buffer.from(`${chunked}GET`);
      let taken = 0;
      for (let at = 0; at < bytes.length; at += cut) {
        const piece = bytes.subarray(at, at + cut);
        const count = end.take(piece);
        taken += count;
        if (count < piece.length) break;
      }
      expect([taken, end.done]).toEqual([chunked.length, true]);
    }
  });

  test.each(['5\nhello\r\n', 'x\r\n', '5\r\nhelloXX', '-1\r\n', '0\r\nA: 1\n\r\n', `${'1'.repeat(300)}`])(
    'is not looked for in malformed chunks: %j',
    (text) => {
      expect(() => bodyEnd('chunked').take(Buffer.from(text))).toThrow();
    },
  );

  test('is known in advance from the length', () => {
    const end = bodyEnd(framingOf(headOf('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'), 'until close'));
    expect([end.take(Buffer.from('abc')), end.done]).toEqual([3, false]);
    expect([end.take(Buffer.from('defg')), end.done]).toEqual([2, true]);
  });
});

describe('the head of an answer', () => {
  test('is the final one', () => {
    const text =
      'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n';
    expect(answerReader('GET')(Buffer.from(text))).toMatchObject({
      status: 204,
      framing: 'none',
      bytes: text.length,
    });
  });

  test('may follow interim ones, with at most 64 KB together', () => {
    const interim = `HTTP/1.1 103 Early Hints\r\nA: ${'x'.repeat(16_000)}\r\nB: ${'x'.repeat(16_000)}\r\n\r\n`;
    const final = 'HTTP/1.1 200 OK\r\n\r\n';
    expect(answerReader('GET')(Buffer.from(interim + final))?.status).toBe(200);
    expect(() => answerReader('GET')(Buffer.from(interim.repeat(3) + final))).toThrow('longer than 64 KB');
    expect(() => answerReader('GET')(Buffer.from('HTTP/1.1 103 x\r\n\r\n'.repeat(17) + final))).toThrow(
      'too many',
    );
  });

  test.each([
    ['HTTP/1.1 999 Request denied\r\nContent-Length: 0\r\n\r\n', 'none', true],
    // Servers send these, and RFC 9112 says how they end.
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n', 'chunked', false],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', 'chunked', true],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n', 'none', true],
  ])(
    'is believed where its end is clear, and is forwarded with one length: %j',
    (text, framing, keepAlive) => {
      const answer = answerReader('GET')(Buffer.from(text));
      expect(answer).toMatchObject({ framing, keepAlive });
      const sent = answer ? answerHead(answer, []).toString() : '';
      expect(sent).not.toContain('identity');
      expect(/content-length/i.test(sent) && /transfer-encoding/i.test(sent)).toBe(false);
    },
  );

  test('says nothing in the name of the gateway', () => {
    const own = [
      'X-Picpool-Error: no_answer',
      'x-picpool-exit: 192.0.2.1',
      'Proxy-Status: a, PicPool; error=x',
    ];
    const others = ['Proxy-Status: cdn; error=x', 'X-Picpool-Signature: s'];
    const text = ['HTTP/1.1 503 No', ...own, ...others, 'Content-Length: 0', '', ''].join('\r\n');
    const answer = answerReader('GET')(Buffer.from(text));
    if (!answer) throw new Error('incomplete');
    const sent = answerHead(answer, ['X-Picpool-Exit: 192.0.2.2']).toString().split('\r\n');
    expect(sent.slice(1, -2)).toEqual([...others, 'Content-Length: 0', 'X-Picpool-Exit: 192.0.2.2']);
  });

  test('is found however it is split', () => {
    const text = 'HTTP/1.1 103 x\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
    for (let step = 1; step <= 7; step++) {
      const read = answerReader('GET');
      let found: number | undefined;
      for (let end = step; found === undefined && end < text.length + step; end += step)
        found = read(Buffer.from(text.slice(0, end)))?.status;
      expect(found).toBe(200);
    }
  });

  test.each(['SSH-2.0-x\r\n\r\n', 'HTTP/1.1 101 Switching\r\n\r\n', 'HTTP/1.1 2000 OK\r\n\r\n'])(
    'is refused where it is none: %j',
    (text) => {
      expect(() => answerReader('GET')(Buffer.from(text))).toThrow();
    },
  );
});

describe('a target', () => {
  test.each(['x.example', 'EXAMPLE.com'])(
    'has a name of at most 253 characters, with labels of at most 63: %s',
    (end) => {
      const label = 'a'.repeat(63);
      expect(readTarget(`${label}.${end}`, 443)?.host).toBe(`${label}.${end.toLowerCase()}`);
      expect(readTarget(`a${label}.${end}`, 443)).toBeNull();
      expect(readTarget(`router.local${`.${label}`.repeat(4)}.${end}`, 443)).toBeNull();
      expect(readTarget(`a.${'b.'.repeat(126)}${end}`, 443)).toBeNull();
    },
  );

  const rules = {
    ports: new Set([80, 443]),
    allowPrivate: false,
    own: new Set(['203.0.113.7', 'pool.example.org']),
  };

  test.each(words`
    127.0.0.1:80 0x7f.1:80 2130706433:80 [::1]:443 [::ffff:10.0.0.1]:443 169.254.169.254:80
    168.63.129.16:80 100.64.0.1:80 localhost:80 LOCALHOST.:80 printer.local:80
    metadata.google.internal:80 intranet:80 pool.example.org:443 example.com:22 example.com:8080
  `)('is refused where it is the own network, or a port that is not allowed: %s', (text) => {
    const target = readAuthority(text);
    expect(target && refusedTarget(target, rules)).toBeString();
  });

  test.each(['example.com:443', '1.1.1.1:443', '[2606:4700::1111]:443', 'xn--bcher-kva.example.net:80'])(
    'is allowed on the public internet: %s',
    (text) => {
      const target = readAuthority(text);
      expect(target).not.toBeNull();
      expect(target && refusedTarget(target, rules)).toBeNull();
    },
  );

  test.each([
    'example.com',
    'a b:80',
    ...words`
      a/b:80 a@b:80 :80 example.com:0 example.com:65536 a:b:c
    `,
  ])('is none: %j', (text) => {
    expect(readAuthority(text)).toBeNull();
  });

  test('never is one of the ports that obey, even if any port is allowed', () => {
    const target = readTarget('example.com', 25);
    expect(target && refusedTarget(target, { ...rules, ports: null })).toContain('Port 25 is never');
  });
});

describe('SOCKS5', () => {
  function ask(pieces: Uint8Array[]) {
    const said: number[][] = [];
    const read = socksReader((bytes) => said.push([...bytes]));
    const inbox = new Inbox();
    let found = {};
    for (const piece of pieces) {
      inbox.add(Buffer.from(piece));
      for (let step = read(inbox); step !== undefined; step = 'target' in step ? undefined : read(inbox))
        found = { ...found, ...step };
    }
    return { said, found, left: inbox.view().length };
  }
  const greeting = [5, 2, 0, 2];
  const login = [1, 2, 117, 115, 3, 112, 119, 100];
  const request = [5, 1, 0, 3, 11, ...Buffer.from('Example.com'), 1, 187];

  test('is parsed byte by byte, with a login', () => {
    const bytes = [...greeting, ...login, ...request, 22];
    const { said, found, left } = ask(bytes.slice(0, -1).map((byte) => new Uint8Array([byte])));
    expect(said).toEqual([[5, 2]]);
    expect(found).toEqual({
      target: { host: 'example.com', address: null, port: 443 },
      login: { user: 'us', password: 'pwd' },
      ...{ yes: [1, 0], no: [1, 1] },
    });
    expect(left).toBe(0);
  });

  test('is parsed in one piece, without a login, to IPv6', () => {
    const bytes = [5, 1, 0, 5, 1, 0, 4, ...Buffer.from('260647000000000000000000000011aa', 'hex'), 0, 80, 71];
    const { found, left } = ask([new Uint8Array(bytes)]);
    const target = { host: '2606:4700::11aa', address: '2606:4700::11aa', port: 80 };
    expect(found).toEqual({ target, login: { user: '', password: '' }, yes: [5, 0], no: [5, 255] });
    expect(left).toBe(1);
  });

  test.each([
    [[5, 1, 1]],
    [[5, 1, 0, 5, 2, 0, 1, 1, 1, 1, 1, 0, 80]],
    [[5, 1, 0, 5, 1, 0, 9, 1, 1, 1, 1, 0, 80]],
    [[5, 1, 2, 9, 1, 1]],
  ])('is refused where it is not what we speak: %j', (bytes) => {
    expect(() => ask([new Uint8Array(bytes)])).toThrow();
  });
});

describe('TLS', () => {
  test('the ClientHello of a real client is complete, and cut ones are partial', async () => {
    const hello = await clientHello();
    expect(openingReader()(hello)).toEqual({ kind: 'hello', bytes: hello.length });
    for (let length = 1; length < hello.length; length++) {
      expect(openingReader()(hello.subarray(0, length)).kind).toBe('partial');
    }
  });

  test('one that comes in several records, before early data, ends with its last record', async () => {
    const hello = await clientHello();
    const part = (from: number, to: number) =>
      Buffer.concat([Buffer.from([22, 3, 1, (to - from) >> 8, (to - from) & 255]), hello.subarray(from, to)]);
    const split = Buffer.concat([part(5, 8), part(8, hello.length)]);
    const bytes = Buffer.concat([split, Buffer.from([23, 3, 3, 0, 1, 0])]);
    expect(openingReader()(bytes)).toEqual({ kind: 'hello', bytes: split.length });
  });

  test('a ServerHello, an alert and a page are distinguished', () => {
    const hello = Buffer.concat([Buffer.from([22, 3, 3, 0, 60, 2, 0, 0, 56, 3, 3]), Buffer.alloc(32)]);
    expect(readGreeting(hello)).toBe('hello');
    expect(readGreeting(hello.subarray(0, 20))).toBe('partial');
    expect(readGreeting(Buffer.from([21, 3, 3, 0, 2, 2, 40]))).toBe('alert');
    expect(readGreeting(Buffer.from('HTTP/1.1 200 OK\r\n'))).toBe('other');
    expect(readGreeting(Buffer.from([22, 3, 3, 0, 60, 1, ...Buffer.alloc(60)]))).toBe('other');
  });
});

describe('the first data in a tunnel', () => {
  const read = (text: string) => openingReader()(Buffer.from(text, 'latin1'));
  const head = 'GET / HTTP/1.1\r\nHost: example.com\r\n\r\n';

  test('may be sent to several proxies if it is the head of a GET or HEAD, which is waited for', () => {
    expect(read(head.slice(0, 30))).toEqual({ kind: 'partial' });
    expect(read(`${head}GET /next`)).toEqual({ kind: 'request', bytes: head.length, method: 'GET' });
    expect(read(head.replace('GET', 'HEAD'))).toMatchObject({ kind: 'request', method: 'HEAD' });
  });

  test.each([
    'POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 1\r\n\r\nx',
    'GET / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 1\r\n\r\nx',
    'GET / HTTP/1.1\r\nHost: example.com\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    'SSH-2.0-OpenSSH_9.2\r\n',
    '\x16\x03\x01\x00\x00',
    '\x16\x02\x01',
  ])('is sent once if it is %j', (text) => {
    expect(read(text)).toEqual({ kind: 'other' });
  });
});

test('what is forwarded means the same to every reader', () => {
  const forwarded = (head: string) => {
    return plainOf(head).forServer.toString('latin1');
  };
  const host = 'Host: a.example\r\n';
  // The second byte of this letter counts as a blank in JavaScript.
  expect(forwarded(`GET http://a.example/à HTTP/1.1\r\n${host}\r\n`)).toStartWith('GET /%C3%A0 ');
  const lengths = `POST http://a.example/ HTTP/1.1\r\n${host}Content-Length: \r\nContent-Length: 3, 3\r\n\r\n`;
  expect(forwarded(lengths).match(/Content-Length: .*/g)).toEqual(['Content-Length: 3']);
  const old = `POST http://a.example/ HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n`;
  expect(() => forwarded(old)).toThrow('HTTP/1.0 has no chunked bodies.');
  // A client of HTTP/1.0 would take `100 Continue` for the answer.
  const isAsked = (version: string) =>
    plainOf(`PUT http://a.example/ HTTP/${version}\r\n${host}Expect: 100-continue\r\n\r\n`).expectsContinue;
  expect(['1.1', '1.0'].map(isAsked)).toEqual([true, false]);
});

test('only the end of a record counts as one, however its bytes arrive', () => {
  const records = [0, 1, 255, 256, 16_384].map((length) => {
    return Buffer.concat([Buffer.from([23, 3, 3, length >> 8, length & 255]), Buffer.alloc(length, 'x')]);
  });
  const ends = records.map((_, n) => records.slice(0, n + 1).reduce((sum, { length }) => sum + length, 0));
  for (const size of [1, 2, 7, 256]) {
    const follow = recordFollower();
    const bytes = Buffer.concat(records);
    for (let at = 0; at < bytes.length; at += size) {
      const end = Math.min(at + size, bytes.length);
      if (follow(bytes.subarray(at, end)) === ends.includes(end))
        throw new Error(`wrong at ${end} of ${size}`);
    }
  }
});

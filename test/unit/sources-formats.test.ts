import { describe, expect, test } from 'bun:test';
import { createParser } from '../../src/proxy/sources/parser.ts';
import { SOURCE_FORMATS } from '../../src/proxy/sources/source.ts';
import { parse } from '../support/pool/source-parsing.ts';

describe('the format of a list is recognised by its beginning', () => {
  const FIRST = 'http://8.8.8.1:80';
  const BOTH = [FIRST, 'http://8.8.8.2:80'];
  const objects = ['{"host": "8.8.8.1", "port": 80}', '{"host": "8.8.8.2", "port": 80}'];
  const page =
    '<!DOCTYPE html><table><tr><td>8.8.8.1</td><td>80</td></tr><tr><td>8.8.8.2</td><td>80</td></tr>';

  test.each([
    ['one object a line', objects.join('\n')],
    ['an array of objects', `\ufeff\n[\n  ${objects.join(',\n  ')}\n]`],
    ['an array of text in one long line', `["8.8.8.1:80",${' '.repeat(300)}"8.8.8.2:80"]`],
    ['an array inside an object', `{"data": [${objects}]}`],
    ['a page', page],
    ['a table with a header', 'ip,port,country_name\n8.8.8.1,80,Fiji\n8.8.8.2,80,Chad\n'],
    ['a table without one', '"8.8.8.1";"80"\n"8.8.8.2";"80"\n'],
    ['lines', '8.8.8.1:80\n8.8.8.2:80\n'],
    ['lines with a scheme', 'http://8.8.8.1:80 DE\nhttp://8.8.8.2:80\n'],
  ])('%s', (_, list) => {
    for (const format of SOURCE_FORMATS) {
      const entries = parse(format, list, 'http').taken.map((entry) => entry.slice(0, FIRST.length));
      expect([format, ...entries]).toEqual([format, ...BOTH]);
    }
  });

  test.each([
    ['lines', '[2606:4700::1]:8080\n[ok] 2\n', 'http://[2606:4700::1]:8080'],
    ['lines', 'Free proxies, updated hourly\n8.8.8.1:80\n', FIRST],
    ['lines', '"8.8.8.1:80",\n', FIRST],
    ['csv', '8.8.8.1:80,Germany,DE,socks5\n', 'socks5://8.8.8.1:80 DE'],
    ['html', 'proxies<br>8.8.8.1:80', FIRST],
  ] as const)('%s where that shows nothing: %j', (format, list, entry) => {
    expect(parse(format, list, 'http').taken).toEqual([entry]);
  });
});

describe('CSV', () => {
  test('without a header', () => {
    const list = 'http://8.8.8.1:80,US,Unknown\nhttp://8.8.8.2:80,ZZ,Unknown\nsocks5://8.8.8.3:1080,SN,\n';
    expect(parse('csv', list).taken).toEqual([
      'http://8.8.8.1:80 US',
      'http://8.8.8.2:80',
      'socks5://8.8.8.3:1080 SN',
    ]);
  });

  test('with a header, quoted cells and commas inside', () => {
    const list =
      '\ufeffprotocol,ip,port,country,country_code,city,anonymity,ssl\r\n' +
      'http,8.8.8.1,8080,United States,US,"Washington, D.C.",elite,true\r\n' +
      'socks4,8.8.8.2,4145,"Korea, Republic of",kr,"the ""old"" town",elite,\r\n' +
      'vmess,8.8.8.3,80,,,,,\r\n' +
      'http,10.0.0.1,80,,,,,\r\n' +
      'socks5,8.8.8.4,99999,,,,,\r\n';
    expect(parse('csv', list, 'http')).toMatchObject({
      taken: ['http://8.8.8.1:8080 US', 'socks4://8.8.8.2:4145 KR'],
      rejected: 3,
    });
  });

  test('with unusual cells: other separators, tool output, a stray quote', () => {
    expect(parse('csv', '8.8.8.1;8080;DE;SOCKS5;elite').taken).toEqual(['socks5://8.8.8.1:8080 DE']);
    const list =
      'ip,port,protocols,details\n8.8.8.1,80,"http,https","[Proxy{ip=9.9.9.9, port=1}, x=2]"\n"8.8.8.2,80,http,x\n8.8.8.3,80,http,x\n';
    expect(parse('csv', list).taken).toEqual([
      'http://8.8.8.1:80',
      'https://8.8.8.1:80',
      'http://8.8.8.3:80',
    ]);
  });
});

describe('JSON', () => {
  test('in an array, with country and protocol nested in every known way', () => {
    const list = JSON.stringify([
      {
        proxy: 'socks5://8.8.8.1:4145',
        protocol: 'socks5',
        ip: '8.8.8.1',
        port: 4145,
        geolocation: { country: 'ZZ' },
      },
      {
        protocol: 'http',
        host: '8.8.8.2',
        port: 8888,
        exit_ip: '8.8.8.9',
        geolocation: { country: { iso_code: 'RU' } },
      },
      { ip: '8.8.8.3', port: '3389', protocols: ['socks5', 'HTTP'], country: 'CL', anonymityLevel: 'elite' },
      { query: '8.8.8.4', port: '3128', type: 'http', countryCode: 'ae' },
      { ip: '8.8.8.5:81', type: 'elite' },
      { ip: '8.8.8.6', port: 82, ip_data: { countryCode: 'BR' } },
      {
        ip: '8.8.8.7',
        protocols: [
          { type: 'socks4', port: 1 },
          { type: 'socks5', port: 2 },
        ],
        location: { isocode: 'PL' },
      },
      { ip: '2606:4700::1', port: 83, country: 'Germany', country_code: 'DE' },
      { proxy: '8.8.8.8', port: 84, ip_data: null, country: null },
    ]);
    expect(parse('json', list, 'http')).toMatchObject({
      taken: [
        'socks5://8.8.8.1:4145',
        'http://8.8.8.2:8888 RU',
        'socks5://8.8.8.3:3389 CL',
        'http://8.8.8.3:3389 CL',
        'http://8.8.8.4:3128 AE',
        'http://8.8.8.5:81',
        'http://8.8.8.6:82 BR',
        'socks4://8.8.8.7:1 PL',
        'socks5://8.8.8.7:2 PL',
        'http://[2606:4700::1]:83 DE',
        'http://8.8.8.8:84',
      ],
      rejected: 0,
    });
  });

  test('inside wrappers, pretty or compact, and one object per line', () => {
    const proxies = [
      { ip: '8.8.8.1', port: 1 },
      { ip: '8.8.8.2', port: 2 },
    ];
    const expected = ['http://8.8.8.1:1', 'http://8.8.8.2:2'];
    for (const wrapped of [
      proxies,
      { data: proxies },
      { countryCode: 'AE', count: 2, proxies },
      { a: { b: { proxies } } },
    ]) {
      expect(parse('json', JSON.stringify(wrapped), 'http')).toMatchObject({ taken: expected, rejected: 0 });
      expect(parse('json', JSON.stringify(wrapped, null, 2), 'http').taken).toEqual(expected);
    }
    expect(parse('json', proxies.map((proxy) => JSON.stringify(proxy)).join('\n'), 'http').taken).toEqual(
      expected,
    );
    expect(parse('json', JSON.stringify(proxies[0]), 'http').taken).toEqual(['http://8.8.8.1:1']);
    const texts = ['8.8.8.1:1', 'socks5://8.8.8.2:2', 'nonsense'];
    for (const wrapped of [texts, { proxies: texts }]) {
      expect(parse('json', JSON.stringify(wrapped), 'http').taken).toEqual([
        'http://8.8.8.1:1',
        'socks5://8.8.8.2:2',
      ]);
    }
  });

  test('with a table in a string', () => {
    const table_html =
      '<tr><td>8.8.8.1</td><td>8080</td><td>SOCKS5</td><td>"JP"</td><td>JP</td></tr>\n<tr><td>8.8.8.2</td><td>1</td></tr>';
    expect(parse('json', JSON.stringify({ table_html, total: 2 }), 'http').taken).toEqual([
      'socks5://8.8.8.1:8080 JP',
      'http://8.8.8.2:1',
    ]);
  });

  test('that is broken loses only the broken part', () => {
    const good = '{"ip":"8.8.8.1","port":1}';
    expect(parse('json', `[{"ip":8..},${good}]`, 'http')).toMatchObject({
      taken: ['http://8.8.8.1:1'],
      rejected: 1,
    });
    expect(parse('json', `{"ip":"8.8.8.2","port":2\n${good}\n`, 'http').taken).toEqual(['http://8.8.8.1:1']);
    expect(parse('json', `{"ip":"8.8.8.2\n${good}\n`, 'http').taken).toEqual(['http://8.8.8.1:1']);
    expect(parse('json', `[${good},{"ip":"8.8.8.2","po`, 'http')).toMatchObject({
      taken: ['http://8.8.8.1:1'],
      rejected: 1,
    });
    expect(parse('json', `]]}}${good}`, 'http').taken).toEqual(['http://8.8.8.1:1']);
    expect(parse('json', `${'['.repeat(100_000)}\n${good}`, 'http').taken).toEqual(['http://8.8.8.1:1']);
    expect(parse('json', `[{"ip":"${'8'.repeat(1_200_000)}","x":"\\n"},${good}]`, 'http').taken).toEqual([
      'http://8.8.8.1:1',
    ]);
  });

  test('with brackets and quotes inside strings', () => {
    const list = JSON.stringify([
      { note: 'a "]} \\', ip: '8.8.8.1', port: 1 },
      { ip: '8.8.8.2', port: 2, note: '[{' },
    ]);
    expect(parse('json', list, 'http').taken).toEqual(['http://8.8.8.1:1', 'http://8.8.8.2:2']);
  });

  test('after a string of more than a million characters with escaped quotes', () => {
    const page = '\\"['.repeat(500_000);
    const list = `[{"page":"${page}"},\n{"ip":"8.8.8.1","port":80}]\n`;
    expect(parse('json', list, 'http')).toMatchObject({ taken: ['http://8.8.8.1:80'] });
  });

  test('with more ports than one address has is read in part', () => {
    const protocols = Array.from({ length: 300 }, (_, i) => ({ type: 'http', port: i + 1 }));
    for (const list of [{ protocols }, { protocols: [{ port: 1 }, { port: 2, protocols }] }])
      expect(parse('json', JSON.stringify([{ ip: '8.8.8.1', ...list }]), 'http').taken.length).toBeLessThan(
        100,
      );
  });

  test('with text that is expensive to parse is refused', () => {
    const list = JSON.stringify([
      { ip: ':'.repeat(100_000), port: 1 },
      { ip: '1', port: '9'.repeat(100_000) },
    ]);
    expect(parse('json', list, 'http')).toMatchObject({ taken: [], rejected: 2 });
  });
});

describe('HTML', () => {
  test('with a table', () => {
    const page = `<!doctype html><html><head><title>8.8.8.9:1</title><style>td{}</style></head><body>
      <!-- <tr><td>8.8.8.8</td><td>1</td></tr> -->
      <script>var list = "<td>8.8.8.7</td><td>2</td>"; if (a < b) { }</script>
      <table><thead><tr><th>IP Address</th><th>Port</th><th>Code</th><th>Version</th></tr></thead><tbody>
      <tr><td>8.8.8.1</td><td>8080</td><td>US</td><td class='hm'>United States</td><td>elite proxy</td></tr>
      <tr>
        <td><a href="/x">8.8.8.2</a></td>
        <td> 1080&nbsp; </td>
        <td>KR</td><td>Socks5</td>
      <tr><td>10.0.0.1<td>80<td>US
      <TR><TD>8.8.8.3:3128<TD>FR</TABLE></body></html>`;
    expect(parse('html', page, 'http')).toMatchObject({
      taken: [
        'http://8.8.8.9:1',
        'http://8.8.8.1:8080 US',
        'socks5://8.8.8.2:1080 KR',
        'http://8.8.8.3:3128 FR',
      ],
      rejected: 2,
    });
  });

  test('with lines in a textarea', () => {
    const page =
      '<body><p>Updated</p><textarea class="form-control">Free proxies from free-proxy-list.net\nUpdated at 2026-01-01\n\n8.8.8.1:80\n8.8.8.2:8080</textarea><pre>8.8.8.3:1<br>8.8.8.4:2</pre>';
    expect(parse('html', page, 'http')).toMatchObject({
      taken: ['http://8.8.8.1:80', 'http://8.8.8.2:8080', 'http://8.8.8.3:1', 'http://8.8.8.4:2'],
      rejected: 0,
    });
  });

  test('with unclosed tags', () => {
    const page = `<table><tr><td>8.8.8.1</td><td>1</td></tr><${'x'.repeat(100_000)}<tr><td>8.8.8.2</td><td>2</td></tr>`;
    expect(parse('html', page, 'http').taken).toEqual(['http://8.8.8.1:1', 'http://8.8.8.2:2']);
    expect(parse('html', `<script>${'x'.repeat(100_000)}`, 'http').taken).toEqual([]);
  });

  test('after elements without content', () => {
    const page =
      '<!doctype html>\n<head><style></style><script src="a.js"></script><!----></head><pre>8.8.8.1:80\n8.8.8.2:80</pre>';
    expect(parse('html', page, 'http').taken).toEqual(['http://8.8.8.1:80', 'http://8.8.8.2:80']);
  });

  test('after a script with letters that are longer in lower case', () => {
    const page = `<!doctype html>\n<script>${'\u0130'.repeat(20)}</SCRIPT>8.8.8.1:80\n8.8.8.2:80\n`;
    expect(parse('html', page, 'http').taken).toEqual(['http://8.8.8.1:80', 'http://8.8.8.2:80']);
  });

  // With a search through the rest of the page at each tag, these take minutes.
  test.each([
    ['that never end', '<'],
    ['of empty scripts', '<script></script>'],
    ['of empty comments', '<!---->'],
  ])('with a million characters of tags %s, in one string of a JSON list', (_, tag) => {
    const page = `<table>${tag.repeat(900_000 / tag.length)}<pre>8.8.8.1:80</pre>`;
    const parsed = parse('json', `${JSON.stringify([{ page }])}\n`, 'http');
    expect(parsed.taken).toEqual(['http://8.8.8.1:80']);
  });
});

test('random bytes, and lists with random changes, never make a parser throw', () => {
  let seed = 42;
  const random = (below: number) => {
    // Numerical Recipes' linear congruential generator: the same bytes in every run.
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const alphabet = '[]{}",:<>/\\ \n\r\t\0.0123456789abcdefhps8\ufeffé%@=-';
  const samples = [
    '[{"ip":"8.8.8.1","port":80,"protocols":["http"]}]\n',
    '<table><tr><td>8.8.8.1</td><td>80</td></tr></table>\n',
    'ip,port,"a ""b"""\n8.8.8.1,80,US\n',
    'socks5://[2606:4700::1]:80 US\n',
  ];
  const decoder = new TextDecoder();
  for (let round = 0; round < 400; round++) {
    const bytes = Uint8Array.from({ length: 300 }, () => random(256));
    const noise = Array.from({ length: 300 }, () => alphabet.charAt(random(alphabet.length))).join('');
    const sample = (samples[random(samples.length)] ?? '').repeat(3).split('');
    for (let i = 0; i < 5; i++) sample[random(sample.length)] = alphabet.charAt(random(alphabet.length));
    for (const format of SOURCE_FORMATS) {
      for (const text of [decoder.decode(bytes), noise, sample.join('')]) {
        let reached = 0;
        const parser = createParser(format, {
          protocol: 'http',
          allowPrivate: false,
          logins: random(2) === 0,
          onCandidate: (_, ip, port) => {
            expect(ip).toMatch(/^8\.8\.8\.\d+$|^\d+\.\d+\.\d+\.\d+$|:/);
            expect(port).toBeWithin(1, 65_536);
            reached++;
          },
          onPaid: ({ ip, port }) => {
            expect(ip).toMatch(/^[a-z0-9.-]+\.[a-z][a-z0-9-]+$|^\d+\.\d+\.\d+\.\d+$|:/);
            expect(port).toBeWithin(1, 65_536);
            reached++;
          },
        });
        for (let start = 0; start < text.length; start += 50) parser.push(text.slice(start, start + 50));
        parser.end();
        expect(parser.tally.found).toBe(reached);
      }
    }
  }
});

test('a port in its own cell is a number and nothing else', () => {
  expect(
    parse('csv', 'ip,port\n8.8.8.1,"8,080"\n8.8.8.2,8080x\n8.8.8.3, 81 \n8.8.8.4:82,US\n'),
  ).toMatchObject({
    taken: ['any://8.8.8.3:81', 'any://8.8.8.4:82'],
    rejected: 2,
  });
});

test('JSON is read as programs write it: with escaped slashes, names in capitals, and ports by protocol', () => {
  expect(parse('json', '["http:\\/\\/8.8.8.1:80","8.8.8.2:81"]').taken).toEqual([
    'http://8.8.8.1:80',
    'any://8.8.8.2:81',
  ]);
  expect(parse('json', '[{"IP":"8.8.8.1","Port":80,"Country":"DE"}]').taken).toEqual(['any://8.8.8.1:80 DE']);
  const line = (n: number) =>
    `{"ip":"8.8.8.${n}","protocols":[{"type":"http","port":80},{"type":"socks5","port":1080}]}`;
  const taken = [1, 2].flatMap((n) => [`http://8.8.8.${n}:80`, `socks5://8.8.8.${n}:1080`]);
  expect(parse('json', `${line(1)}\n${line(2)}\n`)).toMatchObject({ taken, rejected: 0 });
  expect(parse('json', `[${line(1)},${line(2)}]`)).toMatchObject({ taken, rejected: 0 });
  expect(parse('json', `{"data":[${line(1)},${line(2)}]}`)).toMatchObject({ taken, rejected: 0 });
});

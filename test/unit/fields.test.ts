import { describe, expect, test } from 'bun:test';
import { decodeImage, encodeImage, imageField } from '../../adapters/redis/image-codec.ts';
import { decodeProxy, encodeProxy, proxyField } from '../../adapters/redis/proxy-codec.ts';
import { IMAGE_FIELDS } from '../../src/image/fields.ts';
import { columnOf, type FieldsOf, reader } from '../../src/lib/fields.ts';
import { PROXY_FIELDS } from '../../src/proxy/fields.ts';
import { memoryDatabase } from '../support/stores/memory.ts';
import { draft, image } from '../support/stores/records.ts';

describe('the lists of fields', () => {
  test.each([
    ['proxies', PROXY_FIELDS],
    ['images', { ...IMAGE_FIELDS, lastAccess: { kind: 'integer' } }],
  ] as const)('name a column of %s each, and say whether it may be empty', async (table, fields) => {
    const database = await memoryDatabase();
    const columns = database
      .prepare<{ name: string; notnull: number }>(`SELECT name, "notnull" FROM pragma_table_info('${table}')`)
      .all();
    const kept = new Map(columns.map(({ name, notnull }) => [name, notnull === 0]));
    for (const [name, field] of Object.entries(fields)) {
      expect([name, kept.get(columnOf(name))]).toEqual([name, 'nullable' in field]);
    }
  });

  test('a record from before a field was added reads with the default of that field', () => {
    const fields: FieldsOf<{ ip: string; note: string | null; weight: number }> = {
      ip: { kind: 'text' },
      note: { kind: 'text', nullable: true, added: 'old' },
      weight: { kind: 'real', added: 1 },
    };
    expect(reader(fields)(['192.0.2.1'])).toEqual({ ip: '192.0.2.1', note: 'old', weight: 1 });
    expect(reader(fields)(['192.0.2.1', null, 2])).toEqual({ ip: '192.0.2.1', note: null, weight: 2 });
  });
});

describe('records of the first version in Redis', () => {
  test('a proxy reads as it was', () => {
    const text =
      '[9,"socks5","192.0.2.7",1080,"alive",8,1,"DE","a list",120.5,"elite","198.51.100.7",null,8,4,3,2,5,0.75,0.5]';
    expect(decodeProxy('12', text)).toMatchObject({
      ...{ id: 12, protocol: 'socks5', ip: '192.0.2.7', port: 1080, status: 'alive', country: 'DE' },
      ...{ source: 'a list', responseMs: 120.5, anonymity: 'elite', exitIp: '198.51.100.7', error: null },
      ...{ firstSeen: 1, lastChecked: 8, lastAlive: 8, nextCheck: 9, checks: 4, successes: 3, run: 2 },
      ...{ runSince: 5, uptime: 0.75, uptimeWeight: 0.5, proof: null },
      ...{ tampering: null, reports: null, login: null, recent: 1 },
    });
  });

  test('an image reads as it was, without the mark of its request', () => {
    const text = '["webp",2048,null,1700000000000,"cat.png",640,480,1,"aa","192.0.2.1","bb","01234567"]';
    const own = { filename: 'cat.png', size: 2048, hash: 'aa', deleteTokenHash: 'bb', lastAccess: 5 };
    expect(decodeImage('Zk3vQ8mT1xYb', text, 5, 0)).toEqual(
      image({ id: 'Zk3vQ8mT1xYb', format: 'webp', ...own }),
    );
  });

  test('the scripts find the fields where the codecs put them', () => {
    const placeOf = (field: string) => Number(/\d+/.exec(field)?.[0]) - 1;
    const proxy = JSON.parse(encodeProxy(draft({ port: 4711, status: 'dead' })));
    expect([proxy[placeOf(proxyField('port'))], proxy[placeOf(proxyField('status'))]]).toEqual([
      4711,
      'dead',
    ]);
    expect(proxyField('nextCheck')).toBe('proxy[1]');
    const stored = JSON.parse(encodeImage(image({ size: 99, passwordHash: 'secret' }), 'mark'));
    expect([stored[placeOf(imageField('size'))], stored[placeOf(imageField('passwordHash'))]]).toEqual([
      99,
      'secret',
    ]);
  });
});

import assert from 'node:assert/strict';
import { foldText } from '../../src/image/records/searched.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';
import { image } from '../support/stores/records.ts';

/** What `ImageStore.list` promises about `text`. */
export function imageSearchConformance(runner: Test, open: Open<ImageStore>): void {
  const test = storeTest(runner, open);

  async function found(store: ImageStore, text: string): Promise<string[]> {
    const { items, total } = await store.list({ text, offset: 0, limit: 1000 });
    assert.equal(total, items.length, `total of "${text}"`);
    return items.map(({ id }) => id).sort();
  }

  async function named(store: ImageStore, names: readonly string[]): Promise<void> {
    for (const [index, filename] of names.entries()) {
      await store.insert(image({ id: `${index}`.padStart(12, '~'), filename, createdAt: index }));
    }
  }

  /** The positions of the names that the search finds. */
  async function positions(store: ImageStore, text: string): Promise<number[]> {
    return (await found(store, text)).map((id) => Number(id.replaceAll('~', ''))).sort((a, b) => a - b);
  }

  test('a search finds any part of a file name, ID or format', async (store) => {
    await store.insert(image({ id: 'XyZ123abcDEF', filename: 'Holiday at the sea.png', format: 'webp' }));
    const hits = [
      'Holiday',
      'day at',
      'sea.png',
      '.p',
      'H',
      ' Holiday',
      'at  the',
      'XyZ',
      '3ab',
      'DEF',
      'Z1',
      'webp',
      'ebp',
      'w',
    ];
    for (const text of hits) assert.deepEqual(await found(store, text), ['XyZ123abcDEF'], text);
    const misses = ['holidays', 'seapng', 'webpx', 'XyZ124', 'q', 'qq', 'qqq', ' ', 'sea qqq', 'sea q'];
    for (const text of misses) assert.deepEqual(await found(store, text), [], text);
  });

  test('a search finds its words in any order and field, and its first eight at most', async (store) => {
    const texts = { filename: 'trip-07.jpg', title: 'Hafen im Winter', alt: 'Two boats in the snow' };
    await store.insert(image({ id: 'XyZ123abcDEF', format: 'jpeg', ...texts }));
    await store.insert(image({ id: 'other', filename: 'trip-08.jpg' }));
    await store.insert(image({ id: 'hidden', unlisted: 1, ...texts }));
    const hits = [
      'trip 07',
      '07 trip',
      'boats hafen',
      'snow 07 xyz jpe',
      'WINTER',
      'in im wo',
      'p- 07 trip trip',
    ];
    hits.push(
      '07 trip-07.jpg boats in the snow hafen two im nowhere',
      'trip 07 7 0',
      `07 ${'boats '.repeat(40)}`,
    );
    for (const text of hits) assert.deepEqual(await found(store, text), ['XyZ123abcDEF'], text);
    for (const text of ['trip 09', 'boats harbour', 'winter t x q', 'snowtrip', 'q 07', 'boatsin'])
      assert.deepEqual(await found(store, text), [], text);
    assert.deepEqual(await found(store, 'jpg trip'), ['XyZ123abcDEF', 'other']);
    await store.change('XyZ123abcDEF', { title: null, alt: 'A lighthouse' });
    assert.deepEqual([await found(store, 'hafen'), await found(store, 'light 07')], [[], ['XyZ123abcDEF']]);
  });

  test('a match does not run from one field into the next', async (store) => {
    await store.insert(image({ id: 'idididididid', filename: 'name', format: 'png' }));
    for (const text of ['nameid', 'idname', 'idpng', 'namepng', 'pngname', 'eid', 'ei', 'dp', 'dpn']) {
      assert.deepEqual(await found(store, text), [], text);
    }
  });

  test('case is ignored, also beyond ASCII', async (store) => {
    await named(store, ['STRASSE.png', 'straße.png', 'ΟΔΟΣ.png', 'οδος ΟΔΟΣ.png', 'ÉCOLE.png', 'Привет.png']);
    assert.deepEqual(await positions(store, 'Strasse'), [0, 1]);
    assert.deepEqual(await positions(store, 'οδος'), [2, 3]);
    assert.deepEqual(await positions(store, 'ΔΟΣ.P'), [2, 3]);
    assert.deepEqual(await positions(store, 'éco'), [4]);
    assert.deepEqual(await positions(store, 'ПРИ'), [5]);
    assert.deepEqual(await positions(store, 'пР'), [5]);
    assert.deepEqual(await positions(store, 'PNG'), [0, 1, 2, 3, 4, 5]);
  });

  test('accents are ignored in every Unicode normalization form', async (store) => {
    await named(store, ['caf\u00e9 one', 'cafe\u0301 two', 'CAFE three', 'Über', 'uber', 'ガ', 'カ']);
    for (const text of ['caf\u00e9', 'cafe\u0301', 'cafe', 'CAFÈ']) {
      assert.deepEqual(await positions(store, text), [0, 1, 2], text);
    }
    assert.deepEqual(await positions(store, '\u00c9 on'), [0]);
    assert.deepEqual(await positions(store, 'ube'), [3, 4]);
    assert.deepEqual(await positions(store, 'ü'), [3, 4]);
    // A voiced sound is another letter.
    assert.deepEqual(await positions(store, 'カ'), [6]);
    assert.deepEqual(await positions(store, '\u0301'), []);
  });

  test('one and two characters find matches in every script', async (store) => {
    await named(store, ['猫の写真', '犬と猫', '🐈 cat', '犬']);
    assert.deepEqual(await positions(store, '猫'), [0, 1]);
    assert.deepEqual(await positions(store, '犬'), [1, 3]);
    assert.deepEqual(await positions(store, '写真'), [0]);
    assert.deepEqual(await positions(store, 'と猫'), [1]);
    assert.deepEqual(await positions(store, '🐈'), [2]);
    assert.deepEqual(await positions(store, '🐈 c'), [2]);
    assert.deepEqual(await positions(store, '猫の写真'), [0]);
  });

  test('special characters match themselves', async (store) => {
    const special = [
      '%',
      '_',
      '*',
      '?',
      '"',
      "'",
      '\\',
      '^',
      '[',
      ']',
      '(',
      ')',
      '{',
      '}',
      '+',
      '-',
      ':',
      '~',
    ];
    special.push(
      ';',
      ',',
      '|',
      '&',
      '<',
      '>',
      '@',
      '#',
      '$',
      '!',
      '`',
      '/',
      '=',
      '%%',
      '""',
      "''",
      '--',
      '\\\\',
    );
    await store.insert(image({ id: 'plain', filename: 'nothing special' }));
    for (const text of special) assert.deepEqual(await found(store, text), [], `${text} in a plain name`);
    for (const [index, text] of special.entries()) {
      await store.insert(image({ id: `s${index}`, filename: `x${text}yz w` }));
    }
    for (const [index, text] of special.entries()) {
      for (const query of [text, `x${text}`, `${text}yz`, `x${text}yz w`]) {
        const hits = await found(store, query);
        assert.ok(hits.includes(`s${index}`), `${query} should find s${index}`);
        const expected = special.filter((other) => `x${other}yz w`.includes(query)).length;
        assert.equal(hits.length, expected, query);
      }
    }
  });

  test('every character of a long text counts', async (store) => {
    const name = 'a-long-name-that-goes-on-and-on-and';
    await named(store, [`${name}-on.png`, `${name}-of.png`, `${name.slice(1)}-on.png`, '猫'.repeat(40)]);
    assert.deepEqual(await positions(store, `${name}-o`), [0, 1]);
    assert.deepEqual(await positions(store, `${name}-ON`), [0]);
    assert.deepEqual(await positions(store, `${name.slice(2)}-on.p`), [0, 2]);
    assert.deepEqual(await positions(store, '猫'.repeat(40)), [3]);
    assert.deepEqual(await positions(store, '猫'.repeat(41)), []);
  });

  test('keywords of a query language are plain text', async (store) => {
    await named(store, ['this AND that', 'this OR that', 'NOT NEAR', 'filename: x', 'rowid', 'a" OR "b']);
    assert.deepEqual(await positions(store, 'this AND that'), [0]);
    assert.deepEqual(await positions(store, 'AND'), [0]);
    assert.deepEqual(await positions(store, 'OR'), [1, 5]);
    assert.deepEqual(await positions(store, 'NEAR'), [2]);
    assert.deepEqual(await positions(store, 'filename:'), [3]);
    assert.deepEqual(await positions(store, 'a" OR "b'), [5]);
    assert.deepEqual(await positions(store, '" OR "'), [5]);
  });

  test('control characters and overlong texts find nothing and cause no error', async (store) => {
    await named(store, ['abc def', 'abcdef']);
    for (const text of [
      '\n',
      '\t',
      'abc\ndef',
      'abc\u0001def',
      '\u007f',
      '\r\n',
      'abc\u001f',
      'x'.repeat(5000),
    ]) {
      assert.deepEqual(await found(store, text), [], JSON.stringify(text.slice(0, 20)));
    }
  });

  test('spaces only separate words', async (store) => {
    await named(store, ['two words', 'two  words', 'twowords', 'wor']);
    assert.deepEqual(await positions(store, ' '), []);
    assert.deepEqual(await positions(store, ' two\u3000words '), [0, 1, 2]);
  });

  test('an empty text matches everything', async (store) => {
    await named(store, ['a', 'b']);
    assert.equal((await store.list({ text: '', offset: 0, limit: 10 })).total, 2);
  });

  test('images with a password are never found', async (store) => {
    await store.insert(image({ id: 'secretsecret', filename: 'hidden.png', passwordHash: 'x' }));
    for (const text of ['hidden', 'secretsecret', 'h', 'hi', 'png'])
      assert.deepEqual(await found(store, text), []);
  });

  test('matches come newest first, in pages', async (store) => {
    for (let index = 0; index < 30; index++) {
      const filename = index % 3 === 0 ? `match ${index}` : 'other';
      await store.insert(image({ id: `i${index}`, filename, createdAt: (index * 7) % 30 }));
    }
    for (const text of ['match', 'ma', 'M']) {
      const times: number[] = [];
      for (let offset = 0; offset < 15; offset += 4) {
        const page = await store.list({ text, offset, limit: 4 });
        assert.equal(page.total, 10);
        times.push(...page.items.map(({ createdAt }) => createdAt));
      }
      assert.equal(times.length, 10);
      assert.deepEqual(
        times,
        [...times].sort((a, b) => b - a),
      );
    }
  });

  test('totals follow insertions and removals', async (store) => {
    const totals = async () =>
      Promise.all(['cat', 'ca', 'c', 'zebra'].map(async (text) => (await found(store, text)).length));
    const uncounted = { format: 'png', filename: '12345' } as const;
    assert.deepEqual(await totals(), [0, 0, 0, 0]);
    await store.insert(image({ id: '1', filename: 'Cat' }));
    await store.insert(image({ id: '2', filename: 'concatenate' }));
    await store.insert(image({ id: '3', ...uncounted }));
    assert.deepEqual(await totals(), [2, 2, 2, 0]);
    await store.insert(image({ id: '4', filename: 'CAT', createdAt: 1, passwordHash: 'x' }));
    await store.insert(image({ id: '5', filename: 'cat zebra', createdAt: 1 }));
    await store.remove('1');
    await store.remove('4');
    assert.deepEqual(await totals(), [2, 2, 2, 1]);
    await store.removeIdle('5', Number.MAX_SAFE_INTEGER);
    await assert.rejects(store.insert(image({ id: '2', filename: 'cat cat' })));
    assert.deepEqual(await totals(), [1, 1, 1, 0]);
  });

  test('searches stay exact during concurrent changes', async (store) => {
    const work: Promise<unknown>[] = [];
    for (let index = 0; index < 60; index++) {
      const filename = index % 2 ? `even ${index}` : `odd ${index}`;
      work.push(store.insert(image({ id: `w${index}`, filename, createdAt: index % 7 })));
      work.push(store.list({ text: 'even', offset: 0, limit: 5 }));
    }
    await Promise.all(work);
    await Promise.all([...Array(20).keys()].map((index) => store.remove(`w${index}`)));
    assert.equal((await found(store, 'even')).length, 20);
    assert.equal((await found(store, 'e')).length, 20);
  });

  test('pages of a search follow insertions and removals at both ends and in between', async (store) => {
    const times: number[] = [];
    async function check(): Promise<void> {
      const seen: number[] = [];
      for (let offset = 0; offset <= times.length; offset += 4) {
        const { items, total } = await store.list({ text: 'match', offset, limit: 4 });
        assert.equal(total, times.length);
        seen.push(...items.map(({ createdAt }) => createdAt));
      }
      assert.deepEqual(
        seen,
        [...times].sort((a, b) => b - a),
      );
    }
    async function insert(time: number): Promise<void> {
      await store.insert(image({ id: `t${time}`, filename: 'a match', createdAt: time }));
      times.push(time);
      await check();
    }
    for (const time of [50, 60, 10, 90, 55, 5, 95, 20, 94, 1, 99, 30, 40, 57]) await insert(time);
    for (const time of [99, 55, 1, 95, 94, 20, 60, 90, 50, 5]) {
      await store.remove(`t${time}`);
      times.splice(times.indexOf(time), 1);
      await check();
    }
    for (const time of [3, 98, 45]) await insert(time);
  });

  test('changes while a search counts are counted once', async (store) => {
    const insert = (time: number) =>
      store.insert(image({ id: `t${time}`, filename: 'a match', createdAt: time }));
    for (let time = 100; time < 140; time++) await insert(time);
    await Promise.all([
      store.list({ text: 'match', offset: 0, limit: 4 }),
      store.remove('t101'),
      store.remove('t139'),
      insert(1),
      insert(200),
      store.removeIdle('t120', Number.MAX_SAFE_INTEGER),
    ]);
    assert.equal((await found(store, 'match')).length, 39);
  });

  test('a search finds exactly what contains the folded text', async (store) => {
    const letters = ['a', 'b', 'A', 'é', '猫', '_', ' ', '.'];
    let seed = 7;
    const pick = () => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      return letters[Math.floor((seed / 2 ** 31) * letters.length)] ?? '';
    };
    const text = (length: number) => Array.from({ length }, pick).join('');
    const names = Array.from({ length: 80 }, (_, index) => text(1 + (index % 12)));
    await named(store, names);
    for (let turn = 0; turn < 120; turn++) {
      const query = text(1 + (turn % 5));
      const expected = [...names.keys()].filter((index) => {
        const fields = [names[index] ?? '', `${index}`.padStart(12, '~'), 'png'];
        const words = foldText(query).split(' ').filter(Boolean);
        const has = (word: string) => fields.some((field) => foldText(field).includes(word));
        return words.length > 0 && words.every(has);
      });
      assert.deepEqual(await positions(store, query), expected, JSON.stringify(query));
    }
  });
}

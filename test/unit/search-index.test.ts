import { expect, setDefaultTimeout, test } from 'bun:test';
import { createSearchIndex, type Searched } from '../../src/lib/search/search-index.ts';

setDefaultTimeout(20_000);

/** Numbers that look random and are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function newestFirst(a: Searched, b: Searched): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1);
}

test.each(['ascending', 'descending', 'nearly ascending', 'random'])(
  'a search over images that came in %s order finds what a search through all of them finds',
  (order) => {
    const random = numbers(order.length);
    const index = createSearchIndex({ documents: 150, units: 10_000 });
    const images = new Map<string, Searched>();
    const timeOf: Record<string, (turn: number) => number> = {
      ascending: (turn) => turn,
      descending: (turn) => -turn,
      'nearly ascending': (turn) => turn + random(20),
      random: () => random(1000),
    };
    for (let turn = 0; turn < 4000; turn++) {
      const id = `i${random(3000)}`;
      const long = random(9) === 0 ? 'é'.repeat(random(150)) : '';
      const fields = [`${random(50)}-é猫_${long}${random(500)}.png`, id];
      if (random(4) === 0 && images.delete(id)) index.remove(id);
      else if (!images.has(id)) {
        const image = { id, createdAt: timeOf[order]?.(turn) ?? 0, fields };
        images.set(id, image);
        index.add(image);
      }
      if (turn % 37 !== 0) continue;
      const texts = ['é', '猫_', '1', `i${random(3000)}`, `${random(50)}-é`, `é猫_${random(50)}`, 'none'];
      texts.push('é'.repeat(1 + random(99)), String(random(500)));
      const text = texts[random(texts.length)] ?? '';
      const matches = [...images.values()].filter((image) =>
        image.fields.some((field) => field.includes(text)),
      );
      const ids = matches.sort(newestFirst).map(({ id }) => id);
      const offset = random(30);
      expect(index.search(text, offset, 20)).toEqual({
        ids: ids.slice(offset, offset + 20),
        total: ids.length,
      });
      expect(index.search(text, 0, 5)).toEqual({ ids: ids.slice(0, 5), total: ids.length });
    }
  },
);

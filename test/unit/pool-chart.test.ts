import { describe, expect, test } from 'bun:test';
import { type ChartRange, poolChart, type Sample } from '../../src/proxy/pages/pool-chart.ts';
import { bareSite } from '../support/browser/web.ts';

const HOUR_MS = 3_600_000;
const NOW = Date.UTC(2026, 1, 1, 12);
const site = bareSite();
const chart = (samples: Sample[], range: ChartRange = '1d') => poolChart(site, samples, range, NOW).markup;
const listed = (markup: string, name: string) =>
  [...(new RegExp(`<ol class="${name}".*?</ol>`).exec(markup)?.[0] ?? '').matchAll(/<li>(.*?)<\/li>/g)].map(
    ([, text]) => text,
  );

describe('the chart of the pool', () => {
  test('says in words what it draws, and has axes and a table of values', () => {
    const markup = chart([
      { at: NOW - 24 * HOUR_MS, alive: 1200 },
      { at: NOW - 10 * HOUR_MS, alive: 900 },
      { at: NOW, alive: 1100 },
    ]);
    expect(markup).toContain('Working proxies: 1,100 now, between 900 and 1,200.');
    expect(markup).toContain('d="M0,30 L');
    expect(listed(markup, 'chart-y')).toEqual(['1,500', '1,000', '500', '0']);
    expect(listed(markup, 'chart-x')).toEqual(['12:00', '18:00', '00:00', '06:00', '12:00']);
    expect(markup).toContain('<td>Feb 1, 2026, 02:00</td><td class="number-cell">900</td>');
    expect(markup).not.toContain('NaN');
  });

  test('leaves out what is older than its range', () => {
    const samples = [
      { at: NOW - 25 * HOUR_MS, alive: 7 },
      { at: NOW - HOUR_MS, alive: 2 },
      { at: NOW, alive: 1 },
    ];
    expect(chart(samples)).toContain('1 now, between 1 and 2.');
    expect(chart(samples, '7d')).toContain('1 now, between 1 and 7.');
    const month = [{ at: NOW - 30 * 24 * HOUR_MS, alive: 3 }, ...samples];
    expect(listed(chart(month, '30d'), 'chart-x')).toEqual(['Jan 2', 'Jan 10', 'Jan 17', 'Jan 25', 'Feb 1']);
  });

  test('draws only as many points of a month as can be distinguished, the last one among them', () => {
    const samples = Array.from({ length: 720 }, (_, hour) => ({
      at: NOW - (719 - hour) * HOUR_MS,
      alive: hour,
    }));
    const values = [...chart(samples, '30d').matchAll(/<title>(.*?)<\/title>/g)].map(([, value]) => value);
    expect(values.length).toBeLessThan(182);
    expect(values.at(-1)).toEndWith(': 719');
  });

  test('draws a pool in which nothing is alive, on a scale of whole proxies', () => {
    const markup = chart([
      { at: NOW - HOUR_MS, alive: 0 },
      { at: NOW, alive: 0 },
    ]);
    expect(listed(markup, 'chart-y')).toEqual(['2', '1', '0']);
    expect(markup).not.toMatch(/NaN|Infinity/);
  });

  test('fills its width where the pool is younger than the range, and waits for ten minutes of it', () => {
    const young = chart([
      { at: NOW - HOUR_MS, alive: 0 },
      { at: NOW, alive: 7 },
    ]);
    expect(listed(young, 'chart-x')).toEqual(['11:00', '11:15', '11:30', '11:45', '12:00']);
    expect(young).toContain('d="M0,150 L');
    const begun = [NOW - 1000, NOW].map((at) => ({ at, alive: 5 }));
    expect(chart(begun)).not.toContain('<svg');
    expect(chart(begun)).toContain('Not enough history yet.');
  });
});

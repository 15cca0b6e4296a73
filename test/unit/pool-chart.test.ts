import { describe, expect, test } from 'bun:test';
import { poolChart } from '../../src/web/pool-chart.ts';

const HOUR_MS = 3_600_000;
const NOW = 100 * HOUR_MS;

describe('the chart of the pool', () => {
  test('says in words what it draws', () => {
    const { markup } = poolChart(
      [
        { at: NOW - 20 * HOUR_MS, alive: 1200 },
        { at: NOW - 10 * HOUR_MS, alive: 900 },
        { at: NOW, alive: 1100 },
      ],
      NOW,
    );
    expect(markup).toContain('aria-label="1,100 alive now; least 900, most 1,200 in the last 24 hours."');
    expect(markup).toContain('d="M100,60 L');
    expect(markup).not.toContain('NaN');
  });

  test('leaves out what is older than a day', () => {
    const { markup } = poolChart(
      [
        { at: NOW - 25 * HOUR_MS, alive: 7 },
        { at: NOW - HOUR_MS, alive: 2 },
        { at: NOW, alive: 1 },
      ],
      NOW,
    );
    expect(markup).toContain('most 2 in');
  });

  test('draws a pool in which nothing is alive', () => {
    const { markup } = poolChart(
      [
        { at: NOW - HOUR_MS, alive: 0 },
        { at: NOW, alive: 0 },
      ],
      NOW,
    );
    expect(markup).toContain('0 alive now');
    expect(markup).not.toMatch(/NaN|Infinity/);
  });

  test('waits for a second sample', () => {
    expect(poolChart([{ at: NOW, alive: 5 }], NOW).markup).not.toContain('<svg');
  });
});

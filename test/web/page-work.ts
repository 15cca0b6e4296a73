import { expect } from 'bun:test';
import type { Page } from 'playwright-core';

/** What the browser had to do to show the result of a step. These are counts, which are the same on a slow machine. */
export interface PageWork {
  /** Elements whose style was worked out again. */
  restyled: number;
  /** Boxes and texts that were laid out again. */
  laidOut: number;
  /** The most boxes and texts that a layout had before it: what is far from the screen need not be among them. */
  present: number;
}

interface TraceEvent {
  name: string;
  args: { elementCount?: number; beginData?: { dirtyObjects: number; totalObjects: number } };
}

/** Counts the work of a step by a trace of the browser. No other page may be open in it. */
export async function workOf(page: Page, step: () => Promise<unknown>): Promise<PageWork> {
  const session = await page.context().newCDPSession(page);
  const work = { restyled: 0, laidOut: 0, present: 0 };
  session.on('Tracing.dataCollected', ({ value }) => {
    for (const { name, args } of value as unknown as TraceEvent[]) {
      if (name === 'UpdateLayoutTree') work.restyled += args.elementCount ?? 0;
      if (name !== 'Layout' || !args.beginData) continue;
      work.laidOut += args.beginData.dirtyObjects;
      work.present = Math.max(work.present, args.beginData.totalObjects);
    }
  });
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['devtools.timeline', 'blink'] },
  });
  await step();
  await page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  });
  const complete = new Promise<void>((resolve) => {
    session.once('Tracing.tracingComplete', () => resolve());
  });
  await session.send('Tracing.end');
  await complete;
  await session.detach();
  return work;
}

/** Does the steps one after another and expects that none takes more work than `most`. */
export async function checkWork(
  page: Page,
  steps: Record<string, () => Promise<unknown>>,
  most: PageWork,
): Promise<void> {
  for (const [name, step] of Object.entries(steps)) {
    const work = await workOf(page, step);
    const tooMuch = Object.entries(work).filter(([kind, count]) => count > most[kind as keyof PageWork]);
    expect({ name, tooMuch }).toEqual({ name, tooMuch: [] });
  }
}

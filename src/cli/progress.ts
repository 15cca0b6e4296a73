import { formatCount, formatSpan } from '../lib/format.ts';
import type { Terminal } from './terminal.ts';

/** How often the line of a terminal changes, and how often a line is written without one, in ms. */
const DRAW_MS = 100;
const LINE_MS = 2000;

/** The progress of a piece of work. */
interface Standing {
  done: number;
  /** Missing if it is not known yet. */
  total?: number | undefined;
  estimated?: boolean;
  note?: string;
}

/**
 * Shows progress: a line that changes on a terminal, otherwise one every two seconds.
 * Written here because packages write nothing without a terminal.
 */
export function createProgress(terminal: Terminal, unit: string, now: () => number) {
  const startedAt = now();
  let shownAt = startedAt;
  return {
    /** May be called as often as necessary. */
    update(standing: Standing): void {
      const at = now();
      if (at - shownAt < (terminal.live ? DRAW_MS : LINE_MS)) return;
      shownAt = at;
      const text = describe(standing, unit, at - startedAt);
      if (terminal.live) terminal.status(text);
      else terminal.say(text);
    },
    /** Removes the line. */
    end: () => terminal.status(''),
  };
}

/** Returns `1,200 of 5,000 checked (24 %), 350/s, 0:11 left, 37 alive`. */
function describe({ done, total, estimated, note }: Standing, unit: string, spentMs: number): string {
  const rate = done / (spentMs / 1000);
  const parts: string[] = [];
  if (total === undefined) parts.push(`${formatCount(done)} ${unit}`);
  else {
    const share = total > 0 ? ` (${Math.min(100, Math.floor((done / total) * 100))} %)` : '';
    parts.push(`${formatCount(done)} of ${estimated ? 'about ' : ''}${formatCount(total)} ${unit}${share}`);
  }
  if (rate > 0) parts.push(`${rate >= 10 ? formatCount(Math.round(rate)) : rate.toFixed(1)}/s`);
  if (rate > 0 && total !== undefined && total > done) {
    parts.push(`${formatSpan(((total - done) / rate) * 1000)} left`);
  }
  if (note) parts.push(note);
  return parts.join(', ');
}

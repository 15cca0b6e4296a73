/** To be loaded before a program, whose clock is an hour ahead then. */
const HOUR_MS = 3_600_000;
const RealDate = Date;
const now = () => RealDate.now() + HOUR_MS;

globalThis.Date = class extends RealDate {
  constructor(...parts: unknown[]) {
    super(...((parts.length === 0 ? [now()] : parts) as [number]));
  }
  static override now = now;
} as DateConstructor;

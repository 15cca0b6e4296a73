// To preload: the clock of the process is wrong by `CLOCK_SHIFT_MS`.
const right = Date.now.bind(Date);
const shiftMs = Number(process.env.CLOCK_SHIFT_MS ?? 0);
Date.now = () => right() + shiftMs;
globalThis.Date = new Proxy(Date, {
  construct: (target, given: unknown[]) =>
    Reflect.construct(target, given.length === 0 ? [target.now()] : given),
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A text for each plural form of its language, with `#` in place of the number. */
export type Plural = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/**
 * Returns how a language writes numbers, times, names and counts, with times in UTC; `justNow` is a text that `Intl` does
 * not have. Each formatter takes some ms to create, so it is created on first use.
 */
export function createFormats(language: string, justNow: string) {
  const number = once(() => new Intl.NumberFormat(language));
  const percent = once(() => new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 }));
  const rules = once(() => new Intl.PluralRules(language));
  const ages = once(() => new Intl.RelativeTimeFormat(language, { numeric: 'auto' }));
  const countries = once(() => new Intl.DisplayNames([language], { type: 'region' }));
  const list = once(() => new Intl.ListFormat(language, { type: 'disjunction' }));
  const inUnit = (unit: string) =>
    once(() => new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }));
  const units = {
    second: inUnit('second'),
    minute: inUnit('minute'),
    hour: inUnit('hour'),
    day: inUnit('day'),
  };
  const times = (options: Intl.DateTimeFormatOptions) =>
    once(() => new Intl.DateTimeFormat(language, { timeZone: 'UTC', hourCycle: 'h23', ...options }));
  const date = times({ dateStyle: 'medium' });
  const dateTime = times({ dateStyle: 'medium', timeStyle: 'short' });
  const day = times({ month: 'short', day: 'numeric' });
  const time = times({ hour: '2-digit', minute: '2-digit' });

  return {
    /** `1,234`. */
    number: (value: number) => number().format(value),
    /** `41%` for a share from 0 to 1, with a decimal if that helps. */
    percent: (share: number) => percent().format(share),
    /** `1 picture`, `1,234 pictures`. */
    plural: (count: number, texts: Plural) =>
      (texts[rules().select(count)] ?? texts.other).replaceAll('#', number().format(count)),
    /** `5 minutes ago`; `just now` below a minute. */
    age(ms: number): string {
      if (ms < MINUTE_MS) return justNow;
      const [value, unit] = inUnits(ms);
      return ages().format(-value, unit);
    },
    /** `3 hours`, in the largest unit that fits at least once. */
    duration(ms: number): string {
      const [value, unit] = inUnits(ms);
      return units[unit]().format(value);
    },
    /** `Feb 1, 2026`. */
    date: (ms: number) => date().format(ms),
    /** `Feb 1, 2026, 08:05`. */
    dateTime: (ms: number) => dateTime().format(ms),
    /** `Feb 1`. */
    day: (ms: number) => day().format(ms),
    /** `08:05`. */
    time: (ms: number) => time().format(ms),
    /** `JPEG, PNG, or GIF`. */
    anyOf: (items: readonly string[]) => list().format(items),
    /** The name of a country by its two-letter code; `ZZ` has none. */
    country(code: string): string {
      try {
        return countries().of(code) ?? code;
      } catch {
        return code;
      }
    },
  };
}

function inUnits(ms: number): [value: number, unit: 'second' | 'minute' | 'hour' | 'day'] {
  if (ms < MINUTE_MS) return [Math.max(1, Math.ceil(ms / 1000)), 'second'];
  if (ms < HOUR_MS) return [Math.floor(ms / MINUTE_MS), 'minute'];
  if (ms < 2 * DAY_MS) return [Math.floor(ms / HOUR_MS), 'hour'];
  return [Math.floor(ms / DAY_MS), 'day'];
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Returns the word for a code from a record, or the code itself if there is none. */
export function wordFor(words: Readonly<Record<string, string>>, code: string): string {
  return words[code] ?? code;
}

/** The name of a picture format as people write it; `client/upload-card.js` writes it the same way. */
export function formatName(format: string): string {
  return format === 'webp' ? 'WebP' : format.toUpperCase();
}

import { createNetworkList } from './lib/address.ts';
import { EXPIRY_FORM, parseExpiry } from './lib/expiry.ts';
import { readFlag } from './lib/flag.ts';
import { parseRates, readRate, SIZES } from './lib/rates.ts';

/** A setting: text from the environment that decodes to a value of type `T`. */
export interface Setting<T> {
  description: string;
  /** The text that counts if none is given. */
  default?: string;
  /** All accepted texts, if they can be listed. */
  choices?: readonly string[];
  /** Throws a description of what is valid. */
  decode(text: string): T;
}

/** What may be given as the default. Without one, the setting may be missing. */
type Fallback = string | undefined;

function setting<T, F extends Fallback>(
  fallback: F,
  description: string,
  decode: (text: string) => T,
  choices?: readonly string[],
) {
  const made: Setting<T> = {
    description,
    decode,
    ...(fallback !== undefined && { default: fallback }),
    ...(choices && { choices }),
  };
  return made as F extends string ? Setting<T> & { default: string } : Setting<T>;
}

/** Any text, or text that matches `pattern`, which `form` describes in words. */
export function text<F extends Fallback>(fallback: F, description: string, pattern?: RegExp, form?: string) {
  return setting(fallback, description, (value) => {
    if (pattern && !pattern.test(value)) throw new Error(`must be ${form}`);
    return value;
  });
}

export function integer<F extends Fallback>(fallback: F, description: string, min: number, max: number) {
  return setting(fallback, description, (value) => {
    const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) {
      throw new Error(`must be an integer from ${min} to ${max}, not "${value}"`);
    }
    return number;
  });
}

export function flag(fallback: string, description: string) {
  return setting(fallback, description, (value) => {
    const decoded = readFlag(value);
    if (decoded === null) throw new Error(`must be true or false (or on, off), not "${value}"`);
    return decoded;
  });
}

const DURATIONS_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration in ms, written as a number and a unit: `500ms`, `30s`, `5m`, `1h`, `7d`. */
export function duration<F extends Fallback>(fallback: F, description: string, min: string, max = '36500d') {
  const parse = (value: string): number => {
    const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/i.exec(value) ?? [];
    return Number(amount) * (DURATIONS_MS[unit?.toLowerCase() ?? ''] ?? Number.NaN);
  };
  const [minMs, maxMs] = [parse(min), parse(max)];
  return setting(fallback, description, (value) => {
    const ms = parse(value);
    if (!(ms >= minMs && ms <= maxMs)) {
      throw new Error(`must be a duration from ${min} to ${max}, such as 30s, 5m, 1h or 7d, not "${value}"`);
    }
    return ms;
  });
}

/** A duration that a timer waits: a longer one than 24.8 days would end at once. */
export function timer<F extends Fallback>(fallback: F, description: string, min: string) {
  return duration(fallback, description, min, '24d');
}

/** A period: a duration, `always` or `off` (0). */
export function period(fallback: string, description: string) {
  const written = duration(undefined, description, '1s');
  return setting(fallback, description, (value) => {
    const word = value.toLowerCase();
    if (word === 'always') return Number.POSITIVE_INFINITY;
    if (word === 'off') return 0;
    try {
      return written.decode(value);
    } catch {
      throw new Error(`must be always, off, or a duration such as 30m, 1h or 7d, not "${value}"`);
    }
  });
}

/** A maximum expiry, written as by uploaders; infinite for `never`. */
export function expiry(fallback: string, description: string) {
  return setting(fallback, description, (value) => {
    const ms = parseExpiry(value);
    if (ms === null) throw new Error(`${EXPIRY_FORM}, not "${value}"`);
    return ms;
  });
}

/** A size in bytes, written as a number and a unit: `500KB`, `32MiB`, `1GiB`. */
export function bytes<F extends Fallback>(fallback: F, description: string, min: string) {
  const parse = (value: string): number => {
    const [, amount, prefix = 'b'] = /^(\d+(?:\.\d+)?)\s*(?:([kmg]i?)?b)?$/i.exec(value) ?? [];
    return Math.floor(Number(amount) * (SIZES[prefix.toLowerCase()] ?? Number.NaN));
  };
  const minBytes = parse(min);
  return setting(fallback, description, (value) => {
    const size = parse(value);
    if (!(size >= minBytes))
      throw new Error(`must be a size of at least ${min}, such as 32MiB, not "${value}"`);
    return size;
  });
}

/** A set of ports, or `null` for `any`. */
export function ports(fallback: string, description: string) {
  return setting(fallback, description, (value): ReadonlySet<number> | null => {
    if (value.trim().toLowerCase() === 'any') return null;
    const numbers = splitList(value).map(Number);
    if (!numbers.every((port) => Number.isInteger(port) && port >= 1 && port <= 65_535)) {
      throw new Error(`must be comma-separated ports such as 80,443, or any, not "${value}"`);
    }
    return new Set(numbers);
  });
}

/** Ports with the options of the user name that count on each: `8901=country-de`. */
export function portOptions(description: string) {
  return setting(undefined, description, (value) => {
    const found = splitList(value).map((item) => {
      const [, port = '', options = ''] = /^([1-9]\d{0,4})=(\S+)$/.exec(item) ?? [];
      if (options === '' || Number(port) > 65_535) {
        throw new Error(
          `must be ports with options such as 8901=country-de,8902=session-a, but has "${item}"`,
        );
      }
      return { port: Number(port), options };
    });
    if (found.length > MOST_PORTS) throw new Error(`must be at most ${MOST_PORTS} ports`);
    return found;
  });
}

export function choice<const T extends string, F extends T | undefined>(
  choices: readonly T[],
  fallback: F,
  description: string,
) {
  const decode = (value: string): T => {
    const found = choices.find((known) => known === value.toLowerCase());
    if (!found) throw new Error(`must be one of ${choices.join(', ')}, not "${value}"`);
    return found;
  };
  return setting(fallback, description, decode, choices);
}

/** A comma-separated choice of at least one. */
export function choices<const T extends string>(known: readonly T[], fallback: string, description: string) {
  return setting(fallback, description, (value) => chosenOf(known, value, ''));
}

/** All of them (`on`), none (`off`), or a comma-separated choice. */
export function someOf<const T extends string>(known: readonly T[], description: string) {
  return setting('on', description, (value): readonly T[] => {
    const isOn = readFlag(value);
    if (isOn === null) return chosenOf(known, value, 'on, off, or ');
    return isOn ? known : [];
  });
}

function chosenOf<T extends string>(known: readonly T[], value: string, orElse: string): T[] {
  const chosen = splitList(value.toLowerCase());
  const isKnown = (item: string) => (known as readonly string[]).includes(item);
  if (!chosen.every(isKnown))
    throw new Error(`must be ${orElse}a comma-separated list of ${known.join(', ')}, not "${value}"`);
  return known.filter((item) => chosen.includes(item));
}

/** A URL with one of the schemes. The error does not repeat its text, which may contain a password. */
export function url<F extends Fallback>(fallback: F, schemes: readonly string[], description: string) {
  return setting(fallback, description, (value) => {
    // Several hosts, as Redis has them, are not valid in a URL; the adapter checks them.
    const withOneHost = value.replace(/^([\w+]+:\/\/(?:[^/?#]*@|(?![^/?#]*@))[^/?#,@]*),[^/?#]*/, '$1');
    // The rest may come from a variable that is not set. Files would then end up wherever the server was started.
    const isWhole = /:\/*[^/]/.test(value) && URL.canParse(withOneHost);
    if (!isWhole || !schemes.some((scheme) => value.startsWith(scheme))) {
      throw new Error(`must be a whole URL that begins with ${schemes.join(' or ')}`);
    }
    return value.replace(/(?<!\/)\/+$/, '');
  });
}

/** Scheme, host and optional path: the beginning of links. */
export function baseUrl(description: string) {
  return setting(undefined, description, (value) => {
    const parsed = /^https?:\/\//i.test(value) && URL.canParse(value) ? new URL(value) : null;
    if (parsed === null || parsed.search || parsed.hash || parsed.username || parsed.pathname.includes(';')) {
      throw new Error('must be a URL such as https://img.example or https://example.org/pics');
    }
    return value.replace(/(?<!\/)\/+$/, '');
  });
}

const MOST_TARGETS = 20;
const MOST_PORTS = 1000;

/** A text that a page must (`~`) or must not (`!`) contain, in quotes if it has blanks, commas or these signs. */
const PAGE_TEXT = /([~!])(?:"([^"]{1,200})"|([^\s"~!,]{1,200}))/g;

/**
 * Named URLs with what is expected: statuses, and texts that the page contains or does not:
 * `search=https://www.example.com/#200|301~"Add to cart"!captcha`.
 */
export function targets(description: string) {
  return setting(undefined, description, (value) => {
    // Commas within quotes belong to a text.
    const items = value.match(/(?:[^,"]|"[^"]*")+/g) ?? [];
    const found = items
      .map((part) => part.trim())
      .filter(Boolean)
      .map((item) => {
        const [, name = '', url = '', statuses = '', texts = ''] =
          /^([a-z]\w{0,31})=(https?:\/\/[^\s#]+)(?:#([1-5]\d\d(?:\|[1-5]\d\d)*)?([~!].*)?)?$/is.exec(item) ??
          [];
        const said = [...texts.matchAll(PAGE_TEXT)];
        const isWhole = said.reduce((length, [text]) => length + text.length, 0) === texts.length;
        if (!isWhole || name === '' || !URL.canParse(url)) {
          throw new Error(
            `must be comma-separated names and URLs such as search=https://www.example.com/#200|301~"Add to cart"!captcha, but holds "${item}"`,
          );
        }
        const [contains, without] = ['~', '!'].map((sign) =>
          said.filter(([, one]) => one === sign).map(([, , quoted, bare]) => quoted ?? bare ?? ''),
        );
        return {
          name,
          url,
          statuses: statuses === '' ? [200] : statuses.split('|').map(Number),
          contains,
          without,
        };
      });
    if (found.length > MOST_TARGETS) throw new Error(`must be at most ${MOST_TARGETS} targets`);
    const names = new Set(found.map(({ name }) => name.toLowerCase()));
    if (names.size < found.length) throw new Error('must give each target a different name');
    return found;
  });
}

/** Comma-separated URLs of the schemes. `none`: what stands for an empty list. */
export function urls(schemes: readonly string[], description: string, none = '') {
  return setting(undefined, description, (value) => {
    const items = value.toLowerCase() === none ? [] : splitList(value);
    const isUrl = (item: string) => schemes.some((scheme) => item.startsWith(scheme)) && URL.canParse(item);
    if (items.every(isUrl)) return items;
    const orElse = none && `, or \`${none}\``;
    throw new Error(`must be comma-separated URLs that begin with ${schemes.join(' or ')}${orElse}`);
  });
}

/** Comma-separated origins such as `https://app.example`, or `*`. */
export function origins(description: string) {
  return setting(undefined, description, (value) =>
    splitList(value).map((item) => {
      if (item === '*') return item;
      if (!/^https?:\/\//.test(item) || !URL.canParse(item) || new URL(item).origin !== item.toLowerCase()) {
        throw new Error(`must be comma-separated origins such as https://app.example, or *, not "${value}"`);
      }
      return new URL(item).origin;
    }),
  );
}

/** Comma-separated host names, or `*`. */
export function hosts(description: string) {
  return setting(undefined, description, (value) =>
    splitList(value.toLowerCase()).map((item) => {
      if (
        item !== '*' &&
        (!URL.canParse(`http://${item}/`) || new URL(`http://${item}/`).hostname !== item)
      ) {
        throw new Error(`must be comma-separated host names without ports, or *, not "${value}"`);
      }
      return item;
    }),
  );
}

const NAMED_NETWORKS: Record<string, readonly string[]> = {
  loopback: ['127.0.0.0/8', '::1'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** Comma-separated addresses and networks; `loopback` and `private` name theirs. */
export function networks(description: string) {
  return setting(undefined, description, (value) => {
    const items = splitList(value).flatMap((item) => NAMED_NETWORKS[item.toLowerCase()] ?? [item]);
    createNetworkList(items);
    return items;
  });
}

/** Limits for each client; `null`: no limits. */
export function rates(fallback: string, description: string) {
  return setting(fallback, description, parseRates);
}

/** A number or size for a period: `60/1m`, `2GiB/1h`. */
export function rate(description: string) {
  return setting(undefined, description, (value) => {
    const bucket = readRate(value);
    if (bucket === null) throw new Error(`must be a count and a time, such as 60/1m, not "${value}"`);
    return bucket;
  });
}

/** Throws if nothing is left: variables that are not set leave only their commas behind. */
function splitList(value: string): string[] {
  const items = value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (items.length === 0) throw new Error(`must name at least one, not "${value}"`);
  return items;
}

/** A token that its holder sends as `Bearer`. */
export const bearerToken = (description: string) =>
  text(undefined, description, /^\S{16,}$/, '16 or more characters without spaces');

/** A key of signatures, also as Standard Webhooks writes it. */
export const signingSecret = (description: string) =>
  text(
    undefined,
    description,
    /^(whsec_[A-Za-z0-9+/]{32,86}={0,2}|(?!whsec_)\S{16,})$/,
    'whsec_ and 24 to 64 bytes in Base64, or 16 or more other characters without spaces',
  );

import { isFilterCode } from '../proxy/pool/country-code.ts';
import { ANONYMITIES, type Anonymity, countryMeant } from '../proxy/proxy.ts';
import { siteOf } from '../proxy/targets/site.ts';
import { badRequest } from './fault.ts';
import { ROTATIONS, type Rotation } from './lane.ts';

/** What a client asks of its upstreams, in its user name. */
export interface UserOptions {
  /** Any of these; two upper-case letters each. */
  countries?: readonly string[];
  /** None of these. */
  notCountries?: readonly string[];
  /** Names of lists in order: the next only if none of the first answers. */
  sources?: readonly ReadonlySet<string>[] | undefined;
  anonymity?: Anonymity;
  maxLatencyMs?: number;
  /** Default: `spread`. */
  rotation?: Rotation;
  /** Chooses by results for this site, whatever the target. */
  site?: string;
  /** Requests of one session use the same exit. */
  session?: string;
  /** How long a session lasts after its last use. */
  sessionMs: number;
  /** If the exit of the session dies, requests are refused instead of moving to another one. */
  sessionLock: boolean;
}

const DEFAULT_SESSION_MIN = 10;
const MOST_SESSION_MIN = 30;

/** What words in the user name stand for. */
export interface Names {
  /** Sites by the names that the operator has configured, in lower case. */
  sites: ReadonlyMap<string, string>;
  /** Names of lists; see `sourcesByWord`. */
  sources: ReadonlyMap<string, ReadonlySet<string>>;
}

interface Reader {
  /** Describes valid values. */
  form: string;
  /** Sets the option. Returns false for an invalid value. */
  read(value: string, options: UserOptions, names: Names): boolean;
}

const MOST_SOURCES = 8;
/** In characters. */
const LONGEST_SOURCES = 256;

/** `parse`: returns `undefined` for an invalid value. */
function option<K extends keyof UserOptions>(
  field: K,
  form: string,
  parse: (value: string, names: Names) => UserOptions[K] | undefined,
): Reader {
  return {
    form,
    read(value, options, names) {
      const parsed = parse(value, names);
      if (parsed !== undefined) options[field] = parsed;
      return parsed !== undefined;
    },
  };
}

function oneOf<K extends 'anonymity' | 'rotation'>(field: K, all: readonly NonNullable<UserOptions[K]>[]) {
  const find = (value: string) => all.find((known) => known === value.toLowerCase());
  return option(field, `one of ${all.join(', ')}`, find);
}

const COUNTRY_FORM = 'the two-letter code of a country, or several with dots between them';
const readCountries = (value: string) => {
  const codes = [...new Set(value.split('.').map(countryMeant))];
  return codes.every(isFilterCode) ? codes : undefined;
};

const READERS: Record<string, Reader> = {
  country: option('countries', COUNTRY_FORM, readCountries),
  not: option('notCountries', COUNTRY_FORM, readCountries),
  source: option('sources', 'the names of lists, with dots between them', readSources),
  anonymity: oneOf('anonymity', ANONYMITIES),
  max_latency: option('maxLatencyMs', 'milliseconds', (value) =>
    /^[1-9]\d{0,5}$/.test(value) ? Number(value) : undefined,
  ),
  rotate: oneOf('rotation', ROTATIONS),
  session: option('session', '1 to 64 letters, digits and underscores', (value) =>
    /^\w{1,64}$/.test(value) ? value : undefined,
  ),
  target: option('site', 'a domain, or the name of one of the PROXY_TARGETS', (value, { sites }) => {
    const text = value.toLowerCase();
    return sites.get(text) ?? (/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(text) ? siteOf(text) : undefined);
  }),
  sesstime: option('sessionMs', `minutes from 1 to ${MOST_SESSION_MIN}`, (value) =>
    /^\d{1,2}$/.test(value) && Number(value) >= 1 && Number(value) <= MOST_SESSION_MIN
      ? Number(value) * 60_000
      : undefined,
  ),
};

/** Domains and names of lists may themselves contain hyphens. */
const HYPHENATED = new Set(['target', 'source']);

function isOption(word: string): boolean {
  const name = word.toLowerCase();
  return name === 'sesslock' || Object.hasOwn(READERS, name);
}

/** Splits names of lists, which may contain dots: of two that fit, the longer one counts. */
function readSources(value: string, { sources: known }: Names): ReadonlySet<string>[] | undefined {
  const found: ReadonlySet<string>[] = [];
  if (value.length > LONGEST_SOURCES) return undefined;
  for (let parts = value.toLowerCase().split('.'); parts.length > 0; ) {
    let count = parts.length;
    while (count > 0 && !known.has(parts.slice(0, count).join('.'))) count--;
    const names = known.get(parts.slice(0, count).join('.'));
    if (!names || found.length === MOST_SOURCES) return undefined;
    found.push(names);
    parts = parts.slice(count);
  }
  return found;
}

/**
 * Parses the options in `user-country-de-session-abc-sesslock`; the name in front may be missing. `fixed`: those that take precedence.
 * @throws {GatewayFault} `bad_request` for an unknown option or an invalid value.
 */
export function readUser(text: string, names: Names, fixed?: string): UserOptions {
  const options: UserOptions = { sessionMs: DEFAULT_SESSION_MIN * 60_000, sessionLock: false };
  const words = text.split('-');
  const isBare = words.length > 1 && isOption(words[0] ?? '');
  readWords(isBare ? words : words.slice(1), options, names);
  // Apart from the client's, whose last option would take the first of these as its value.
  if (fixed) readWords(fixed.split('-'), options, names);
  const { countries, notCountries = [] } = options;
  // Waiting for a pool that is being filled would be in vain.
  if (countries?.every((country) => notCountries.includes(country)))
    throw badRequest('country and not in the user name exclude each other.');
  return options;
}

function readWords(words: readonly string[], options: UserOptions, names: Names): void {
  for (let at = 0; at < words.length; at++) {
    const word = (words[at] ?? '').toLowerCase();
    if (word === 'sesslock') {
      options.sessionLock = true;
      continue;
    }
    const reader = Object.hasOwn(READERS, word) ? READERS[word] : undefined;
    if (!reader) {
      const known = [...Object.keys(READERS), 'sesslock'].join(', ');
      throw badRequest(`"${word}" is not an option in the user name; the options are ${known}.`);
    }
    let value = words[++at] ?? '';
    while (HYPHENATED.has(word) && at + 1 < words.length && !isOption(words[at + 1] ?? ''))
      value += `-${words[++at]}`;
    if (!reader.read(value, options, names)) {
      throw badRequest(`${word} in the user name must be ${reader.form}.`);
    }
  }
}

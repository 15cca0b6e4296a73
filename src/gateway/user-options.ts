import { ANONYMITIES, type Anonymity } from '../proxy/proxy.ts';
import { siteOf } from '../proxy/targets/site.ts';
import { badRequest } from './fault.ts';
import { ROTATIONS, type Rotation } from './lane.ts';

/** What a client asks of its upstreams, in its user name. */
export interface UserOptions {
  /** Two upper-case letters. */
  country?: string;
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

/** Sites by the names that the operator has configured, in lower case. */
export type NamedSites = ReadonlyMap<string, string>;

interface Reader {
  /** Describes valid values. */
  form: string;
  /** Sets the option. Returns false for an invalid value. */
  read(value: string, options: UserOptions, named: NamedSites): boolean;
}

const READERS: Record<string, Reader> = {
  country: {
    form: 'two letters',
    read: (value, options) => {
      options.country = value.toUpperCase();
      return /^[a-z]{2}$/i.test(value);
    },
  },
  anonymity: {
    form: `one of ${ANONYMITIES.join(', ')}`,
    read: (value, options) => {
      const found = ANONYMITIES.find((known) => known === value.toLowerCase());
      if (found) options.anonymity = found;
      return found !== undefined;
    },
  },
  max_latency: {
    form: 'milliseconds',
    read: (value, options) => {
      options.maxLatencyMs = Number(value);
      return /^\d{1,6}$/.test(value);
    },
  },
  rotate: {
    form: `one of ${ROTATIONS.join(', ')}`,
    read: (value, options) => {
      const found = ROTATIONS.find((known) => known === value.toLowerCase());
      if (found) options.rotation = found;
      return found !== undefined;
    },
  },
  session: {
    form: '1 to 64 letters, digits and underscores',
    read: (value, options) => {
      options.session = value;
      return /^\w{1,64}$/.test(value);
    },
  },
  target: {
    form: 'a domain, or the name of one of the PROXY_TARGETS',
    read: (value, options, named) => {
      const text = value.toLowerCase();
      options.site = named.get(text) ?? siteOf(text);
      return named.has(text) || /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(text);
    },
  },
  sesstime: {
    form: `minutes from 1 to ${MOST_SESSION_MIN}`,
    read: (value, options) => {
      options.sessionMs = Number(value) * 60_000;
      return /^\d{1,2}$/.test(value) && Number(value) >= 1 && Number(value) <= MOST_SESSION_MIN;
    },
  },
};

/** Names of the same options in other services. */
const ALIASES: Record<string, string> = { cc: 'country', sessid: 'session' };

function isOption(word: string): boolean {
  const name = word.toLowerCase();
  return name === 'sesslock' || Object.hasOwn(ALIASES, name) || Object.hasOwn(READERS, name);
}

/**
 * Parses `user-country-de-session-abc-sesslock`: the name, followed by options. A target is one of `named`, or a
 * domain.
 * @throws {GatewayFault} `bad_request` for an unknown option or an invalid value.
 */
export function readUser(text: string, named: NamedSites): { user: string; options: UserOptions } {
  const [user = '', ...words] = text.split('-');
  const options: UserOptions = { sessionMs: DEFAULT_SESSION_MIN * 60_000, sessionLock: false };
  for (let at = 0; at < words.length; at++) {
    const word = (words[at] ?? '').toLowerCase();
    if (word === 'sesslock') {
      options.sessionLock = true;
      continue;
    }
    const name = ALIASES[word] ?? word;
    const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
    if (!reader) {
      const known = [...Object.keys(READERS), 'sesslock'].join(', ');
      throw badRequest(`"${word}" is not an option in the user name; the options are ${known}.`);
    }
    let value = words[++at] ?? '';
    // A domain may itself contain hyphens.
    while (name === 'target' && at + 1 < words.length && !isOption(words[at + 1] ?? ''))
      value += `-${words[++at]}`;
    if (!reader.read(value, options, named)) {
      throw badRequest(`${word} in the user name must be ${reader.form}.`);
    }
  }
  return { user, options };
}

import { PROTOCOLS, type Protocol } from '../proxy.ts';

/**
 * Format of a list. `lines`: one `ip:port` or `scheme://ip:port` a line, with anything after it; `csv`:
 * cells, with or without a header; `json`: an array of objects or strings, bare or inside an object, or one
 * object a line; `html`: a page with a table or lines in it.
 */
export const SOURCE_FORMATS = ['lines', 'csv', 'json', 'html'] as const;
export type SourceFormat = (typeof SOURCE_FORMATS)[number];

/** Parses a list in chunks, cut anywhere. Never throws, and buffers at most about a million characters. */
export interface Parser {
  push(text: string): void;
  /** Ends the list: parses what is still buffered. */
  end(): void;
}

/** One list of proxies. */
export interface Source {
  /** Unique; shown as the `source` of the proxies that it named first. */
  name: string;
  /** `http:`, `https:` or `file:`. */
  url: string;
  /** Used if the beginning of the list does not show its format. */
  format: SourceFormat;
  /** The protocol of entries that do not name one; `null`: try each. */
  protocol: Protocol | null;
  /**
   * True for the operator's own list, from which entries with a login are accepted. A login in a public list
   * may be someone's secret.
   */
  logins?: boolean;
}

/** Returns the host that serves a list, or an empty string for a file. */
export function hostOf({ url }: Pick<Source, 'url'>): string {
  return new URL(url).host;
}

/** The error of a list that was read to its end. */
export const NOTHING_USABLE = 'nothing usable in it';

/** The result of reading a list. */
export interface SourceReport {
  /** Usable entries, duplicates included. */
  found: number;
  /** Upstreams for the gateway alone, which no public count includes. Default: 0. */
  paid?: number;
  /** Entries that could not be read or must not be dialled. */
  rejected: number;
  /** Size of the list in bytes, after decompression. */
  bytes: number;
  /** What went wrong, in words for the operator. Entries read before that still count. */
  error: string | null;
  /** False if there was no answer, or a refusal: the fault may be ours. */
  reached: boolean;
}

const SCHEMES: ReadonlyMap<string, Protocol> = new Map([
  ...PROTOCOLS.map((protocol) => [protocol, protocol] as const),
  ['socks4a', 'socks4'],
  ['socks5h', 'socks5'],
]);

/**
 * Returns the protocol that a list means by a word such as `HTTP` or `socks5h`, or `undefined` for any other word.
 */
export function protocolNamed(word: string): Protocol | undefined {
  // Called for nearly every cell of every list. Words that begin with neither h nor s need no lookup.
  const first = word.charCodeAt(0) | 32;
  if (first !== 104 && first !== 115) return undefined;
  return SCHEMES.get(word) ?? SCHEMES.get(word.toLowerCase());
}

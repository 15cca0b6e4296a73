import { PROTOCOLS, type Protocol } from '../proxy.ts';

/**
 * How a list is written. `lines`: one `ip:port` or `scheme://ip:port` a line, whatever follows it; `csv`: cells, with
 * or without a header; `json`: an array of objects or of text, bare or inside an object, or one object a line;
 * `html`: a page with a table or with lines in it.
 */
export const SOURCE_FORMATS = ['lines', 'csv', 'json', 'html'] as const;
export type SourceFormat = (typeof SOURCE_FORMATS)[number];

/** One list of proxies. */
export interface Source {
  /** Unique; shown as the `source` of the proxies that it named first. */
  name: string;
  /** `http:`, `https:` or `file:`. */
  url: string;
  /** What the list is taken for where its beginning does not show how it is written. */
  format: SourceFormat;
  /** What an entry is that does not say it itself; `null`: such entries are tried as each. */
  protocol: Protocol | null;
  /** It is the operator's own, so that entries with a login are taken; what strangers publish may be someone's secret. */
  logins?: boolean;
}

/** The host that is asked for a list; empty for a file. */
export function hostOf({ url }: Pick<Source, 'url'>): string {
  return new URL(url).host;
}

/** What one reading of a list gave. */
export interface SourceReport {
  /** Usable entries, duplicates included. */
  found: number;
  /** Entries that were none, or that may not be dialled. */
  rejected: number;
  /** Size of the list in bytes, after inflating. */
  bytes: number;
  /** What went wrong, in words for the operator; what was read before it still counts. */
  error: string | null;
  /** False if there was no answer, or a refusal: the fault may be on our side. */
  reached: boolean;
}

const SCHEMES: ReadonlyMap<string, Protocol> = new Map([
  ...PROTOCOLS.map((protocol) => [protocol, protocol] as const),
  ['socks4a', 'socks4'],
  ['socks5h', 'socks5'],
]);

/** The protocol that a list means by a word such as `HTTP` or `socks5h`; `undefined` for any other word. */
export function protocolNamed(word: string): Protocol | undefined {
  // Nearly every cell of every list is asked about; those that begin with neither h nor s need no look-up.
  const first = word.charCodeAt(0) | 32;
  if (first !== 104 && first !== 115) return undefined;
  return SCHEMES.get(word) ?? SCHEMES.get(word.toLowerCase());
}

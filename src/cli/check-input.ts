import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import process from 'node:process';
import type { Config } from '../config.ts';
import { choice, text, urls } from '../config-values.ts';
import { canonicalAddress, isGloballyRoutable, isHostName, unbracketed } from '../lib/address.ts';
import { countOf } from '../lib/format.ts';
import { createTextDecoder } from '../lib/text-pieces.ts';
import { createSeen, keyOf } from '../proxy/discovery/key.ts';
import { type Dialled, PROTOCOLS, type Protocol } from '../proxy/proxy.ts';
import type { OnCandidate, PaidEntry } from '../proxy/sources/candidate-sink.ts';
import { createParser } from '../proxy/sources/parser.ts';
import { protocolNamed, SOURCE_FORMATS, type SourceFormat } from '../proxy/sources/source.ts';
import { CommandError, usageError } from './exit.ts';
import { flag, type Given, value, valueOr, values } from './options.ts';

/** Number of bytes parsed at a time; they name some 3,000 proxies, which are held in memory. */
const PIECE = 65_536;
/** Number of endpoints remembered, so that none is tested twice: 40 MB. Beyond it, an endless list starts over. */
const MOST_SEEN = 1_000_000;

export interface InputOptions {
  /** Empty, or `-`: standard input. */
  paths: readonly string[];
  format: SourceFormat;
  /** The protocols of entries that do not name one: each is tried; none stands for `http`. */
  protocols: readonly Protocol[];
  allowPrivate: boolean;
  /** Told of each line that is not an entry, in a sentence. Default: nothing. */
  onReject?: ((sentence: string) => void) | undefined;
}

/** @throws {CommandError} if there is nothing to read. */
export async function openCandidates(options: InputOptions) {
  const { paths, format, allowPrivate, onReject } = options;
  const protocols: readonly Protocol[] = options.protocols.length > 0 ? options.protocols : ['http'];
  const names = paths.length > 0 ? paths : ['-'];
  if (names.includes('-') && process.stdin.isTTY) {
    throw usageError('Name a file, or pipe a list into standard input.');
  }
  const counts = { rejected: 0, repeated: 0 };
  let seen = createSeen();
  let found = 0;
  let bytesRead = 0;
  const sizes = await Promise.all(names.map((name) => (name === '-' ? null : sizeOf(name))));
  const bytesInAll = sizes.reduce((sum, size) => (sum === null || size === null ? null : sum + size), 0);
  let ended = false;
  const waiting: Dialled[] = [];

  function openParsers(name: string) {
    function onPaid({ kind, ip, port, login = null, tls = null }: Omit<PaidEntry, 'country'>): void {
      // Each parser has a protocol, so no entry is without one.
      const protocol = kind === 'any' ? 'http' : kind;
      if (seen.size >= MOST_SEEN) seen = createSeen();
      // One address may have several logins, with different exits.
      const place = [ip, tls && 'tls', login].filter(Boolean).join(' ');
      if (!seen.add(keyOf(protocol, place, port))) counts.repeated++;
      else waiting.push({ protocol, ip, port, login, tls });
    }
    const onCandidate: OnCandidate = (kind, ip, port, _country, login) => onPaid({ kind, ip, port, login });
    return protocols.map((protocol, index) =>
      createParser(format, {
        protocol,
        allowPrivate,
        logins: true,
        onCandidate,
        onPaid,
        // All read the same lines.
        onReject: index > 0 ? undefined : (line, text) => onReject?.(`${name}:${line}: ${whyNot(text)}`),
      }),
    );
  }

  function* drain(): Generator<Dialled> {
    for (const endpoint of waiting) {
      found++;
      yield endpoint;
    }
    waiting.length = 0;
  }

  async function* candidates(): AsyncGenerator<Dialled> {
    for (const name of names) {
      const parsers = openParsers(name === '-' ? 'standard input' : name);
      const decode = createTextDecoder();
      for await (const piece of read(name)) {
        bytesRead += piece.length;
        const text = decode(piece);
        for (const parser of parsers) parser.push(text);
        yield* drain();
      }
      for (const parser of parsers) parser.end();
      yield* drain();
      counts.rejected += parsers[0]?.tally.rejected ?? 0;
    }
    ended = true;
  }

  return {
    /** Yields each endpoint once, reading the lists on demand. Rejects with `CommandError` if a list cannot be read. */
    candidates,
    /** Returns what was not taken so far, for a summary. */
    leftOut(): string[] {
      const { rejected, repeated } = counts;
      return [
        rejected > 0 && countOf(rejected, 'entry is not a proxy', 'entries are not proxies'),
        repeated > 0 && countOf(repeated, 'duplicate'),
      ].filter((part) => part !== false);
    },
    /** Returns how many there are, as far as is known. */
    size(): { total?: number; estimated?: boolean } {
      if (ended) return { total: found };
      if (bytesInAll === null || bytesRead === 0) return {};
      const total = Math.round(((found + waiting.length) * Math.max(bytesInAll, bytesRead)) / bytesRead);
      return { total: Math.max(total, found), estimated: true };
    },
  };
}

/** Returns the size of a file, or `null` for a pipe. */
async function sizeOf(path: string): Promise<number | null> {
  const facts = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw usageError(error.code === 'ENOENT' ? `There is no file ${path}.` : `${path}: ${error.code}.`);
  });
  if (facts.isDirectory()) throw usageError(`${path} is a folder, not a list.`);
  return facts.isFile() ? facts.size : null;
}

async function* read(name: string): AsyncGenerator<Uint8Array> {
  const stream: AsyncIterable<Uint8Array> = name === '-' ? process.stdin : createReadStream(name);
  try {
    for await (const chunk of stream) {
      for (let start = 0; start < chunk.length; start += PIECE) yield chunk.subarray(start, start + PIECE);
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error;
    throw new CommandError(`${name === '-' ? 'Standard input' : name} cannot be read (${code}).`);
  }
}

/** Characters of a line that are repeated. */
const MOST_SHOWN = 60;

/** Returns why a line of a list is not an entry, without what may be a password or would steer a terminal. */
function whyNot(line: string): string {
  const [before, ...after] = line
    .replace(/["'\s]/g, ' ')
    .replace(/[^ -~]/g, '?')
    .trim()
    .split('://');
  const [scheme, rest] = after.length > 0 ? [before, after.join('://')] : [undefined, before ?? ''];
  if (scheme !== undefined && scheme.toLowerCase() !== 'tls' && !protocolNamed(scheme)) {
    const named =
      /^[a-z0-9+.-]+$/i.test(scheme) && scheme.length <= MOST_SHOWN ? `${scheme}://` : 'what precedes ://';
    return `${named} is not a protocol of proxies`;
  }
  const place = rest.slice(rest.lastIndexOf('@') + 1);
  const [, host = '', port] = /^(\[[^\]]*\]|[^ :]*)(?:[ :](\d+))?/.exec(place) ?? [];
  const shown = host.slice(0, MOST_SHOWN);
  if (port === undefined) return `${shown === '' ? 'it' : shown} has no port`;
  if (Number(port) < 1 || Number(port) > 65_535) return `${port} is not a port`;
  const address = canonicalAddress(unbracketed(host));
  if (address !== null && !isGloballyRoutable(address)) return `${shown} is not a public address`;
  if (address === null && !isHostName(host.toLowerCase())) return `${shown} is neither an address nor a name`;
  return 'what follows the port cannot be read, or the login cannot be sent';
}

/** The options of commands that read lists and connect to their proxies. */
export const listOptions = {
  protocol: values(
    'NAME',
    choice(PROTOCOLS, undefined, `Protocol of entries that do not name one: ${PROTOCOLS.join(', ')}. [http]`),
  ),
  input: valueOr(
    'FORM',
    choice(
      SOURCE_FORMATS,
      'lines',
      `Format of the lists, if their beginning does not show it: ${SOURCE_FORMATS.join(', ')}.`,
    ),
  ),
  'judge-ca': value(
    'FILE',
    text(undefined, 'PEM of the authority of TLS judges and of TLS proxies. [PROXY_JUDGE_CA]'),
  ),
  'allow-private': flag('Allows private and loopback addresses. [PROXY_ALLOW_PRIVATE]'),
};

/** The options of commands that check the proxies of lists. */
export const checkOptions = {
  ...listOptions,
  judge: values(
    'URL',
    urls(['http:', 'https:'], 'Page that is fetched through each proxy to test it. [PROXY_JUDGES]'),
  ),
};

/** Returns the settings with those that the options replace. */
export function withCheckOptions(config: Config, options: Given<typeof checkOptions>): Config {
  const judges = options.judge.flat();
  const ca = options['judge-ca'];
  return {
    ...config,
    ...(judges.length > 0 && { PROXY_JUDGES: judges }),
    ...(ca !== undefined && { PROXY_JUDGE_CA: ca }),
    PROXY_ALLOW_PRIVATE: options['allow-private'] || config.PROXY_ALLOW_PRIVATE,
  };
}

import { formatAddress, type Protocol } from '../../../src/proxy/proxy.ts';
import type { EntryRules } from '../../../src/proxy/sources/endpoint.ts';
import { createParser } from '../../../src/proxy/sources/parser.ts';
import type { SourceFormat } from '../../../src/proxy/sources/source.ts';

/**
 * Parses a whole list, in pieces of a few sizes, and demands the same result of each. Entries are written as
 * `socks5://203.0.113.9:1080 DE`.
 */
export function parse(
  format: SourceFormat,
  list: string,
  protocol: Protocol | null = null,
  allowPrivate = false,
  logins = false,
) {
  const results = [list.length, 65_536, 7, 1]
    .filter((size) => list.length / size < 100_000)
    .map((size) => parseInPieces(format, list, size, protocol, { allowPrivate, logins }));
  const [first, ...others] = results;
  if (!first) throw new Error('an empty list has no pieces');
  for (const other of others) {
    if (JSON.stringify(other) === JSON.stringify(first)) continue;
    throw new Error(`the pieces matter: ${JSON.stringify(first)} became ${JSON.stringify(other)}`);
  }
  return first;
}

function parseInPieces(
  format: SourceFormat,
  list: string,
  size: number,
  protocol: Protocol | null,
  rules: EntryRules,
) {
  const taken: string[] = [];
  const parser = createParser(format, {
    protocol,
    ...rules,
    onCandidate: (said, ip, port, country, login) => {
      const place = `${login === null ? '' : `${login}@`}${formatAddress({ ip, port })}`;
      taken.push(`${said}://${place}${country ? ` ${country}` : ''}`);
    },
    onPaid: ({ kind, ip, port, login, tls, country }) => {
      const place = `${login ? `${login}@` : ''}${formatAddress({ ip, port })}`;
      taken.push(`paid ${tls ? `tls to ${tls}, ` : ''}${kind}://${place}${country ? ` ${country}` : ''}`);
    },
  });
  for (let start = 0; start < list.length; start += size) parser.push(list.slice(start, start + size));
  parser.end();
  return { taken, ...parser.tally };
}

import { formatAddress, type Protocol } from '../../src/proxy/proxy.ts';
import { createParser } from '../../src/proxy/sources/parser.ts';
import type { SourceFormat } from '../../src/proxy/sources/source.ts';

/**
 * Parses a whole list, in pieces of a few sizes, and demands the same result of each. Entries are written as
 * `socks5://203.0.113.9:1080 DE`.
 */
export function parse(
  format: SourceFormat,
  list: string,
  protocol: Protocol | null = null,
  allowPrivate = false,
) {
  const results = [list.length, 65_536, 7, 1]
    .filter((size) => list.length / size < 100_000)
    .map((size) => parseInPieces(format, list, size, protocol, allowPrivate));
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
  allowPrivate: boolean,
) {
  const taken: string[] = [];
  const parser = createParser(format, {
    protocol,
    allowPrivate,
    onCandidate: (said, ip, port, country) => {
      taken.push(`${said}://${formatAddress({ ip, port })}${country ? ` ${country}` : ''}`);
    },
  });
  for (let start = 0; start < list.length; start += size) parser.push(list.slice(start, start + size));
  parser.end();
  return { taken, ...parser.tally };
}

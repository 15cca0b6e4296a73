import { framingOf, type HeadReader, headReader, listOf } from '../lib/http-message.ts';
import { readOpening } from './tls.ts';

/** Methods whose requests may be sent to several proxies. */
const METHOD = /^(GET|HEAD) /;

/** The first data of a client in a tunnel, as far as it may be sent to several proxies. */
export type TunnelOpening =
  /** A whole ClientHello without early data. */
  | { kind: 'hello'; bytes: number }
  /** The whole head of a request that may be sent twice. */
  | { kind: 'request'; bytes: number; method: string }
  /** The beginning of one of these. */
  | { kind: 'partial' }
  | { kind: 'other' };

/** Returns a function that examines the first bytes of a client, to be called with all of them whenever more arrive. */
export function openingReader(): (bytes: Buffer) => TunnelOpening {
  const readHead = headReader();
  return (bytes) => {
    const method = METHOD.exec(bytes.toString('latin1', 0, 5))?.[1];
    if (method !== undefined) return readRequestOpening(bytes, method, readHead);
    const opening = readOpening(bytes);
    if (opening.kind !== 'hello') return opening;
    return opening.earlyData ? { kind: 'other' } : { kind: 'hello', bytes: opening.bytes };
  };
}

function readRequestOpening(bytes: Buffer, method: string, readHead: HeadReader): TunnelOpening {
  try {
    const head = readHead(bytes);
    if (head === undefined) return { kind: 'partial' };
    const repeatable = framingOf(head, 'none') === 'none' && listOf(head, 'upgrade').length === 0;
    return repeatable ? { kind: 'request', bytes: head.bytes, method } : { kind: 'other' };
  } catch {
    // Unknown data may be another protocol, and is forwarded unchanged.
    return { kind: 'other' };
  }
}

import {
  type AnswerHead,
  answerHeadReader,
  bodyEnd,
  type Framing,
  framingOf,
  type Head,
  listOf,
} from '../../lib/http-message.ts';
import { CheckFault } from './fault.ts';
import { Inbox, type Reader } from './inbox.ts';

/** Maximum size in bytes of a status line and its headers. Browsers and servers use limits around 8 KB. */
const MAX_HEAD_BYTES = 8 * 1024;

/** Our judge's answers are about 1 KB. Anything longer was tampered with. */
const MAX_ANSWER_BYTES = 16 * 1024;

/** Chunks of a few bytes each, with their sizes and extensions, are this many times as long as what they contain. */
const MOST_FRAMING = 16;

/** Maximum `Retry-After` that is accepted. */
const MAX_RETRY_AFTER_S = 3600;

export interface HttpAnswer {
  status: number;
  /** Empty unless the status is 200. */
  body: string;
  /** How long the other side asks us to wait. */
  retryAfterMs: number | null;
}

/** A range of a file. */
export interface FileRange {
  bytes: Buffer;
  /** Size of the whole file. */
  size: number;
}

/**
 * Reads a head of up to 8 KB, and then what `begin` returns the reader of. Throws `auth_required` for 407, and what `begin` throws.
 */
export function messageReader<T>(begin: (head: AnswerHead) => Reader<T>): Reader<T> {
  const readHead = answerHeadReader(MAX_HEAD_BYTES, 'skip');
  let read: Reader<T> | undefined;
  return (inbox) => {
    if (read === undefined) {
      const head = readHead(inbox.view());
      if (head === undefined) return undefined;
      inbox.take(head.bytes);
      if (head.status === 407) throw new CheckFault('auth_required', 'wants credentials');
      read = begin(head);
    }
    return read(inbox);
  };
}

/**
 * Reads one HTTP answer, without redirects or decompression, and the body only of a 200. Throws `protocol_error` for
 * malformed framing, `bad_answer` for an encoded body or one over 16 KB, and `auth_required` for 407.
 */
export function answerReader(): Reader<HttpAnswer> {
  return messageReader((head) => {
    const { status } = head;
    if (status !== 200) return () => ({ status, body: '', retryAfterMs: retryAfter(head) });
    const answerOf = (body: Buffer) => ({ status, body: body.toString('utf8'), retryAfterMs: null });
    return bodyReader(head, MAX_ANSWER_BYTES, answerOf);
  });
}

/**
 * Reads an answer, and up to `maxBytes` of its body as text. A body that is encoded although `identity` was requested is
 * empty. Throws `auth_required` for 407.
 */
export function openingReader(maxBytes: number): Reader<{ status: number; body: string }> {
  return messageReader((head) => {
    const { status } = head;
    const hasText =
      maxBytes > 0 && status !== 204 && status !== 304 && listOf(head, 'content-encoding').length === 0;
    const read = gatherer(hasText ? framingOf(head, 'until close') : 'none', maxBytes);
    return (inbox) => {
      const { body, end, isPadded } = read(inbox);
      if (!end.done && body.size < maxBytes && !isPadded && !inbox.ended) return undefined;
      return { status, body: body.view().toString('utf8', 0, Math.min(maxBytes, body.size)) };
    };
  });
}

/** Reads the answer to a range request. Throws `bad_answer` if the range does not start at `from`. */
export function rangeReader(from: number, maxBytes: number): Reader<FileRange> {
  return messageReader((head) => {
    const [place = ''] = listOf(head, 'content-range');
    const range = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15})$/.exec(place);
    if (head.status !== 206 || Number(range?.[1]) !== from) {
      throw new CheckFault('bad_answer', `answered with status ${head.status}, not the part of the file`);
    }
    return bodyReader(head, maxBytes, (bytes) => ({ bytes, size: Number(range?.[2]) }));
  });
}

function retryAfter(head: Head): number | null {
  const [text = ''] = listOf(head, 'retry-after');
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), MAX_RETRY_AFTER_S) * 1000 : null;
}

/** Gathers a body. `isPadded`: more has come than the framing of `max` bytes can take. */
function gatherer(framing: Framing, max: number) {
  /** One buffer: a view of each of many tiny chunks would take a hundred times as much. */
  const body = new Inbox();
  const end = bodyEnd(framing, (part) => body.add(part));
  let received = 0;
  return (inbox: Inbox) => {
    received += inbox.take(end.take(inbox.view()))?.length ?? 0;
    return { body, end, isPadded: received > max * MOST_FRAMING };
  };
}

function bodyReader<T>(head: Head, max: number, answerOf: (body: Buffer) => T): Reader<T> {
  const [encoding = 'identity'] = listOf(head, 'content-encoding');
  if (encoding !== 'identity') throw new CheckFault('bad_answer', 'an encoded body that was not requested');
  const framing = framingOf(head, 'until close');
  const read = gatherer(framing, max);
  return (inbox) => {
    const { body, end, isPadded } = read(inbox);
    const announced = framing === 'until close' ? 0 : end.left;
    if (body.size + announced > max || isPadded) throw new CheckFault('bad_answer', 'too long an answer');
    return end.done || (framing === 'until close' && inbox.ended) ? answerOf(body.remainder()) : undefined;
  };
}

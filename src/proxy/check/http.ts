import {
  type AnswerHead,
  answerHeadReader,
  type BodyEnd,
  bodyEnd,
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

/** Reads the head of one HTTP answer of up to 8 KB. */
export function headReader(): Reader<AnswerHead> {
  const read = answerHeadReader(MAX_HEAD_BYTES, 'skip');
  return (inbox) => {
    const head = read(inbox.view());
    if (head !== undefined) inbox.take(head.bytes);
    return head;
  };
}

/**
 * Reads a head, and then what `begin` returns the reader of. Throws `auth_required` for 407, and what `begin` throws.
 */
export function messageReader<T>(begin: (head: AnswerHead) => Reader<T>): Reader<T> {
  const readHead = headReader();
  let read: Reader<T> | undefined;
  return (inbox) => {
    if (read === undefined) {
      const head = readHead(inbox);
      if (head === undefined) return undefined;
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
 * Reads an answer of any status, and up to `maxBytes` of its body as text. A body that is encoded although `identity` was
 * requested is empty.
 */
export function openingReader(maxBytes: number): Reader<{ status: number; body: string }> {
  const readHead = headReader();
  /** One buffer: a view of each of many tiny chunks would take a hundred times as much. */
  const body = new Inbox();
  let status: number | undefined;
  let end: BodyEnd | undefined;
  let received = 0;
  return (inbox) => {
    if (status === undefined) {
      const head = readHead(inbox);
      if (head === undefined) return undefined;
      status = head.status;
      const hasText =
        maxBytes > 0 && status !== 204 && status !== 304 && listOf(head, 'content-encoding').length === 0;
      const framing = hasText ? framingOf(head, 'until close') : 'none';
      end = bodyEnd(framing, (part) => body.add(part));
    }
    received += inbox.take(end?.take(inbox.view()) ?? 0)?.length ?? 0;
    const isEnough = body.size >= maxBytes || received > maxBytes * MOST_FRAMING;
    if (!end?.done && !isEnough && !inbox.ended) return undefined;
    return { status, body: body.view().toString('utf8', 0, Math.min(maxBytes, body.size)) };
  };
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

function bodyReader<T>(head: Head, max: number, answerOf: (body: Buffer) => T): Reader<T> {
  const [encoding = 'identity'] = listOf(head, 'content-encoding');
  if (encoding !== 'identity') throw new CheckFault('bad_answer', 'an encoded body that was not requested');
  const framing = framingOf(head, 'until close');
  const body = new Inbox();
  const end = bodyEnd(framing, (part) => body.add(part));
  const announced = () => (framing === 'until close' ? 0 : end.left);
  let received = 0;
  return (inbox) => {
    received += inbox.take(end.take(inbox.view()))?.length ?? 0;
    if (body.size + announced() > max || received > max * MOST_FRAMING)
      throw new CheckFault('bad_answer', 'too long an answer');
    return end.done || (framing === 'until close' && inbox.ended) ? answerOf(body.remainder()) : undefined;
  };
}

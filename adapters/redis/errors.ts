import { type Failure, isUntrusted } from '../server-errors.ts';

/** Replies with which a server refuses a command before doing anything. */
const REFUSALS =
  /^(READONLY|OOM|LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|NOAUTH|WRONGPASS|NOPERM|MOVED|ASK|UNBLOCKED)\b/;

/** Lasting refusals: an immediate retry would not help. */
const LASTING = /^(OOM|MISCONF|NOAUTH|WRONGPASS|NOPERM)\b/;

/** The error of ioredis for a command that it did not send. */
const NOT_SENT = /enableOfflineQueue/;

export function classify(error: unknown): Failure {
  if (!(error instanceof Error)) return 'fault';
  if (LASTING.test(error.message) || isUntrusted(error)) return 'lasting';
  if (REFUSALS.test(error.message) || NOT_SENT.test(error.message)) return 'refused';
  return error.name === 'ReplyError' ? 'fault' : 'unclear';
}

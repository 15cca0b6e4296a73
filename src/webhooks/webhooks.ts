import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/logger.ts';
import type { SafeFetch } from '../lib/safe-fetch.ts';
import { signedHeaders } from './signature.ts';

/** All events. */
export type EventType =
  | 'image.stored'
  | 'image.changed'
  | 'image.removed'
  | 'report.opened'
  | 'images.doubtful'
  | 'images.trusted'
  | 'refresh.finished'
  | 'pool.low'
  | 'pool.recovered'
  | 'judge.down'
  | 'judge.up';

/** The result of a message: delivered, refused or failed permanently, or dropped because too many waited. */
export type Delivery = 'delivered' | 'failed' | 'dropped';

export interface WebhooksOptions {
  urls: readonly string[];
  secret: string;
  fetch: SafeFetch;
  clock: Clock;
  newId: () => string;
  /** 0 to 1. */
  random: () => number;
  log: Log;
  onDelivery?: (delivery: Delivery) => void;
}

/** Maximum number of messages waiting for one URL, some 8 MB: a cleanup removes thousands of images in a second. */
const MAX_WAITING = 10_000;
const TIMEOUT_MS = 10_000;
/** Pauses before the second and later attempts: about 13 minutes in all. */
const WAITS_MS = [1000, 5000, 30_000, 120_000, 600_000];
/** How long a server that stops goes on sending what waits. */
const LAST_MS = 2000;

interface Message {
  id: string;
  type: EventType;
  body: string;
  onEnd: () => void;
}

/** A URL with what it has not received yet. */
interface Target {
  url: string;
  waiting: Message[];
  /** Runs while messages wait. */
  work: Promise<void> | null;
}

export function createWebhooks(options: WebhooksOptions) {
  const { urls, secret, fetch, clock, newId, random, log, onDelivery } = options;
  /** Ends pauses: what waits is tried once more. */
  const closing = new AbortController();
  /** Ends everything. */
  const stopping = new AbortController();
  const { signal } = stopping;
  const targets = urls.map((url): Target => ({ url, waiting: [], work: null }));

  async function deliverAll(target: Target): Promise<void> {
    const { url, waiting } = target;
    for (let message = waiting[0]; message && !signal.aborted; message = waiting[0]) {
      const delivery = await deliver(url, message);
      if (delivery === null) return;
      waiting.shift();
      onDelivery?.(delivery);
      message.onEnd();
    }
    // Not after the promise has resolved: a message that comes in between would wait for the next one.
    target.work = null;
  }

  /** Returns `null` if the server stops before the message has an end. */
  async function deliver(url: string, message: Message): Promise<Delivery | null> {
    for (const waitMs of [...WAITS_MS, null]) {
      const fault = await attempt(url, message);
      if (fault === null) return 'delivered';
      if (signal.aborted) return null;
      const facts = { event: message.type, id: message.id, host: new URL(url).host, error: fault.reason };
      if (fault.final || waitMs === null) {
        log('error', 'webhook not delivered', facts);
        break;
      }
      if (closing.signal.aborted) return null;
      log('warn', 'webhook failed; will be tried again', facts);
      // Randomised, so that many senders do not retry at the same time.
      await clock.sleep(waitMs * (0.75 + random() / 2), closing.signal).catch(() => {});
    }
    return 'failed';
  }

  /** Returns `null` if it was accepted; `final` if another attempt would be useless. */
  async function attempt(
    url: string,
    { id, body }: Message,
  ): Promise<{ reason: string; final: boolean } | null> {
    try {
      const headers = signedHeaders(secret, { id, timeMs: clock.now(), body });
      const limits = { timeoutMs: TIMEOUT_MS, maxBytes: 0, signal };
      const { status, discard } = await fetch(url, { headers, body, ...limits });
      discard();
      if (status >= 200 && status < 300) return null;
      const final = status >= 400 && status < 500 && status !== 408 && status !== 429;
      return { reason: `answered ${status}`, final };
    } catch (error) {
      return { reason: error instanceof Error ? error.message : String(error), final: false };
    }
  }

  return {
    /**
     * Queues an event for delivery; never waits and never throws. `onEnd` is called when every URL has received it or
     * it was given up, but not for events that a stop loses.
     */
    send(type: EventType, data: object, onEnd?: () => void): void {
      if (signal.aborted) return;
      let open = targets.length;
      const ended = () => {
        if (--open === 0) onEnd?.();
      };
      const id = newId();
      const body = JSON.stringify({ id, type, timestamp: new Date(clock.now()).toISOString(), data });
      for (const target of targets) {
        if (target.waiting.length >= MAX_WAITING) {
          onDelivery?.('dropped');
          ended();
          continue;
        }
        target.waiting.push({ id, type, body, onEnd: ended });
        target.work ??= deliverAll(target);
      }
    },

    /** Stops. What waits is sent once more, for two seconds at most; the rest is lost. Idempotent. */
    async stop(): Promise<void> {
      closing.abort();
      const works = Promise.all(targets.map(({ work }) => work));
      await Promise.race([works, clock.sleep(LAST_MS, signal).catch(() => {})]);
      stopping.abort(new Error('the server is stopping'));
      await works;
      const lost = targets.reduce((sum, { waiting }) => sum + waiting.length, 0);
      if (lost > 0) log('warn', 'webhooks not delivered before the server stopped', { count: lost });
    },
  };
}

/** Posts events to the configured URLs, in order for each URL. */
export type Webhooks = ReturnType<typeof createWebhooks>;

import { type Http, PicpoolError, pause } from './http.ts';

/** Longer than any event. */
const MAX_EVENT_CHARS = 16_000_000;
/** The server says something every 15 s. After this time without a byte, the connection is dead. */
const SILENT_MS = 60_000;
/** Limits of what a server may ask for in `retry`. */
const [MIN_RETRY_MS, MAX_RETRY_MS] = [250, 60_000];

/**
 * Yields the server-sent events of a path, each parsed from JSON. Reconnects after the last event until the caller
 * leaves the loop or `signal` aborts. Rejects with `PicpoolError` if the server refuses.
 */
export async function* events<T>(
  http: Http,
  path: string,
  signal?: AbortSignal,
): AsyncGenerator<T, void, void> {
  let lastId = '';
  let retryMs = 3000;
  for (;;) {
    const leave = new AbortController();
    const either = signal ? AbortSignal.any([signal, leave.signal]) : leave.signal;
    try {
      const headers = { accept: 'text/event-stream', ...(lastId !== '' && { 'last-event-id': lastId }) };
      const { body } = await http.open(path, 'text/event-stream', { headers, signal: either });
      for await (const fields of blocks(body, () => leave.abort())) {
        lastId = fields.get('id') ?? lastId;
        const retry = fields.get('retry') ?? '';
        if (/^\d+$/.test(retry)) retryMs = Math.min(Math.max(Number(retry), MIN_RETRY_MS), MAX_RETRY_MS);
        const data = fields.get('data');
        if (data !== undefined) yield JSON.parse(data) as T;
      }
    } catch (error) {
      signal?.throwIfAborted();
      // A reverse proxy answers with 5xx while its server is away.
      if (error instanceof PicpoolError && error.status > 0 && error.status < 500) throw error;
    } finally {
      leave.abort();
    }
    await pause(retryMs, signal);
  }
}

/** Yields the fields of each event, with joined `data` lines. `giveUp`: called if nothing comes any more. */
async function* blocks(
  body: ReadableStream<Uint8Array> | null,
  giveUp: () => void,
): AsyncGenerator<Map<string, string>> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  const decoder = new TextDecoder();
  let pending = '';
  for (;;) {
    const timer = setTimeout(giveUp, SILENT_MS);
    const piece = await reader.read().finally(() => clearTimeout(timer));
    if (piece.done) return;
    pending += decoder.decode(piece.value, { stream: true });
    const parts = pending.split(/\r?\n\r?\n/);
    pending = parts.pop() ?? '';
    if (pending.length > MAX_EVENT_CHARS) throw new PicpoolError('An event of the server is too long.');
    for (const part of parts) yield fieldsOf(part);
  }
}

function fieldsOf(block: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ''] = /^([^:]+):? ?(.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const before = name === 'data' ? fields.get(name) : undefined;
    fields.set(name, before === undefined ? value : `${before}\n${value}`);
  }
  return fields;
}

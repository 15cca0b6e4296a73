import { change, type PutBack } from './fault.ts';

/** Faults of the gateway, found by worlds of bytes. */
export const BYTE_FAULTS: readonly PutBack[] = [
  {
    name: 'a request that its client will never complete keeps its connection',
    changes: [
      change('src/gateway/plain.ts', 'if (!isWhole(request, client)) client.socket.destroy();', ''),
      change('src/gateway/plain.ts', 'if (!this.#requestBody.done) this.#job.client.socket.destroy();', ''),
    ],
    proof: 'bytes',
  },
  {
    name: 'a client that sends more requests than are read ahead stalls',
    changes: [
      change(
        'src/gateway/client.ts',
        '    if (this.#paused && this.inbox.size <= MOST_AHEAD_BYTES) this.#resume();\n',
        '',
      ),
      change(
        'src/gateway/client.ts',
        '    this.serving = null;\n    this.#resume();',
        '    this.serving = null;',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'requests that came before the end of the client are not answered',
    changes: [
      change(
        'src/gateway/client.ts',
        '    if (!this.inbox.isEmpty) this.#goOn();\n    // Whole requests are still served, but one that has not begun by now never will.\n    if (this.hasEnded && this.serving === null) this.close();',
        '    if (this.hasEnded) return this.close();\n    if (!this.inbox.isEmpty) this.#goOn();',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'what is no trailer passes for one, and may be a request to the next reader',
    changes: [change('src/lib/http-message.ts', 'trailerLine(line.slice(0, -2))', 'line')],
    proof: 'bytes',
  },
  {
    name: 'chunks are passed on as they came',
    changes: [change('src/lib/http-message.ts', 'if (!isChunked) return', 'if (count >= 0) return')],
    proof: 'bytes',
  },
  {
    name: 'an error in answer to HEAD has a body',
    changes: [
      change(
        'src/gateway/fault.ts',
        "method === 'HEAD' ? HEAD_VOICE : HTTP_VOICE",
        'method ? HTTP_VOICE : HEAD_VOICE',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'the path has bytes that no path may have',
    changes: [change('src/gateway/http-request.ts', '.replace(/[^!-~]/g, encoded)', '')],
    proof: 'bytes',
  },
  {
    name: 'an answer that was cut is delivered as whole',
    changes: [
      change(
        'src/gateway/plain.ts',
        '      closed: (fault) => this.#onEnded(fault !== null),',
        '      closed: () => this.#onEnded(),',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'a body that ends before its length is delivered as whole',
    changes: [
      change(
        'src/gateway/plain.ts',
        "    if (this.#answer?.framing === 'until close' && !cut) this.#end('done');",
        "    if (this.#answer !== null && !cut) this.#end('done');",
      ),
      change(
        'src/gateway/plain.ts',
        "    if (how === 'broken') client.socket.destroy();",
        "    if (how === 'broken') client.again();",
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'the rest of a body is taken for the next request',
    changes: [
      change(
        'src/gateway/plain.ts',
        'this.#job.request.keepAlive && this.#requestBody.done && answer',
        'this.#job.request.keepAlive && answer',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'a connection to a proxy is used again before a request has ended',
    changes: [
      change(
        'src/gateway/plain.ts',
        ' && !this.#result.doubtful && this.#requestBody.done;',
        ' && !this.#result.doubtful;',
      ),
      change(
        'src/gateway/plain.ts',
        'this.#job.request.keepAlive && this.#requestBody.done && answer',
        'this.#job.request.keepAlive && answer',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'a DELETE is sent to several proxies',
    changes: [
      change(
        'src/gateway/plain.ts',
        "framing === 'none' && (method === 'GET' || method === 'HEAD')",
        "framing === 'none'",
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'a client that was paused is not read again',
    changes: [
      change(
        'src/gateway/plain.ts',
        '        this.#moved();\n        client.socket.resume();',
        '        this.#moved();',
      ),
      change(
        'src/gateway/client.ts',
        '    this.serving = null;\n    this.#resume();',
        '    this.serving = null;',
      ),
      change(
        'src/gateway/client.ts',
        '    this.serving.received();\n    this.#resume();',
        '    this.serving.received();',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'a proxy that was paused is not read again',
    changes: [
      change(
        'src/gateway/plain.ts',
        '    this.#clientReads = false;\n    this.#upstream.resume();',
        '    this.#clientReads = false;',
      ),
    ],
    proof: 'bytes',
  },
  {
    name: 'the answer to HEAD is waited for to its length',
    changes: [change('src/gateway/plain.ts', 'answerReader(job.request.method)', "answerReader('GET')")],
    proof: 'bytes',
  },
  {
    name: 'an answer that ends with its connection is to be followed by another',
    changes: [change('src/gateway/plain.ts', " && answer.framing !== 'until close'", '')],
    proof: 'bytes',
  },
  {
    name: 'a client that has gone is still counted',
    changes: [
      change(
        'src/gateway/client.ts',
        '    this.serving?.left();\n    this.gone();',
        '    this.serving?.left();',
      ),
    ],
    proof: 'bytes',
  },
];

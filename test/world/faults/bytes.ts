import { faultFor, type PutBack } from './fault.ts';

const fault = faultFor('bytes');

/** Faults of the gateway, found by worlds of bytes. */
export const BYTE_FAULTS: readonly PutBack[] = [
  fault(
    'a request that its client will never complete keeps its connection',
    ['src/gateway/plain.ts', 'if (!isWhole(request, client)) client.socket.destroy();', ''],
    ['src/gateway/plain.ts', 'if (!this.#requestBody.done) this.#job.client.socket.destroy();', ''],
  ),
  fault(
    'a client that sends more requests than are read ahead stalls',
    [
      'src/gateway/client.ts',
      '    if (this.#paused && this.inbox.size <= MOST_AHEAD_BYTES) this.#resume();\n',
      '',
    ],
    ['src/gateway/client.ts', '    this.serving = null;\n    this.#resume();', '    this.serving = null;'],
  ),
  fault('requests that came before the end of the client are not answered', [
    'src/gateway/client.ts',
    '    if (!this.inbox.isEmpty) this.#goOn();\n    // Whole requests are still served, but one that has not begun by now never will.\n    if (this.hasEnded && this.serving === null) this.close();',
    '    if (this.hasEnded) return this.close();\n    if (!this.inbox.isEmpty) this.#goOn();',
  ]),
  fault('what is no trailer passes for one, and may be a request to the next reader', [
    'src/lib/http-message.ts',
    'trailerLine(line.slice(0, -2))',
    'line',
  ]),
  fault('chunks are passed on as they came', [
    'src/lib/http-message.ts',
    'if (!isChunked) return',
    'if (count >= 0) return',
  ]),
  fault('an error in answer to HEAD has a body', [
    'src/gateway/fault.ts',
    "method === 'HEAD' ? HEAD_VOICE : HTTP_VOICE",
    'method ? HTTP_VOICE : HEAD_VOICE',
  ]),
  fault('the path has bytes that no path may have', [
    'src/gateway/http-request.ts',
    '.replace(/[^!-~]/g, encoded)',
    '',
  ]),
  fault('an answer that was cut is delivered as whole', [
    'src/gateway/plain.ts',
    '      closed: (fault) => this.#onEnded(fault !== null),',
    '      closed: () => this.#onEnded(),',
  ]),
  fault(
    'a body that ends before its length is delivered as whole',
    [
      'src/gateway/plain.ts',
      "    if (this.#answer?.framing === 'until close' && !cut) this.#end('done');",
      "    if (this.#answer !== null && !cut) this.#end('done');",
    ],
    [
      'src/gateway/plain.ts',
      "    if (how === 'broken') client.socket.destroy();",
      "    if (how === 'broken') client.again();",
    ],
  ),
  fault('the rest of a body is taken for the next request', [
    'src/gateway/plain.ts',
    'request.keepAlive && this.#requestBody.done && answer',
    'request.keepAlive && answer',
  ]),
  fault(
    'a connection to a proxy is used again before a request has ended',
    [
      'src/gateway/plain.ts',
      ' && !this.#result.doubtful && this.#requestBody.done;',
      ' && !this.#result.doubtful;',
    ],
    [
      'src/gateway/plain.ts',
      'request.keepAlive && this.#requestBody.done && answer',
      'request.keepAlive && answer',
    ],
  ),
  fault('a DELETE is sent to several proxies', [
    'src/gateway/plain.ts',
    "framing === 'none' && (method === 'GET' || method === 'HEAD')",
    "framing === 'none'",
  ]),
  fault(
    'a client that was paused is not read again',
    [
      'src/gateway/plain.ts',
      '        this.#moved();\n        client.socket.resume();',
      '        this.#moved();',
    ],
    ['src/gateway/client.ts', '    this.serving = null;\n    this.#resume();', '    this.serving = null;'],
    ['src/gateway/client.ts', '    this.#goOn();\n    this.#resume();', '    this.#goOn();'],
  ),
  fault('a proxy that was paused is not read again', [
    'src/gateway/plain.ts',
    '    this.#clientReads = false;\n    this.#upstream.resume();',
    '    this.#clientReads = false;',
  ]),
  fault('the answer to HEAD is waited for to its length', [
    'src/gateway/plain.ts',
    'answerReader(job.request.method)',
    "answerReader('GET')",
  ]),
  fault('an answer that ends with its connection is to be followed by another', [
    'src/gateway/plain.ts',
    " && answer.framing !== 'until close'",
    '',
  ]),
  fault('a client that has gone is still counted', [
    'src/gateway/client.ts',
    '    this.serving?.left?.();\n    this.gone();',
    '    this.serving?.left?.();',
  ]),
];

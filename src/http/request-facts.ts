import { type Facts, FrequentFacts } from '../lib/logger.ts';
import { quoted } from '../lib/quoted.ts';
import type { Exchange } from './exchange.ts';
import type { RequestContext } from './request-context.ts';

type Logged = Pick<Exchange, 'request' | 'path'> & { context: Pick<RequestContext, 'id' | 'peer'> };

/** What is logged about each request. */
export class RequestFacts extends FrequentFacts {
  readonly #exchange: Logged;
  readonly #status: number;
  readonly #ms: number;

  /** `ms`: until the headers of the answer were complete. */
  constructor(exchange: Logged, status: number, ms: number) {
    super();
    this.#exchange = exchange;
    this.#status = status;
    this.#ms = Math.round(ms);
  }

  plain(): Facts {
    const { context, request, path } = this.#exchange;
    return {
      request_id: context.id,
      method: request.method,
      path,
      status: this.#status,
      ms: this.#ms,
      peer: context.peer,
    };
  }

  members(): string {
    const { context, request, path } = this.#exchange;
    // An ID needs no escapes; see the context.
    return `"request_id":"${context.id}","method":${quoted(request.method)},"path":${quoted(path)},"status":${this.#status},"ms":${this.#ms},"peer":${quoted(context.peer)}`;
  }
}

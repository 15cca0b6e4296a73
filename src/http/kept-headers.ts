/** Values of the headers `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`. */
export interface Rate {
  readonly limit: number;
  readonly remaining: number;
  /** In seconds. */
  readonly reset: number;
}

/**
 * Reusable headers of an answer, into which the values of each request are written. Only changed values are written,
 * because setting a header costs as much as finding the answer.
 */
export class KeptHeaders {
  readonly headers: Headers;
  #limit = Number.NaN;
  #remaining = Number.NaN;
  #reset = Number.NaN;

  constructor(headers: Headers) {
    this.headers = headers;
  }

  stamp(id: string, rate: Rate | null): void {
    const { headers } = this;
    headers.set('x-request-id', id);
    if (rate === null) return;
    const { limit, remaining, reset } = rate;
    if (limit !== this.#limit) headers.set('ratelimit-limit', String(limit));
    if (remaining !== this.#remaining) headers.set('ratelimit-remaining', String(remaining));
    if (reset !== this.#reset) headers.set('ratelimit-reset', String(reset));
    this.#limit = limit;
    this.#remaining = remaining;
    this.#reset = reset;
  }
}

/** The values of `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`. */
export interface RateHeaders {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/**
 * The headers of an answer, with those of one request written into them. Kept ones are written again for each request, which
 * is why only what has changed is: to set a header costs as much as to look up the answer.
 */
export class KeptHeaders {
  readonly headers: Headers;
  #limit = '';
  #remaining = '';
  #reset = '';

  constructor(headers: Headers) {
    this.headers = headers;
  }

  stamp(id: string, rate: RateHeaders | null): void {
    this.headers.set('x-request-id', id);
    if (rate === null) return;
    if (rate.limit !== this.#limit) this.headers.set('ratelimit-limit', rate.limit);
    if (rate.remaining !== this.#remaining) this.headers.set('ratelimit-remaining', rate.remaining);
    if (rate.reset !== this.#reset) this.headers.set('ratelimit-reset', rate.reset);
    this.#limit = rate.limit;
    this.#remaining = rate.remaining;
    this.#reset = rate.reset;
  }
}

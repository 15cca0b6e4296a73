/** Parses a list in chunks, cut anywhere. Never throws, and buffers at most about a million characters. */
export interface Parser {
  push(text: string): void;
  /** Ends the list: parses what is still buffered. */
  end(): void;
}

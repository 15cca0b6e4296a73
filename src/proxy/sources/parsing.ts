/** Takes a list piece by piece, cut anywhere. It never throws, and holds at most about a million characters. */
export interface Parser {
  push(text: string): void;
  /** The list has ended: what is still held is read. */
  end(): void;
}

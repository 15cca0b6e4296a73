/** What the suites need of a test runner: `test` of `bun:test` and of `node:test` both fit. */
export type Test = (name: string, body: () => Promise<void>) => void;

/** A fresh and empty store for one test, and what gives it back. */
export interface Opened<T> {
  store: T;
  close(): Promise<void>;
}
export type Open<T> = () => Promise<Opened<T>>;

/** `test`, with a fresh store for each body. */
export function storeTest<T>(test: Test, open: Open<T>) {
  return (name: string, body: (store: T) => Promise<void>): void => {
    test(name, async () => {
      const { store, close } = await open();
      try {
        await body(store);
      } finally {
        await close();
      }
    });
  };
}

import { until } from './stores/services.ts';

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

/** Opens a store, and waits until it has read what it keeps in the process. */
export function whenRead<T>(open: Open<T>, ask: (store: T) => Promise<unknown>): Open<T> {
  return async () => {
    const opened = await open();
    await answered(() => ask(opened.store));
    return opened;
  };
}

/** Asks until there is an answer: a busy machine may read records later than a caller waits for them. */
export function answered(ask: () => Promise<unknown>): Promise<void> {
  return until(() =>
    ask().then(
      () => true,
      () => false,
    ),
  );
}

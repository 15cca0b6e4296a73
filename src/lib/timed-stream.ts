interface TimedStreamOptions {
  /** What has been read already. Default: nothing. */
  first?: IteratorResult<Uint8Array, void> | undefined;
  /** Maximum pause of the reader, in ms. */
  stallMs: number;
  /** Maximum duration of the stream, in ms. */
  lifeMs: number;
  /** Called once when the stream has ended in any way. */
  onEnd: () => void;
}

/** Number of checks of the time within each limit. */
const LOOKS = 4;

/**
 * Delivers chunks one by one as the reader asks for them. If the reader leaves, stalls, or takes too long, the stream
 * ends with an error and the generator is told to return.
 */
export function timedStream(
  pieces: AsyncGenerator<Uint8Array, void>,
  { first, stallMs, lifeMs, onEnd }: TimedStreamOptions,
): ReadableStream<Uint8Array> {
  const startedAt = performance.now();
  /** Since when the reader has taken nothing; `null` while it waits for us. */
  let idleSince: number | null = startedAt;
  let isOver = false;
  let watch: ReturnType<typeof setInterval> | undefined;

  function end(): void {
    if (isOver) return;
    isOver = true;
    clearInterval(watch);
    onEnd();
  }

  function isLate(): boolean {
    const now = performance.now();
    return now - startedAt > lifeMs || (idleSince !== null && now - idleSince > stallMs);
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        watch = setInterval(() => {
          if (!isLate()) return;
          end();
          controller.error(new Error('The reader is too slow.'));
          void pieces.return();
        }, Math.min(stallMs, lifeMs) / LOOKS);
        watch.unref();
      },
      async pull(controller) {
        idleSince = null;
        try {
          const { done, value } = first ?? (await pieces.next());
          first = undefined;
          idleSince = performance.now();
          if (isOver) return;
          if (!done) return controller.enqueue(value);
          end();
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      async cancel() {
        end();
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
}

import type { View } from '../limited-views.ts';

/**
 * Streams a file but holds back its last byte until it is clear that the transfer was not interrupted; the view then
 * counts as seen. If it is interrupted before that, or takes too long, the view is given back.
 */
export function countedBody(
  source: Blob | ReadableStream<Uint8Array>,
  view: View,
): ReadableStream<Uint8Array> {
  const reader = (source instanceof Blob ? source.stream() : source).getReader();
  let last: number | null = null;
  let isBroken = false;

  async function breakOff(reason: unknown): Promise<void> {
    isBroken = true;
    await Promise.all([view.end(false), reader.cancel(reason).catch(() => {})]);
  }

  /** Returns what may be sent of the next chunk; `null` at the end. */
  async function nextPiece(): Promise<Uint8Array | null> {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return null;
      const piece = value.slice();
      const before = last;
      last = piece.at(-1) ?? last;
      if (before === null && piece.length > 1) return piece.subarray(0, -1);
      if (before === null || piece.length === 0) continue;
      piece.copyWithin(1, 0);
      piece[0] = before;
      return piece;
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        void view.timedOut.then((isLate) => {
          if (!isLate || isBroken) return;
          void breakOff('too slow');
          controller.error(new Error('The transfer took too long.'));
        });
      },
      async pull(controller) {
        try {
          const piece = await nextPiece();
          if (piece) return controller.enqueue(piece);
          await view.settle();
          if (isBroken) return;
          await view.end(true);
        } catch (error) {
          await breakOff(error);
          throw error;
        }
        if (last !== null) controller.enqueue(Uint8Array.of(last));
        controller.close();
      },
      cancel: breakOff,
    },
    { highWaterMark: 0 },
  );
}

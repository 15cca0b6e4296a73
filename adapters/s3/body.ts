import { within } from '../../src/lib/deadline.ts';
import { translate } from './errors.ts';

/** Time limit for the server to deliver the next data. */
const IDLE_MS = 10_000;
/** How often an interrupted body is resumed. */
const MAX_RESUMES = 2;

/** Opens a body of the server at an offset. */
type OpenBody = (offset: number) => Promise<ReadableStream<Uint8Array>>;

/**
 * Returns the `size` bytes of `first` as a stream that fails rather than ends early. If the body is interrupted,
 * requests the rest. Reads only as fast as it is read.
 */
export function wholeBody(
  first: ReadableStream<Uint8Array>,
  size: number,
  reopen: OpenBody,
): ReadableStream<Uint8Array> {
  let reader = first.getReader();
  let offset = 0;
  let resumes = 0;

  async function nextChunk(): Promise<Uint8Array> {
    for (;;) {
      try {
        const { value } = await within(IDLE_MS, reader.read(), 'the S3 server stopped sending');
        if (value && offset + value.length <= size) return value;
        throw new Error(value ? 'the body is longer than announced' : 'the body was truncated');
      } catch (error) {
        reader.cancel().catch(() => {});
        if (resumes++ >= MAX_RESUMES) throw translate(error);
        reader = (await reopen(offset)).getReader();
      }
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (offset < size) {
          const chunk = await nextChunk();
          offset += chunk.length;
          controller.enqueue(chunk);
        }
        if (offset === size) {
          controller.close();
          reader.cancel().catch(() => {});
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

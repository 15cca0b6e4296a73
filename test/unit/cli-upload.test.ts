import { expect, test } from 'bun:test';
import { AnswerLost, type Call } from '../../src/cli/client.ts';
import { send } from '../../src/cli/upload.ts';
import { createRepetitions } from '../../src/image/upload/repetitions.ts';

test('an upload that gets no answer is sent again while the server still knows it', async () => {
  let passed = 0;
  let stored = 0;
  const repetitions = createRepetitions<number>(
    () => passed,
    async () => true,
  );
  const ask = async (
    _method: string,
    _path: string,
    _shape: object,
    { headers, timeoutMs = 0 }: Call = {},
  ) => {
    const request = new Request('http://localhost/api/upload', { headers });
    const id = await repetitions.once(request, '', { fields: {}, files: [] } as never, async () => ++stored);
    passed += timeoutMs;
    if (passed === timeoutMs) throw new AnswerLost('silence');
    return { id };
  };
  expect(await send({ ask } as never, {})).toMatchObject({ id: 1 });
  expect(stored).toBe(1);
});

/** Yields the events that the server streams. */
export async function* eventsOf<T>({ body }: Response): AsyncGenerator<{ name: string; data: T }> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const chunk of body ?? []) {
    const blocks = (pending + decoder.decode(chunk, { stream: true })).split('\n\n');
    pending = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, data] = /^data: (.*)$/m.exec(block) ?? [];
      const [, name = ''] = /^event: (.*)$/m.exec(block) ?? [];
      if (data !== undefined) yield { name, data: JSON.parse(data) as T };
    }
  }
}

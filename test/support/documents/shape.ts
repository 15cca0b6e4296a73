import { isDeepStrictEqual } from 'node:util';

/** Fields whose text is another one with every answer, wherever it appears. */
const OWN = ['id', 'delete_token', 'token', 'request_id'];
/** Any list may have named the proxy that comes first. */
const ANY = 'source';

/**
 * What is left of an output when all that differs between two runs is taken away: numbers, ids, tokens, and which
 * proxies were chosen. The README breaks JSON into lines, which means nothing.
 */
export function shapeOf(output: string): unknown {
  const text = output.trim();
  if (!text.startsWith('{')) return text.split('\n').map(lineShape);
  let json = text.replaceAll('\n', '');
  const parsed = JSON.parse(json) as Record<string, unknown>;
  for (const name of OWN) {
    const value = parsed[name];
    if (typeof value === 'string') json = json.replaceAll(value, `<${name}>`);
  }
  return JSON.parse(json, (name, value: unknown) => {
    if (name === ANY) return 'any';
    if (typeof value === 'number') return 9;
    return typeof value === 'string' ? value.replace(/\d+/g, '9') : value;
  });
}

function lineShape(line: string): string {
  return line.replace(/^(https?|socks[45]):\/\/[\d.]+:\d+$/, 'proxy://ip:port').replace(/\d+/g, '9');
}

/** Whether an output has the shape of the one that the README prints; `null`, or both shapes. */
export function shapeFault(printed: string, output: string): string | null {
  const expected = shapeOf(printed);
  const found = shapeOf(output);
  if (isDeepStrictEqual(expected, found)) return null;
  return `it prints      ${JSON.stringify(found)}\n  and not as the README ${JSON.stringify(expected)}`;
}

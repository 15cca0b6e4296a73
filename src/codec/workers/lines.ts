/** Maximum line of the protocol. Both sides send far less. */
const MAX_LINE = 65_536;

/**
 * Cuts incoming text into lines without their ends.
 * @throws {RangeError} on a line above 64 Ki characters.
 */
export function createLineReader(onLine: (line: string) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE) throw new RangeError('The line is too long.');
    for (const line of lines) onLine(line);
  };
}

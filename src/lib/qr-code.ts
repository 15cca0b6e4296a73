import encodeQR from 'qr';

/** The quiet zone that the standard demands, in modules, and a smaller one that readers accept. */
const BORDER = 4;
const NARROW_BORDER = 2;

/**
 * Returns rows of modules, `true` for a dark one, with the quiet zone. Medium error correction: 15 % may be
 * unreadable.
 */
function modulesOf(text: string, border: number): boolean[][] {
  return encodeQR(text, 'raw', { ecc: 'medium', border });
}

/**
 * Returns a QR code as an SVG image, black on white in every theme, with one unit for each module and no fixed size.
 * Throws for more than 2331 bytes of UTF-8.
 */
export function qrSvg(text: string): string {
  const rows = modulesOf(text, BORDER);
  const runs = rows.flatMap((row, y) =>
    [...darkRuns(row)].map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${rows.length} ${rows.length}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${rows.length}v${rows.length}h-${rows.length}z"/><path d="${runs.join('')}"/></svg>`;
}

/** Yields runs of dark modules: the first one, and their number. */
function* darkRuns(row: readonly boolean[]): Generator<[start: number, length: number]> {
  for (let start = row.indexOf(true); start >= 0; ) {
    const end = row.indexOf(false, start);
    yield [start, end - start];
    start = row.indexOf(true, end);
  }
}

/** Light above light, light above dark, dark above light, dark above dark. */
const HALVES = ['█', '▀', '▄', ' '];

/**
 * Returns a QR code as lines of block characters, with two rows of modules in a line and one column for each module.
 * Light modules are drawn and dark ones left out: correct on a dark terminal, and on every terminal in white on
 * black.
 */
export function qrBlocks(text: string): string[] {
  const rows = modulesOf(text, NARROW_BORDER);
  const lines: string[] = [];
  for (let y = 0; y < rows.length; y += 2) {
    const [upper = [], lower = []] = rows.slice(y, y + 2);
    lines.push(upper.map((dark, x) => HALVES[(dark ? 2 : 0) + ((lower[x] ?? true) ? 1 : 0)]).join(''));
  }
  return lines;
}

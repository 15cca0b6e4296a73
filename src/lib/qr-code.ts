import encodeQR from 'qr';

/** The quiet zone that the standard demands, in modules. */
const BORDER = 4;

/**
 * Returns a QR code as an SVG image, black on white, with one unit for each module and no fixed size.
 * Medium error correction: 15 % may be unreadable. Throws for more than 2331 bytes of UTF-8.
 */
export function qrSvg(text: string): string {
  const rows: boolean[][] = encodeQR(text, 'raw', { ecc: 'medium', border: BORDER });
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

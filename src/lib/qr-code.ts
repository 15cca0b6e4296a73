import encodeQR from 'qr';

/** Quiet zone around a code, in modules: readers need four. */
const BORDER = 4;

/** Rows of modules, `true` for a dark one, with the quiet zone. Medium error correction: 15 % may be unreadable. */
function modulesOf(text: string): boolean[][] {
  return encodeQR(text, 'raw', { ecc: 'medium', border: BORDER });
}

/**
 * A QR code as an SVG image, black on white in every theme, one unit per module and without a size of its own. Throws for
 * more than 2331 bytes of UTF-8.
 */
export function qrSvg(text: string): string {
  const rows = modulesOf(text);
  const runs = rows.flatMap((row, y) =>
    [...darkRuns(row)].map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${rows.length} ${rows.length}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${rows.length}v${rows.length}h-${rows.length}z"/><path d="${runs.join('')}"/></svg>`;
}

/** Where dark modules stand side by side: the first one, and how many there are. */
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
 * A QR code for a terminal, two rows of modules to a line. Light modules are drawn and dark ones left out, which is right on
 * dark terminals even without colour; `colored` sets white on black, and so fits light ones, too.
 */
export function qrBlocks(text: string, colored: boolean): string {
  const rows = modulesOf(text);
  const lines = [];
  for (let y = 0; y < rows.length; y += 2) {
    const [upper = [], lower = []] = rows.slice(y, y + 2);
    const line = upper.map((dark, x) => HALVES[(dark ? 2 : 0) + ((lower[x] ?? true) ? 1 : 0)]).join('');
    lines.push(colored ? `\u001b[38;5;231;48;5;16m${line}\u001b[0m` : line);
  }
  return lines.join('\n');
}

import type { Config } from '../config.ts';
import { qrBlocks } from '../lib/qr-code.ts';

/** Size of a terminal in lines and columns. */
interface Room {
  rows: number;
  columns: number;
}

export interface WelcomeOptions {
  /** Where the server listens: `http://localhost:3000`, or a socket. */
  url: string;
  /** The address for other devices, and what kind of devices; `null` if there is none or it is not known. */
  shared: { url: string; by: string } | null;
  config: Pick<Config, 'SERVICES'>;
  /** The command that calls this program. */
  program: string;
  room: Room;
  colored: boolean;
}

/** The two of the 256 colours that no theme changes. */
const WHITE_ON_BLACK = '\u001b[38;5;231;48;5;16m';
const PLAIN = '\u001b[0m';

/** Lines for the text around a QR code: server, address, commands and a prompt. */
const WORDS_ROWS = 16;

/** Returns extra lines for a terminal: the address for other devices, and commands to start with. */
export function welcome({ url, shared, config, program, room, colored }: WelcomeOptions): string {
  const commands = usefulCommands(config.SERVICES, program, url === DEFAULT_URL ? '' : ` --url ${url}`);
  const column = Math.max(...commands.map(([command]) => command.length)) + 3;
  const lines = commands.map(([command, what]) => `  ${command.padEnd(column)}${what}`);
  const parts = [`In another terminal:\n${lines.join('\n')}`];
  if (shared !== null) {
    const code = qrBlocks(shared.url);
    const fits = code.length + WORDS_ROWS <= room.rows && (code[0]?.length ?? 0) <= room.columns;
    if (fits) parts.unshift(code.map((line) => (colored ? WHITE_ON_BLACK + line + PLAIN : line)).join('\n'));
    parts.unshift(`${shared.by}: ${shared.url}`);
  }
  return `\n${parts.join('\n\n')}\n\n`;
}

const DEFAULT_URL = 'http://localhost:3000';

function usefulCommands(services: Config['SERVICES'], program: string, where: string): [string, string][] {
  const images: [string, string] = [
    `${program} upload${where} photo.jpg`,
    'uploads a picture and prints its link',
  ];
  const proxies: [string, string] = [`${program} export${where}`, 'prints the working proxies'];
  const refresh: [string, string] = [`${program} refresh${where}`, 'refreshes the pool now'];
  const remove: [string, string] = [`${program} delete LINK`, 'deletes what you uploaded'];
  const doctor: [string, string] = [`${program} doctor`, 'finds problems with this setup'];
  if (!services.includes('proxy')) return [images, remove, doctor];
  if (!services.includes('image')) return [proxies, refresh, doctor];
  return [images, proxies, doctor];
}

/** A command of a document, as it stands there. */
export interface ReadmeCommand {
  text: string;
  /** The line of the document that it stands on. */
  line: number;
  /** What the document prints under it; empty where it prints nothing. */
  printed: string;
}

const SHELLS = new Set(['sh', 'bash', 'shell', 'zsh', 'fish']);

/**
 * The commands of a document, in its order: lines that begin with `$ ` in `console` blocks, each followed by what it prints
 * up to an empty line, and the lines of indented blocks, which print nothing. Throws where a block is marked
 * as a shell's, in which nobody would look for them.
 */
export function readmeCommands(markdown: string): ReadmeCommand[] {
  const commands: ReadmeCommand[] = [];
  let fence: string | null = null;
  let open: ReadmeCommand | undefined;
  let before = '';
  for (const [index, line] of markdown.split('\n').entries()) {
    const mark = /^```(\w*)/.exec(line);
    if (mark) {
      fence = fence === null ? (mark[1] ?? '') : null;
      if (fence !== null && SHELLS.has(fence)) {
        throw new Error(`line ${index + 1}: a block of ${fence}, in which nobody looks for commands`);
      }
      open = undefined;
    } else if (fence === 'console' && line.startsWith('$ ')) {
      open = { text: line.slice(2), line: index + 1, printed: '' };
      commands.push(open);
    } else if (fence === 'console') {
      if (line === '') open = undefined;
      else if (open) open.printed += `${line}\n`;
    } else if (fence === null && /^ {4}\S/.test(line) && /^( {4}.*)?$/.test(before)) {
      commands.push({ text: line.trim(), line: index + 1, printed: '' });
    }
    before = line;
  }
  return commands;
}

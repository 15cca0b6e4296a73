import { EXIT_CODES } from '../../src/cli/exit.ts';
import { settings } from '../../src/config.ts';
import { VERSION } from '../../src/version.ts';
import type { DescribedCommand } from './command-table.ts';

/** Returns the manual page `picpool(1)`: commands with their options, settings, files and exit codes, as roff. */
export function manualPage(commands: readonly DescribedCommand[]): string {
  const parts = [
    `.TH PICPOOL 1 "" "picpool ${VERSION}" "User Commands"`,
    '.SH NAME\npicpool \\- a pool of tested free proxies, and an image host',
    '.SH SYNOPSIS\n.B picpool\n.RI [ command ]\n.RI [ options ]\n.RI [ operands ]',
    `.SH DESCRIPTION
${paragraph('One server with two public services: a proxy pool that gathers free public proxies, proves which of them work and hands them out; and an image host. Without a command the server starts. Data goes to standard output, all else to standard error.')}`,
    `.SH COMMANDS\n${commands.map(command).join('\n')}`,
    `.SH ENVIRONMENT
${paragraph('Settings come from the environment and from a .env file in the working folder.')}
${Object.entries(settings).map(setting).join('\n')}`,
    `.SH FILES
.TP
.I ~/.config/picpool/tokens
${paragraph('The delete tokens of what was uploaded from here.')}`,
    `.SH EXIT STATUS\n${paragraph(`${EXIT_CODES}.`)}`,
  ];
  return `${parts.join('\n')}\n`;
}

function command({ name, operands, about, options }: DescribedCommand): string {
  const usage = `.SS picpool ${literal(name)} [options]${operands === '' ? '' : ` ${literal(operands)}`}`;
  // Indented blocks are examples, and keep their lines.
  const text = about
    .split('\n\n')
    .map((block) => (block.startsWith('  ') ? example(block) : paragraph(block.replaceAll('\n', ' '))))
    .join('\n.PP\n');
  const rows = options.map(({ name: long, short, placeholder, help }) => {
    const letter = short === undefined ? '' : `\\fB\\-${short}\\fR, `;
    const value = placeholder === null ? '' : ` \\fI${literal(placeholder)}\\fR`;
    return `.TP\n${letter}\\fB\\-\\-${literal(long)}\\fR${value}\n${paragraph(help)}`;
  });
  return [usage, text, ...rows].join('\n');
}

function setting([name, { description = '', default: fallback }]: [
  string,
  { description?: string; default?: unknown },
]): string {
  const value = fallback === undefined ? '' : ` [${fallback}]`;
  return `.TP\n.B ${literal(name)}\n${paragraph(description + value)}`;
}

function example(block: string): string {
  return `.nf\n${block.split('\n').map(paragraph).join('\n')}\n.fi`;
}

/** Escapes a line of text that would look like a roff request. */
function paragraph(text: string): string {
  return literal(text).replace(/^[.']/, '\\&$&');
}

function literal(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('`', '\\(ga');
}

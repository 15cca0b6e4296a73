import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReadmeCommand } from './commands.ts';
import { promiseOf } from './promises.ts';
import { shapeFault } from './shape.ts';
import type { ReadmeWorld } from './world.ts';

/** Of one command, on a busy machine. */
const LIMIT_MS = 30_000;
/** The exit code of curl if the server refuses and `fail-with-body` is set. */
const REFUSED = 22;
/** Another address of this machine than the one that uploads. */
const ELSEWHERE = 'curl() { command curl --interface 127.0.0.77 "$@"; }; ';

/**
 * Runs commands in a folder, one after the other. A command must succeed (or be refused, if the document prints a
 * refusal), print something of the shape that the document prints, and keep its promise. Addresses that the document
 * printed mean those that were printed here; `<id>` and `<delete_token>` are of the last upload that was not deleted,
 * `<album>` and `<album_token>` of the last album.
 */
export function createReadmeShell(folder: string, { env, ports }: Pick<ReadmeWorld, 'env' | 'ports'>) {
  const uploads: Answer[] = [];
  let album: Answer = {};
  const replaced = new Map(Object.entries(ports));

  function filled(text: string): string {
    let result = text;
    for (const [printed, found] of replaced) result = result.replaceAll(printed, found);
    const { id, delete_token } = uploads.at(-1) ?? {};
    const values = { id, delete_token, album: album.id, album_token: album.token };
    for (const [name, value] of Object.entries(values))
      result = result.replaceAll(`<${name}>`, String(value));
    return result;
  }

  /** Returns what is wrong with a command, or `null`. */
  async function run({ text, printed }: ReadmeCommand): Promise<string | null> {
    const { shows, from, endless } = promiseOf(text);
    if (!shows && printed === '') return 'nothing here tells whether it does what the document says';
    const before = new Set(await readdir(folder));
    const command = filled(text);
    if (from === 'here') {
      const { code } = await execute(ELSEWHERE + command);
      if (code !== REFUSED) return `from another address it ends with ${code}`;
    }
    const { code, stdout, stderr } = await execute(
      from === 'elsewhere' ? ELSEWHERE + command : command,
      endless && shows,
    );
    const expectedCode = printed.includes('"success":false') ? REFUSED : 0;
    if (code !== expectedCode) return `it ends with ${code}\n${stdout}\n${stderr}`;
    const written = (await readdir(folder)).filter((name) => !before.has(name));
    const files = await Promise.all(written.map((name) => readFile(join(folder, name), 'latin1')));
    const found = stdout + files.join('');
    if (found === '') return `it neither prints nor writes anything\n${stderr}`;
    if (shows && !new RegExp(filled(shows.source), shows.flags).test(found)) {
      return `it does not show ${shows}\n${found.slice(0, 2000)}`;
    }
    const fault = printed === '' ? null : shapeFault(printed, stdout);
    remember(text, printed, stdout);
    return fault;
  }

  async function execute(command: string, until?: RegExp) {
    const child = spawn('bash', ['-o', 'pipefail', '-c', command], {
      cwd: folder,
      env,
      // Ctrl-C reaches a whole group.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const end = (signal: NodeJS.Signals) => child.pid !== undefined && process.kill(-child.pid, signal);
    const output = { stdout: '', stderr: '' };
    let interrupted = false;
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (piece: string) => {
        output[name] += piece;
        if (interrupted || !until?.test(output.stdout)) return;
        interrupted = true;
        end('SIGINT');
      });
    }
    const timer = setTimeout(() => end('SIGKILL'), LIMIT_MS);
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    clearTimeout(timer);
    return { code: interrupted ? 0 : (code ?? signal), ...output };
  }

  function remember(text: string, printed: string, stdout: string): void {
    if (/ -X DELETE \S*\/api\/delete\//.test(text)) uploads.pop();
    if (!stdout.startsWith('{')) return;
    const answer: Answer = JSON.parse(stdout);
    if ('id' in answer && 'delete_token' in answer) uploads.push(answer);
    if ('zip_url' in answer && 'token' in answer) album = answer;
    if (printed.startsWith('{')) pair(JSON.parse(printed.replaceAll('\n', '')), answer);
  }

  function pair(printed: unknown, found: unknown): void {
    if (typeof printed !== 'object' || typeof found !== 'object' || !printed || !found) return;
    const other = new Map(Object.entries(found));
    for (const [name, value] of Object.entries(printed)) {
      if (['ip', 'port'].includes(name)) replaced.set(String(value), String(other.get(name)));
      else pair(value, other.get(name));
    }
  }

  return { run };
}

type Answer = Record<string, unknown>;

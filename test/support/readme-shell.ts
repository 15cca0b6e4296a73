import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import type { ReadmeCommand } from './readme.ts';
import { claimOf, type Upload } from './readme-claims.ts';
import { shapeFault } from './readme-shape.ts';
import type { ReadmeWorld } from './readme-world.ts';

/** Of one command, on a busy machine. */
const LIMIT_MS = 30_000;
/** What curl ends with where the server refuses and `fail-with-body` is set. */
const REFUSED = 22;

/** Commands that a user ends with Ctrl-C, and what is waited for before that is done. */
const ENDLESS: readonly { text: RegExp; until: RegExp }[] = [
  { text: /\/api\/refresh\/events$/, until: /^data: \{[^[]*"state":"done"/m },
];

/** Another address of this machine than the one that uploads. */
const ELSEWHERE = 'curl() { command curl --interface 127.0.0.77 "$@"; }; ';

/**
 * Runs commands in a folder, one after the other. A command must end well (or be refused, where the README prints a
 * refusal), print something or write a file, print what has the shape of what the README prints, and do what the README
 * says in words. Addresses that the README printed stand for those that were printed here, and the last upload that still
 * stands is what `<id>` and `<delete_token>` mean, the last album `<album>` and `<album_token>`.
 */
export function createReadmeShell(folder: string, { env, ports }: Pick<ReadmeWorld, 'env' | 'ports'>) {
  const uploads: Upload[] = [];
  let album: Album | undefined;
  const replaced = new Map(Object.entries(ports));

  function filled(text: string): string {
    let result = text;
    for (const [printed, found] of replaced) result = result.replaceAll(printed, found);
    return result
      .replace(/<(id|delete_token)>/g, (_, name: keyof Upload) => uploads.at(-1)?.[name] ?? '<none>')
      .replaceAll('<album>', album?.id ?? '<none>')
      .replaceAll('<album_token>', album?.token ?? '<none>');
  }

  /** Answers what is wrong with it, or `null`. */
  async function run({ text, printed }: ReadmeCommand): Promise<string | null> {
    const claim = claimOf(text);
    if (claim === undefined && printed === '')
      return 'nothing here tells whether it does what the document says';
    const before = await readdir(folder);
    const command = filled(text);
    if (claim?.refusedElsewhere) {
      const { code } = await execute(ELSEWHERE + command);
      if (code !== REFUSED) return `from another address it ends with ${code}`;
    }
    const { code, stdout, stderr } = await execute(claim?.fromElsewhere ? ELSEWHERE + command : command);
    const expectedCode = printed.includes('"success":false') ? REFUSED : 0;
    if (code !== expectedCode) return `it ends with ${code}\n${stdout}\n${stderr}`;
    const wrote = (await readdir(folder)).length > before.length;
    if (stdout === '' && !wrote) return `it neither prints nor writes anything\n${stderr}`;
    if (claim && !(await claim.holds({ stdout, folder, upload: uploads.at(-1) }))) {
      return `it does not do what the document says: ${claim.says}\n${stdout}`;
    }
    const fault = printed === '' ? null : shapeFault(printed, stdout);
    remember(text, printed, stdout);
    return fault;
  }

  async function execute(command: string) {
    const child = spawn('bash', ['-o', 'pipefail', '-c', command], {
      cwd: folder,
      env,
      // A group of its own, which Ctrl-C would reach as a whole.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const end = (signal: NodeJS.Signals) => child.pid !== undefined && process.kill(-child.pid, signal);
    const until = ENDLESS.find((one) => one.text.test(command))?.until;
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
    const answer: unknown = JSON.parse(stdout);
    if (isUpload(answer)) uploads.push(answer);
    if (isAlbum(answer)) album = answer;
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

function isUpload(answer: unknown): answer is Upload {
  return typeof answer === 'object' && answer !== null && 'id' in answer && 'delete_token' in answer;
}

/** An album that was just made. */
interface Album {
  id: string;
  token: string;
}

function isAlbum(answer: unknown): answer is Album {
  return typeof answer === 'object' && answer !== null && 'zip_url' in answer && 'token' in answer;
}

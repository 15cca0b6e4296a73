import { filesOf } from './files.ts';
import type { Findings } from './step.ts';

/** Sizes in lines: the median and the maximum of source files. */
const MEDIAN_LINES = 120;
const MAX_LINES = 400;

/** A package or global, and the only files that may use it. */
const ONE_PLACE: { what: string; uses: RegExp; allowed: RegExp }[] = [
  {
    what: 'elysia',
    uses: /from 'elysia'/,
    allowed: /^src\/http\/router\.ts$|^clients\/js\/src\/eden\.ts$/,
  },
  { what: 'sharp', uses: /(from|import\()\s*'sharp'/, allowed: /^src\/codec\// },
  { what: 'the SDK for agents', uses: /from '@modelcontextprotocol\//, allowed: /^src\/mcp\/server\.ts$/ },
  { what: 'ioredis', uses: /from 'ioredis'/, allowed: /^adapters\/redis\// },
  { what: 'postgres', uses: /from 'postgres'/, allowed: /^adapters\/postgres\// },
  { what: 'the S3 client', uses: /from '@(aws-sdk|smithy)\//, allowed: /^adapters\/s3\// },
  {
    what: 'Bun',
    uses: /\bBun\.|from 'bun(:\w+)?'|import\('bun:/,
    allowed: /^src\/runtime\/bun(-tcp|-sqlite-thread)?\.ts$/,
  },
  { what: 'Deno', uses: /\bDeno\./, allowed: /^src\/runtime\/deno\.ts$/ },
  { what: 'process.env', uses: /process\.env/, allowed: /^src\/main(\.deno)?\.ts$/ },
  {
    what: 'adapters/open.ts',
    uses: /adapters\/open\.ts'/,
    allowed: /^src\/(start(\.ts$|\/)|(cli|findings)\/)/,
  },
];

/**
 * What the files of a folder may import besides their own folder and packages. A folder without a rule is an error.
 */
const MAY_IMPORT: [from: RegExp, to: RegExp][] = [
  [/^src\/lib\//, /^src\/errors\.ts$/],
  // The type of the catalogue says which messages errors may have.
  [/^src\/(errors|version|assets)\.ts$/, /^(package\.json|src\/web\/words\/zh-cn\/messages\.ts)$/],
  [/^src\/config(-values)?\.ts$/, /^(src\/(lib\/|errors\.ts$|config)|adapters\/registry\.ts$)/],
  [/^src\/runtime\//, /^src\/lib\/linux\/system\.ts$/],
  // Published clients must not contain any of the server's code.
  [/^clients\/js\/src\//, /^$/],
  [/^src\/http\//, /^src\/(lib\/|findings\/finding\.ts$|errors\.ts$|feature\.ts$)/],
  [/^src\/feature\.ts$/, /^src\/(lib|http|web)\//],
  [/^src\/web\//, /^src\/(lib\/|findings\/finding\.ts$|http\/|errors\.ts$|assets\.ts$)/],
  [/^src\/codec\//, /^src\/(lib\/|errors\.ts$|assets\.ts$)/],
  [
    /^src\/image\//,
    /^src\/(lib\/|audit\/|findings\/finding\.ts$|http\/|web\/|codec\/|errors\.ts$|assets\.ts$)/,
  ],
  [/^src\/(proxy|moderation|audit)\//, /^src\/(lib\/|audit\/|http\/|web\/|errors\.ts$|assets\.ts$)/],
  [
    /^src\/admin\//,
    /^src\/(lib|http|web|access|audit|moderation|image|codec)\/|^src\/(errors|findings\/finding)\.ts$/,
  ],
  [/^src\/mcp\//, /^src\/(lib\/|http\/|errors\.ts$)/],
  [/^src\/access\//, /^src\/(lib\/|http\/|errors\.ts$)/],
  [
    /^src\/gateway\//,
    /^src\/(lib\/|errors\.ts$|runtime\/tcp\.ts$|http\/|web\/|proxy\/(proxy|login|store)\.ts$|proxy\/pool\/country-code\.ts$|proxy\/targets\/(sites?|testimony|bans)\.ts$|proxy\/check\/(exchange|fault|inbox|policy|socks)\.ts$)/,
  ],
  [/^src\/webhooks\//, /^src\/(lib\/|errors\.ts$)/],
  [/^src\/app\.ts$/, /^src\/((lib|http|web|access)\/|(errors|feature|findings\/finding)\.ts$)/],
  // The composition root and the commands put the parts together.
  [/^src\/(start|cli)(\/|\.ts$)/, /^(src|adapters)\//],
  [/^src\/findings\/finding\.ts$/, /^$/],
  [/^src\/findings\//, /^(src|adapters)\//],
  [/^src\/main(\.deno)?\.ts$/, /^src\/(cli|runtime)\//],
  [/^adapters\/([\w-]+|\w+\/adapter)\.ts$/, /^(adapters|src)\//],
  [
    /^adapters\//,
    /^adapters\/(adapter|server(s|-errors)|replicas)\.ts$|^src\/(lib\/|findings\/finding\.ts$|errors\.ts$|runtime\/runtime\.ts$|(proxy|image)\/(proxy|image|store|fields)\.ts$|image\/records\/(searched|summary)\.ts$|codec\/format\.ts$|image\/albums\/(album|store)\.ts$|audit\/store\.ts$)/,
  ],
];

/** Checks imports between folders, circular imports, and the length of files. */
export async function checkLayers(): Promise<Findings> {
  const files = filesOf('src/**/*.ts', 'adapters/**/*.ts', 'clients/js/src/**/*.ts');
  const faults: string[] = [];
  const sizes: number[] = [];
  const imports = new Map<string, string[]>();
  for (const file of files) {
    const text = await Bun.file(file).text();
    const lines = text.split('\n').length - 1;
    sizes.push(lines);
    if (lines > MAX_LINES) faults.push(`${file}: ${lines} lines; ${MAX_LINES} are the most`);
    const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    for (const { what, uses, allowed } of ONE_PLACE) {
      if (uses.test(code) && !allowed.test(file))
        faults.push(`${file}: uses ${what}, which has its own place`);
    }
    imports.set(file, importsOf(file, code));
    faults.push(...importFaults(file, imports.get(file) ?? []));
  }
  const median = sizes.sort((a, b) => a - b)[Math.floor(sizes.length / 2)] ?? 0;
  if (median > MEDIAN_LINES) faults.push(`the median file has ${median} lines; ${MEDIAN_LINES} are the most`);
  return { read: files.length, faults: [...faults, ...circles(imports)] };
}

/** Files that an import leads to, types included. */
function importsOf(file: string, code: string): string[] {
  return [...code.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, path = '']) =>
    new URL(path, `file:///${file}`).pathname.slice(1),
  );
}

/** Returns the circular imports. */
export function circles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  const path: string[] = [];

  function visit(file: string): void {
    if (path.includes(file)) {
      faults.push(`imports in a circle: ${[...path.slice(path.indexOf(file)), file].join(' -> ')}`);
      return;
    }
    if (seen.has(file)) return;
    seen.add(file);
    path.push(file);
    for (const target of imports.get(file) ?? []) visit(target);
    path.pop();
  }

  for (const file of imports.keys()) visit(file);
  return faults;
}

function importFaults(file: string, targets: readonly string[]): string[] {
  const rule = MAY_IMPORT.find(([from]) => from.test(file));
  if (!rule) return [`${file}: no layer rule speaks of this folder`];
  const home = file.split('/').slice(0, 2).join('/');
  return targets
    .filter((target) => !target.startsWith(`${home}/`) && !rule[1].test(target))
    .map((target) => `${file}: must not import ${target}`);
}

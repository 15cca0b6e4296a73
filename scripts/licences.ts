/** Writes docs/licences.md: every package that a running server loads, with its version and licence. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

interface Manifest {
  name: string;
  version: string;
  license?: string | { type: string };
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const found = new Map<string, string>();

async function visit(name: string, from: string): Promise<void> {
  let folder = from;
  let file = join(folder, 'node_modules', name, 'package.json');
  // As Node looks for packages: in the folder itself, and then further up.
  while (!(await Bun.file(file).exists())) {
    if (folder === '/' || folder === '.') return;
    folder = dirname(folder);
    file = join(folder, 'node_modules', name, 'package.json');
  }
  const manifest = JSON.parse(await readFile(file, 'utf8')) as Manifest;
  const { version, license = 'not stated', dependencies, optionalDependencies } = manifest;
  const row = `| ${name} | ${version} | ${typeof license === 'string' ? license : license.type} |`;
  if (found.has(row)) return;
  found.set(row, name);
  for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies })) {
    await visit(dependency, dirname(file));
  }
}

const { dependencies = {} } = JSON.parse(await readFile('package.json', 'utf8')) as Manifest;
for (const name of Object.keys(dependencies)) await visit(name, process.cwd());
const text = `# Licences

What a running picpool loads, written by \`bun scripts/licences.ts\` from the installed packages. Binary parts of sharp
are listed for the platform this was written on. picpool itself is under the MIT licence; the letters of its headings
(\`src/web/client/display.woff2\`) are those of English from Familjen Grotesk 700, under the SIL Open Font License 1.1.

| package | version | licence |
|---|---|---|
${[...found.keys()].sort().join('\n')}
`;
await Bun.write('docs/licences.md', text);
console.log(`${found.size} packages`);

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The contents of `bun.lock`; a package's hash is the last item of its entry. */
interface Lock {
  packages: Record<string, [nameAndVersion: string, ...rest: unknown[]]>;
}

interface Manifest {
  name: string;
  version: string;
  license?: string;
}

interface Component {
  type: 'application' | 'library' | 'platform';
  name: string;
  version: string;
  'bom-ref'?: string;
  purl?: string;
  licenses?: object[];
  hashes?: { alg: string; content: string }[];
}

export interface Bill {
  bomFormat: 'CycloneDX';
  specVersion: '1.6';
  version: 1;
  metadata: { component: Component };
  components: Component[];
}

export interface BillOptions {
  /** The project's folder. */
  root: string;
  /** Folders of the packages in the binary. */
  packages: readonly string[];
  /** Name and SHA-256 of the binary. */
  binary: { name: string; sha256: string };
}

/**
 * Returns the software bill of materials of one binary, as CycloneDX 1.6: the packages that are really in it, with
 * the hashes of `bun.lock`, the libraries inside libvips, and Bun.
 */
export async function billOfMaterials({ root, packages, binary }: BillOptions): Promise<Bill> {
  const lock = Bun.JSONC.parse(await readFile(join(root, 'bun.lock'), 'utf8')) as Lock;
  const hashes = new Map(Object.values(lock.packages).map(([name, ...rest]) => [name, String(rest.at(-1))]));
  const { version, license } = await manifestOf(root);
  const components: Component[] = [
    {
      type: 'platform',
      name: 'bun',
      version: Bun.version,
      purl: `pkg:npm/bun@${Bun.version}`,
      ...licensed('MIT'),
    },
  ];
  for (const folder of packages) {
    const found = await manifestOf(folder);
    components.push(packageComponent(found, hashes.get(`${found.name}@${found.version}`)));
    for (const [name, vendored] of Object.entries(await vendoredIn(folder))) {
      components.push({ type: 'library', name, version: vendored, purl: `pkg:generic/${name}@${vendored}` });
    }
  }
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        name: binary.name,
        version,
        ...licensed(license),
        hashes: [{ alg: 'SHA-256', content: binary.sha256 }],
      },
    },
    components: components.map((component) => ({
      ...component,
      'bom-ref': component.purl ?? component.name,
    })),
  };
}

/** The licence texts of all packages in a binary, one after the other. */
export async function licenceTexts(packages: readonly string[]): Promise<string> {
  const texts: string[] = [];
  for (const folder of packages) {
    const { name, version, license = 'see the text' } = await manifestOf(folder);
    const files = (await readdir(folder)).filter((file) => /licen[cs]e|notice|copying/i.test(file)).sort();
    const contents = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
    texts.push([`${name} ${version}: ${license}`, ...contents.map((text) => text.trim())].join('\n\n'));
  }
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

function packageComponent({ name, version, license }: Manifest, integrity: string | undefined): Component {
  const [alg, base64 = ''] = integrity?.split('-', 2) ?? [];
  return {
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...licensed(license),
    ...(alg === 'sha512' && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') }],
    }),
  };
}

/** One SPDX name is an ID, several joined by words are an expression, anything else is a custom name. */
function licensed(license: string | undefined): { licenses?: object[] } {
  if (!license) return {};
  if (/^[\w.+-]+$/.test(license)) return { licenses: [{ license: { id: license } }] };
  if (/ (AND|OR|WITH) /.test(license)) return { licenses: [{ expression: license }] };
  return { licenses: [{ license: { name: license } }] };
}

async function manifestOf(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
}

/** Returns what sharp's build of libvips says it contains. */
async function vendoredIn(folder: string): Promise<Record<string, string>> {
  if (!folder.includes('@img/sharp-libvips-')) return {};
  return JSON.parse(await readFile(join(folder, 'versions.json'), 'utf8'));
}

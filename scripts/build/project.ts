/**
 * Where picpool is published. Owner, addresses and contact stand in `package.json` alone: packages and `install.sh` are
 * made with them, and `bun scripts/build/project.ts` writes them into the links of the documents. With `--check` it
 * ends with a reason not to publish, if there is one.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };

const { homepage, author, version, bugs, repository } = manifest;

export const PROJECT = {
  /** As npm and other registries want them. */
  manifest: { homepage, author, bugs, repository },
  homepage,
  /** Name and address, as Debian wants them. */
  maintainer: author,
  /** The folder with the files of this version's release. */
  releaseUrl: `${homepage}/releases/download/v${version}`,
};

/** The names of links in the documents, and where they lead. */
export const LINKS: Readonly<Record<string, string>> = {
  repository: homepage,
  releases: `${homepage}/releases`,
  issues: bugs.url,
  advisories: `${homepage}/security/advisories/new`,
};

/** The documents with such links. */
export const LINKED = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'docs/deployment.md',
  'docs/releasing.md',
];

/** Returns the text of a document with the links as they are here. */
export function linked(text: string): string {
  return text.replace(/^\[(\w+)\]: .*$/gm, (line, name: string) =>
    LINKS[name] === undefined ? line : `[${name}]: ${LINKS[name]}`,
  );
}

/**
 * Returns why nothing can be published yet, or `null`: `package.json` has examples, or the environment no key for
 * signatures.
 */
export function whyNotPublishable(env: Readonly<Record<string, string | undefined>>): string | null {
  if (/\.example\b/.test(JSON.stringify([PROJECT, LINKS])))
    return 'package.json still has examples: fill in author, homepage, repository and bugs, and run bun scripts/build/project.ts.';
  return env.RELEASE_KEY
    ? null
    : 'Set RELEASE_KEY to the path of the SSH key that signs: install.sh installs nothing unsigned.';
}

if (import.meta.main) {
  if (process.argv[2] === '--check') {
    const reason = whyNotPublishable(process.env);
    if (reason !== null) console.error(reason);
    process.exit(reason === null ? 0 : 1);
  }
  const root = resolve(import.meta.dir, '..', '..');
  for (const name of LINKED) {
    const path = join(root, name);
    await writeFile(path, linked(await readFile(path, 'utf8')));
  }
}

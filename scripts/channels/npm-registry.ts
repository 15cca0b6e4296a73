import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../test/support/run.ts';

interface Manifest {
  name: string;
  version: string;
  optionalDependencies?: Record<string, string>;
}

/** A registry of npm that has the packages of a folder, and nothing else. */
export async function startRegistry(folder: string): Promise<{ url: string; stop(): void }> {
  const packages = new Map<string, Record<string, object>>();
  const files = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  const manifests = await Promise.all(files.map((name) => read(folder, name)));
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
  for (const [index, { manifest, integrity }] of manifests.entries()) {
    const dist = { tarball: `${server.url.href}files/${files[index]}`, integrity };
    packages.set(manifest.name, {
      ...packages.get(manifest.name),
      [manifest.version]: { ...manifest, dist },
    });
  }
  // What was not built for this test is there by name, for a machine that is none: npm passes over it.
  for (const { manifest } of manifests) {
    for (const [name, version] of Object.entries(manifest.optionalDependencies ?? {})) {
      if (manifests.some((one) => one.manifest.name === name)) continue;
      const dist = { tarball: `${server.url.href}files/none` };
      packages.set(name, { ...packages.get(name), [version]: { name, version, os: ['none'], dist } });
    }
  }

  function answer(request: Request): Response {
    const path = decodeURIComponent(new URL(request.url).pathname).slice(1);
    if (path.startsWith('files/')) return new Response(Bun.file(join(folder, path.slice('files/'.length))));
    const versions = packages.get(path);
    if (versions === undefined) return Response.json({ error: 'not found' }, { status: 404 });
    const latest = Object.keys(versions).sort(Bun.semver.order).at(-1);
    return Response.json({ name: path, versions, 'dist-tags': { latest } });
  }
  return { url: server.url.href, stop: () => void server.stop(true) };
}

async function read(folder: string, name: string): Promise<{ manifest: Manifest; integrity: string }> {
  const path = join(folder, name);
  const manifest = JSON.parse(await run(['tar', '-xzOf', path, 'package/package.json']));
  const hash = createHash('sha512')
    .update(await readFile(path))
    .digest('base64');
  return { manifest, integrity: `sha512-${hash}` };
}

import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { bundledAssets, bundledSharp, fileOfInput } from './plugins.ts';
import { packagesFor, type Target } from './targets.ts';

export interface CompileOptions {
  /** The project's folder. */
  root: string;
  target: Target;
  /** The file to write. */
  path: string;
  /** The module to run. Default: the program's. */
  entrypoint?: string;
}

export interface Compiled {
  path: string;
  bytes: number;
  /** Folders of the packages that are in the file, sorted. */
  packages: string[];
}

/**
 * Compiles the program into one executable file.
 * @throws {AggregateError} with the bundler's errors.
 */
export async function compile(options: CompileOptions): Promise<Compiled> {
  const { root, target, path, entrypoint = join(import.meta.dir, 'entry.ts') } = options;
  await mkdir(dirname(path), { recursive: true });
  // Bun also writes source maps beside the binary, although they are inside it.
  const scratch = await mkdtemp(join(dirname(path), '.build-'));
  const made = join(scratch, basename(path));
  const { metafile } = await Bun.build({
    // A thread's script is found beside the program.
    entrypoints: [entrypoint, join(root, 'src/runtime/bun-sqlite-thread.ts')],
    naming: { entry: '[name].[ext]' },
    target: 'bun',
    format: 'esm',
    minify: true,
    // Old modules are told where they lie: two builds of one commit must not differ by that.
    define: { __dirname: '"/"', __filename: '"/module"' },
    splitting: true,
    // These three make the start fast: a module is loaded from bytecode when it is imported, and code that runs once
    // is not compiled to machine code. `entry.ts` ends the last one.
    bytecode: true,
    sourcemap: 'linked',
    metafile: true,
    plugins: [bundledAssets(root), bundledSharp(target, await packagesFor(target, root))],
    compile: {
      target: target.name,
      outfile: made,
      jitPolicy: 20,
      // A file in the working folder must not decide what is run. `.env` only holds settings.
      autoloadBunfig: false,
      autoloadDotenv: true,
    },
  });
  await rename(made, path);
  await rm(scratch, { recursive: true });
  const { size } = await stat(path);
  const inputs = Object.keys(metafile?.inputs ?? {}).map((file) => relative('.', resolve(fileOfInput(file))));
  return { path, bytes: size, packages: packageFolders(inputs) };
}

function packageFolders(files: readonly string[]): string[] {
  const folders = files.flatMap((file) => /^.*\bnode_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(folders)].sort();
}

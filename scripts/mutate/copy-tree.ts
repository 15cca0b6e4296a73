import { cp, mkdtemp, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A copy of what is committed or changed, without what git ignores. */
export async function copyTree(root: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-mutate-'));
  const listed = Bun.spawn(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  });
  const files = (await new Response(listed.stdout).text()).split('\0').filter((file) => file !== '');
  for (const file of files) {
    if (!(await Bun.file(join(root, file)).exists())) continue;
    await cp(join(root, file), join(folder, file), { recursive: true });
  }
  for (const shared of ['node_modules', '.tools']) await symlink(join(root, shared), join(folder, shared));
  return folder;
}

import { strict as assert } from 'node:assert';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { run } from '../../test/support/run.ts';
import { type Channel, ready, SETTINGS, type World } from './channel.ts';

interface Compose {
  services: { picpool: { ports: string[]; environment: Record<string, string | null> } };
}

/** `compose.simple.yaml` with the image of the release, in a store of images of its own. */
export async function composeChannel({ release, scratch, version }: World): Promise<Channel> {
  const project = `picpool-${crypto.randomUUID()}`;
  const folder = join(scratch, project);
  await mkdir(folder);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'),
    CONTAINERS_CONF: join(folder, 'containers.conf'),
  };
  await writeFile(
    env.CONTAINERS_STORAGE_CONF,
    `[storage]\ndriver = "vfs"\ngraphroot = "${folder}/store"\nrunroot = "${folder}/run"\n`,
  );
  await writeFile(
    env.CONTAINERS_CONF,
    '[engine]\nruntime = "runc"\n[containers]\ndefault_ulimits = ["nofile=1024:2048", "nproc=1024:1024"]\n',
  );
  const engine = (...command: string[]) => run(command, { env, cwd: folder });
  const compose = (...command: string[]) =>
    engine('podman-compose', '-p', project, '-f', 'compose.yaml', ...command);
  const load = () => engine('podman', 'load', '-q', '-i', join(release, `picpool-${version}-oci.tar`));
  const start = async () => {
    await compose('up', '-d');
    await ready(url);
  };

  return {
    name: 'compose.simple.yaml',
    needs: ['podman', 'podman-compose', 'runc'],
    url: () => url,
    steps: {
      async install() {
        const file = Bun.YAML.parse(await Bun.file('compose.simple.yaml').text()) as Compose;
        const { picpool } = file.services;
        // The port of the file may be taken here, and nothing of this machine is to be asked for lists and judges.
        assert.deepEqual(picpool.ports, ['3000:3000']);
        picpool.ports = [`127.0.0.1:${port}:3000`];
        const { HOST: _, ...settings } = SETTINGS;
        Object.assign(picpool.environment, settings);
        await writeFile(join(folder, 'compose.yaml'), JSON.stringify(file));
        assert.match(await load(), new RegExp(`localhost/picpool:${version}$`));
        return 'the image loaded from the OCI archive';
      },
      async start() {
        await start();
        return 'one service, one volume';
      },
      async upgrade() {
        await load();
        await compose('down');
        await start();
        return 'the image again, a new container on the same volume';
      },
      async remove() {
        await compose('down');
        await assert.rejects(fetch(url));
        assert.match(await engine('podman', 'volume', 'ls', '-q'), /_data$/);
        return 'the volume stays';
      },
    },
    async close() {
      await compose('down').catch(() => {});
      await engine('podman', 'network', 'rm', `${project}_default`).catch(() => {});
    },
  };
}

import { until } from '../stores/services.ts';
import type { Copies, Uploaded } from './world.ts';

/** Copies show for two seconds what another one has deleted. */
const GONE_MS = 4000;

/** The key of an image's file. */
export const keyOf = ({ raw_url }: Uploaded) => raw_url.split('/').at(-1) ?? '';

/** What users know: what was acknowledged to them. */
export function createLedger(world: Copies) {
  const stored = new Map<string, Uploaded>();
  const deleted = new Map<string, Uploaded>();

  async function statuses(image: Uploaded): Promise<number[]> {
    const answers = await Promise.all(world.servers.map(({ send }) => send(new URL(image.raw_url).pathname)));
    await Promise.all(answers.map((answer) => answer.body?.cancel()));
    return answers.map(({ status }) => status);
  }

  const ledger = {
    /** Uploads of which nobody has taken the word back. */
    stored,
    deleted,

    async upload(count: number) {
      for (const image of await world.upload(count)) stored.set(image.id, image);
    },

    /** As far as the server takes them; answers what it acknowledged. */
    async tryUpload(count: number) {
      const taken: Uploaded[] = [];
      for (let index = 0; index < count; index++) {
        const answer = await world.servers[index % world.servers.length]?.upload();
        if (answer?.status !== 201) continue;
        const image = (await answer.json()) as Uploaded;
        stored.set(image.id, image);
        taken.push(image);
      }
      return taken;
    },

    /** Deletes an image; false where the server does not know it or cannot. */
    async remove(image: Uploaded) {
      const answer = await world.servers[0]?.send(`/api/delete/${image.id}`, {
        method: 'DELETE',
        headers: { 'x-delete-token': image.delete_token },
      });
      if (answer?.status !== 200) return false;
      stored.delete(image.id);
      deleted.set(image.id, image);
      return true;
    },

    /** Keys of the files of what is stored. */
    keys: () => [...stored.values()].map(keyOf),

    /** Deleted images that can be read. */
    async undead() {
      const seen: string[] = [];
      for (const image of deleted.values()) {
        const deadline = Date.now() + GONE_MS;
        const isGone = async () => !(await statuses(image)).includes(200);
        await until(async () => (await isGone()) || Date.now() > deadline);
        if (!(await isGone())) seen.push(image.id);
      }
      return seen;
    },

    /** Stored ones that cannot. */
    async unreadable() {
      const failed: string[] = [];
      for (const image of stored.values()) {
        const found = await statuses(image);
        if (found.some((status) => status !== 200)) failed.push(`${image.id}: ${found}`);
      }
      return failed;
    },
  };
  return ledger;
}

export type Ledger = ReturnType<typeof createLedger>;

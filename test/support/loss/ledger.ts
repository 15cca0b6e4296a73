import { until } from '../stores/services.ts';
import type { Copies, Uploaded } from './world.ts';

/** Copies show for two seconds what another one has deleted. */
const GONE_MS = 4000;

/** What users know: what was acknowledged to them. */
export interface Ledger {
  /** Uploads of which nobody has taken the word back. */
  readonly stored: Map<string, Uploaded>;
  readonly deleted: Map<string, Uploaded>;
  upload(count: number): Promise<void>;
  /** As far as the server takes them; answers what it acknowledged. */
  tryUpload(count: number): Promise<Uploaded[]>;
  /** Deletes an image; false where the server does not know it or cannot. */
  remove(image: Uploaded): Promise<boolean>;
  /** Keys of the files of what is stored. */
  keys(): string[];
  /** Deleted images that can be read. */
  undead(): Promise<string[]>;
  /** Stored ones that cannot. */
  unreadable(): Promise<string[]>;
}

/** The key of an image's file. */
export const keyOf = ({ raw_url }: Uploaded) => raw_url.split('/').at(-1) ?? '';

export function createLedger(world: Copies): Ledger {
  const stored = new Map<string, Uploaded>();
  const deleted = new Map<string, Uploaded>();

  async function statuses(image: Uploaded): Promise<number[]> {
    const answers = await Promise.all(world.servers.map(({ send }) => send(new URL(image.raw_url).pathname)));
    await Promise.all(answers.map((answer) => answer.body?.cancel()));
    return answers.map(({ status }) => status);
  }

  const ledger: Ledger = {
    stored,
    deleted,

    async upload(count) {
      for (const image of await world.upload(count)) stored.set(image.id, image);
    },

    async tryUpload(count) {
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

    async remove(image) {
      const answer = await world.servers[0]?.send(`/api/delete/${image.id}`, {
        method: 'DELETE',
        headers: { 'x-delete-token': image.delete_token },
      });
      if (answer?.status !== 200) return false;
      stored.delete(image.id);
      deleted.set(image.id, image);
      return true;
    },

    keys: () => [...stored.values()].map(keyOf),

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

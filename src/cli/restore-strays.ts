import { imageFiles } from '../image/maintenance/files.ts';
import { isBlocked } from '../image/maintenance/quarantine.ts';
import { countOf } from '../lib/format.ts';
import { createBlocks } from '../moderation/blocks.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { EXIT } from './exit.ts';
import { withStores } from './stores.ts';

export const command = defineCommand({
  operands: NO_OPERANDS,
  about: `Takes all image files out of quarantine. Restore their records within an hour: after that, files without a
record are swept again. The server restores a file automatically once its record is back. What was deleted or
blocked is removed instead.`,
  options: {},

  run: (surroundings) =>
    withStores(surroundings, async ({ blobs, images, state, locks }) => {
      const { mayStore } = createBlocks({ state, locks, now: Date.now });
      let [restored, removed] = [0, 0];
      for await (const { quarantined } of imageFiles(blobs)) {
        const buried = await images.buried([...new Set(quarantined.map(({ id }) => id))]);
        for (const { id, key, original, blob } of quarantined) {
          if (buried.has(id) || (original && (await isBlocked(blobs, blob.key, mayStore)))) {
            await blobs.remove(blob.key);
            removed++;
          } else if (await blobs.move(blob.key, key)) restored++;
        }
      }
      await surroundings.terminal.print(
        `${countOf(restored, 'file')} put back, ${removed} removed as deleted or blocked\n`,
      );
      return EXIT.done;
    }),
});

import { test } from 'bun:test';
import { albumStoreConformance } from '../conformance/album-store.ts';
import { auditStoreConformance } from '../conformance/audit-store.ts';
import { blobStoreConformance } from '../conformance/blob-store.ts';
import { imageStoreConformance } from '../conformance/image-store.ts';
import { locksConformance } from '../conformance/locks.ts';
import { stateStoreConformance } from '../conformance/state-store.ts';
import { createFilesModel } from '../world/files-model.ts';
import { createRecordsModel, type RecordsModel } from '../world/records-model.ts';

const opened =
  <T>(of: (model: RecordsModel) => T) =>
  async () => ({
    store: of(createRecordsModel(Date.now, () => crypto.randomUUID())),
    async close() {},
  });

imageStoreConformance(
  test,
  opened(({ images }) => images),
);
albumStoreConformance(
  test,
  opened(({ albums }) => albums),
);
auditStoreConformance(
  test,
  opened(({ audit }) => audit),
);
stateStoreConformance(
  test,
  opened(({ state }) => state),
);
locksConformance(
  test,
  opened(({ locks }) => [locks(), locks()] as const),
);
blobStoreConformance(test, async () => ({ store: createFilesModel(Date.now).blobs, async close() {} }));

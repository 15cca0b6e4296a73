import { runConvertWorker } from '../../src/image/codec/worker.ts';

await runConvertWorker();

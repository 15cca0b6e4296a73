import { availableParallelism, totalmem } from 'node:os';
import process from 'node:process';

/** What the server itself needs under load, with idle conversion processes. */
const SERVER_BYTES = 300e6;
/** What the conversion of a photo of 24 megapixels can take. */
const CONVERSION_BYTES = 600e6;

/** Returns how many conversions fit into the cores and the memory: at least one. `asked`: the setting, if there is one. */
export function capacityOf(
  asked: number | undefined,
  cores: number = availableParallelism(),
  memoryBytes: number = memoryLimit(),
) {
  const fitting = Math.floor((memoryBytes - SERVER_BYTES) / CONVERSION_BYTES);
  const workers = asked ?? Math.max(1, Math.min(cores, fitting));
  return {
    workers,
    /** The memory of the machine, or the limit of the container or service if that is less. */
    memoryBytes,
    /** True if memory, and not the number of cores, decides. */
    limitedByMemory: asked === undefined && fitting < cores,
    /** True if not even one large picture is sure to fit beside the server. */
    tight: fitting < workers,
  };
}

/** How many conversions run at once. */
type Capacity = ReturnType<typeof capacityOf>;

/**
 * Returns infinity if Deno may not look. The runtime reads the limit of the control group, and answers 0 or more than
 * there is if none is set.
 */
function memoryLimit(): number {
  try {
    return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Says how many conversions run at once, and why. */
export function describeCapacity({ workers, memoryBytes, limitedByMemory }: Capacity): string {
  const atOnce = workers === 1 ? '1 conversion at a time' : `${workers} conversions at a time`;
  return limitedByMemory ? `${atOnce}, for ${Math.round(memoryBytes / 2 ** 20)} MiB of memory` : atOnce;
}

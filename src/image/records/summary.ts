import type { Format } from '../../codec/format.ts';
import type { Visibility } from '../image.ts';
import type { ImageSummary } from '../store.ts';

/** The images of one format and visibility, and the bytes of their files. */
export interface ImageGroup {
  format: Format;
  visibility: Visibility;
  count: number;
  bytes: number;
}

/** Computes the statistics of all images from those of their groups, in the order of the formats. */
export function summarise(groups: readonly ImageGroup[]): ImageSummary {
  const formats = [...Map.groupBy(groups, ({ format }) => format)];
  const countOf = (kind: Visibility) => count(groups.filter(({ visibility }) => visibility === kind));
  return {
    images: count(groups),
    protected: countOf('protected'),
    unlisted: countOf('unlisted'),
    bytes: groups.reduce((total, { bytes }) => total + bytes, 0),
    formats: formats
      .map(([format, some]) => ({ format, count: count(some) }))
      .filter(({ count }) => count > 0),
  };
}

function count(groups: readonly ImageGroup[]): number {
  return groups.reduce((total, group) => total + group.count, 0);
}

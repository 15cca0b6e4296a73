import type { Format } from '../format.ts';
import { ACCEPTED, inWords } from '../formats.ts';
import type { Metadata } from './sharp.ts';
import type { Source } from './source.ts';
import type { Warning } from './warnings.ts';

/** The input and the result of a conversion. */
interface Passage extends Pick<Source, 'frames' | 'moves' | 'complete' | 'parts'> {
  header: Pick<Metadata, 'exif' | 'xmp' | 'iptc' | 'comments'>;
  format: Format;
  animated: boolean;
  /** Metadata of the result, or `null` if they should not be kept. */
  told: Pick<Metadata, 'exif' | 'xmp' | 'iptc'> | null;
  /** Whether the result has a palette because it was to become smaller. */
  palette?: boolean | undefined;
  /** Whether the file had Content Credentials, and the result has none. */
  provenanceLost: boolean;
  gainMapKept: boolean;
  /** One frame of the input as people see it, and of the result. */
  sides: Record<'from' | 'to', { width: number; height: number }>;
  bytes: Record<'from' | 'to', number>;
}

/** Smaller files, in bytes, load in one piece whatever they were. */
const NOTICEABLE = 4096;

/** Returns what a conversion has lost, the most noticeable first. Pure. */
export function lossesOf(passage: Passage): Warning[] {
  const rules = [framesLost, cutShort, gainMapLost, metadataLost, provenanceDropped, madeSmaller, madeLarger];
  return rules.map((rule) => rule(passage)).filter((warning) => warning !== null);
}

function framesLost({ frames, moves, animated, format, parts }: Passage): Warning | null {
  const lost = (message: string): Warning => ({ code: 'frames_dropped', message });
  if (moves && frames > 1 && !animated) {
    return lost(
      `Only the first of ${frames} frames is kept in ${ACCEPTED[format]}; format=webp keeps them all.`,
    );
  }
  const pictures = parts?.pictures ?? frames;
  if (!moves && pictures > 1) return lost(`The file holds ${pictures} pictures, of which one is kept.`);
  return parts?.video ? lost('The video of the motion photo is not kept.') : null;
}

function cutShort({ complete }: Passage): Warning | null {
  if (complete) return null;
  return {
    code: 'truncated',
    message: 'The file is truncated: frames may be missing, or parts of the last one.',
  };
}

function gainMapLost({ parts, gainMapKept }: Passage): Warning | null {
  if (!parts?.gainMap || gainMapKept) return null;
  const message =
    'The gain map (extra brightness on HDR screens) is kept only with format=jpeg and strip_exif=false.';
  return { code: 'gain_map_dropped', message };
}

function metadataLost({ told, header, parts }: Passage): Warning | null {
  if (!told) return null;
  const lost = [
    ...(header.exif && !told.exif ? ['EXIF'] : []),
    // A gain map has XMP of its own.
    ...(header.xmp && (!told.xmp || parts?.gainMap) ? ['XMP'] : []),
    ...(header.iptc && !told.iptc ? ['IPTC'] : []),
    ...(header.comments?.length ? ['other metadata'] : []),
  ];
  if (lost.length === 0) return null;
  return { code: 'metadata_dropped', message: `The stored picture lacks the file's ${inWords(lost)}.` };
}

function provenanceDropped({ provenanceLost }: Passage): Warning | null {
  if (!provenanceLost) return null;
  const message = 'The Content Credentials (C2PA), which say how the picture was made, are not kept.';
  return { code: 'provenance_dropped', message };
}

function madeSmaller({ sides: { from, to }, palette }: Passage): Warning | null {
  if (to.width >= from.width && to.height >= from.height) return null;
  const [before, after] = [from, to].map(({ width, height }) => `${width} × ${height}`);
  const reduced = palette ? ', and has 256 colours at most' : '';
  const message = `The picture was scaled from ${before} to ${after} pixels${reduced}; max_width and max_height set the limit.`;
  return { code: 'resized', message, from, to };
}

function madeLarger({ bytes: { from, to }, format }: Passage): Warning | null {
  if (to <= from || to < NOTICEABLE) return null;
  const message = `The picture takes ${to} bytes in ${ACCEPTED[format]}, and took ${from} before.`;
  return { code: 'larger', message, from: { bytes: from }, to: { bytes: to } };
}

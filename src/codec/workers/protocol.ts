import { type Static, Type } from '@sinclair/typebox';
import { flag, integer, oneOf } from '../../lib/schema.ts';
import { TakenWith } from '../../lib/taken-with.ts';
import { PRIVATE_PARTS, WARNING_CODES, Warning } from '../convert/warnings.ts';
import { FORMATS, type Format } from '../format.ts';

/** One conversion. Paths are absolute. The codec creates `output`, and removes it if the conversion fails. */
export interface ConvertJob {
  input: string;
  /** Must not exist yet. */
  output: string;
  /** `auto`: the format of the input if it is one of the five, otherwise webp. */
  format: Format | 'auto';
  /**
   * True removes EXIF, XMP and IPTC, and converts to sRGB. False keeps EXIF, XMP, the colour profile and, in JPEG,
   * IPTC. The result is upright either way.
   */
  stripExif: boolean;
  /** Of the encoder, from 1 to 100. If missing, it follows from the picture. */
  quality?: number;
  /** In pixels, after rotation. Larger pictures are scaled down to fit; smaller ones are never scaled up. */
  maxWidth: number;
  /** If missing, only the width counts. */
  maxHeight?: number;
  /** True turns a lossless picture that is scaled down into a lossy one if that has fewer bytes. */
  smallest?: boolean;
  /** True also returns what the picture looks like. */
  look?: boolean;
}

/** Limits for every input, checked against its header. */
export interface InputLimits {
  /** Width x height x frames. */
  maxPixels: number;
  maxFrames: number;
  heic: boolean;
}

/** A message to the worker. */
export interface WorkerRequest {
  id: number;
  job: ConvertJob;
  limits: InputLimits;
}

/** Formats of uploads: `heic` stands for HEIF with anything but AV1. */
const SOURCE_FORMATS = [...FORMATS, 'heic', 'tiff', 'jxl', 'bmp', 'ico'] as const;

/** The file that a stored picture was made from, and how. */
export const Original = Type.Object({
  format: oneOf(SOURCE_FORMATS, 'Format of the uploaded file.'),
  size: integer('Its size in bytes.', { minimum: 1 }),
  width: integer('Its width in pixels, upright.', { minimum: 1 }),
  height: integer('Its height in pixels, upright.', { minimum: 1 }),
  kept: flag(
    'Whether the stored file is the uploaded one without metadata and other parts that the picture does not need.',
  ),
  quality: Type.Union([Type.Null(), Type.Integer({ minimum: 1, maximum: 100 })], {
    description: 'Quality of the encoder. null: kept, or encoded without one.',
  }),
});
export type Original = Static<typeof Original>;

/** The stored picture. */
export const Converted = Type.Object({
  format: oneOf(FORMATS),
  /** Width of one frame, in pixels, upright. */
  width: Type.Integer({ minimum: 1 }),
  height: Type.Integer({ minimum: 1 }),
  /** 1 for a still picture. */
  frames: Type.Integer({ minimum: 1 }),
  /** Bytes of the output. */
  size: Type.Integer({ minimum: 1 }),
  /** SHA-256 of the output in hexadecimal. */
  hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  original: Original,
  /** Set if requested. */
  look: Type.Union([
    Type.Null(),
    Type.Object({
      thumbhash: Type.String({ pattern: '^[A-Za-z0-9+/]{6,40}={0,2}$' }),
      phash: Type.Union([Type.Null(), Type.String({ pattern: '^[0-9a-f]{16}$' })]),
    }),
  ]),
  /** What the output's EXIF says. */
  exif: Type.Union([Type.Null(), TakenWith]),
  /** What its metadata revealed, if they were to be removed. */
  removed: Type.Array(oneOf(PRIVATE_PARTS), { maxItems: PRIVATE_PARTS.length }),
  warnings: Type.Array(Warning, { maxItems: WARNING_CODES.length }),
});
export type Converted = Static<typeof Converted>;

/**
 * A message from the worker: it can take work, it began a job, it ended one, or it uses that many bytes of memory.
 */
export const WorkerReply = Type.Union([
  Type.Object({
    ready: Type.Literal(true),
    /** Parts of the sandbox that are unavailable. */
    missing: Type.Optional(Type.Array(Type.String({ maxLength: 20 }), { maxItems: 10 })),
  }),
  Type.Object({ began: Type.Integer() }),
  Type.Object({ memory: Type.Integer() }),
  Type.Object({ id: Type.Integer(), converted: Converted }),
  Type.Object({
    id: Type.Integer(),
    failed: Type.Object({
      code: Type.Union(
        (['not_an_image', 'undecodable_image', 'image_limit', 'storage_full', 'internal'] as const).map(
          (code) => Type.Literal(code),
        ),
      ),
      /** See `Message`. */
      said: Type.Object({ template: Type.String(), values: Type.Record(Type.String(), Type.String()) }),
      /** The decoder's message, for the log. */
      reason: Type.Optional(Type.String()),
    }),
  }),
]);
export type WorkerReply = Static<typeof WorkerReply>;
/** The messages about jobs. */
export type JobReply = Exclude<WorkerReply, { memory: number }>;

/** Maximum line of the protocol. Both sides send far less. */
const MAX_LINE = 65_536;

/**
 * Cuts incoming text into lines without their ends.
 * @throws {RangeError} on a line above 64 Ki characters.
 */
export function createLineReader(onLine: (line: string) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE) throw new RangeError('The line is too long.');
    for (const line of lines) onLine(line);
  };
}

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

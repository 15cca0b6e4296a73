import { type Static, Type } from '@sinclair/typebox';

/** How a picture was taken according to its EXIF. Unknown values are absent. */
export const TakenWith = Type.Object({
  camera: Type.Optional(Type.String({ maxLength: 200 })),
  lens: Type.Optional(Type.String({ maxLength: 100 })),
  /** Seconds. */
  exposure: Type.Optional(Type.Number()),
  /** The f-number. */
  aperture: Type.Optional(Type.Number()),
  iso: Type.Optional(Type.Integer()),
  /** Millimetres. */
  focalLength: Type.Optional(Type.Number()),
  /** The camera's clock, in an unknown time zone: `2024-05-01T12:30:00`. */
  taken: Type.Optional(Type.String({ maxLength: 19 })),
  /** The file contains coordinates, in its EXIF or XMP. */
  place: Type.Optional(Type.Literal(true)),
});
export type TakenWith = Static<typeof TakenWith>;

import { describe, expect, test } from 'bun:test';
import { AppError } from '../../src/errors.ts';
import { parseUploadOptions } from '../../src/image/upload/upload-options.ts';

const DEFAULTS = {
  format: 'webp',
  quality: null,
  stripExif: true,
  password: null,
  maxWidth: 4096,
  maxHeight: 4096,
  visibility: null,
  expiresIn: null,
  maxViews: null,
  title: null,
  alt: null,
  filename: null,
  album: null,
  albumToken: null,
} as const;

function faultsOf(fields: Record<string, string>): string[] {
  try {
    parseUploadOptions(fields);
  } catch (error) {
    if (error instanceof AppError) return (error.details ?? []).map(({ field }) => field);
  }
  return [];
}

describe('the options of an upload', () => {
  test('have defaults; what is empty or unknown counts as not given', () => {
    expect(parseUploadOptions({})).toEqual(DEFAULTS);
    const empty = { format: '', strip_exif: '', password: '', max_width: '', filename: '', colour: 'red' };
    expect(parseUploadOptions(empty)).toEqual(DEFAULTS);
  });

  test.each([
    [{ format: 'PNG' }, { format: 'png' }],
    [{ format: 'jpg' }, { format: 'jpeg' }],
    [{ format: 'JPG' }, { format: 'jpeg' }],
    [{ format: 'Auto' }, { format: 'auto' }],
    [{ strip_exif: 'false' }, { stripExif: false }],
    [{ strip_exif: '0' }, { stripExif: false }],
    [{ strip_exif: 'Off' }, { stripExif: false }],
    [{ quality: '62' }, { quality: 62 }],
    [{ strip_exif: 'on' }, { stripExif: true }],
    [
      { max_width: '1', max_height: '16384' },
      { maxWidth: 1, maxHeight: 16_384 },
    ],
    [{ password: '[1,2]' }, { password: '[1,2]' }],
    [{ password: ' ' }, { password: ' ' }],
    [{ password: 'x'.repeat(1024) }, { password: 'x'.repeat(1024) }],
    [{ filename: 'a.png' }, { filename: 'a.png' }],
    [
      { title: ' Ha\nfen\u202e ', alt: 'x'.repeat(300) },
      { title: 'Hafen', alt: 'x'.repeat(255) },
    ],
    [{ title: ' ', alt: '' }, {}],
  ] as [Record<string, string>, object][])('%j give %j', (fields, expected) => {
    expect(parseUploadOptions(fields)).toEqual({ ...DEFAULTS, ...expected });
  });

  test.each([
    [{ format: 'bmp' }, 'format'],
    [{ format: 'toString' }, 'format'],
    [{ strip_exif: 'maybe' }, 'strip_exif'],
    [{ max_width: '0' }, 'max_width'],
    [{ max_width: '16385' }, 'max_width'],
    [{ max_width: '-5' }, 'max_width'],
    [{ max_height: '10.5' }, 'max_height'],
    [{ max_height: '1e3' }, 'max_height'],
    [{ max_height: 'NaN' }, 'max_height'],
    [{ password: 'é'.repeat(513) }, 'password'],
  ] as [Record<string, string>, string][])('%j are refused', (fields, field) => {
    expect(faultsOf(fields)).toEqual([field]);
  });

  test('are refused with all faults at once, each named once', () => {
    const fields = {
      format: 'bmp',
      strip_exif: 'x',
      max_width: '0',
      max_height: 'y',
      password: 'p'.repeat(2000),
    };
    expect(faultsOf(fields).sort()).toEqual(Object.keys(fields).sort());
  });
});

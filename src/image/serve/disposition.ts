/** A file name with the extension of the stored format: what was uploaded as `photo.png` may be a WebP by now. */
export function storedName(filename: string, extension: string): string {
  const stem = filename.toWellFormed().replace(/\.[A-Za-z0-9]{1,5}$/, '') || 'image';
  return `${stem}.${extension}`;
}

/**
 * A `Content-Disposition` header with the name as `storedName` has it. Any text is safe (RFC 6266, RFC 8187).
 */
export function contentDisposition(
  type: 'inline' | 'attachment',
  filename: string,
  extension: string,
): string {
  const name = storedName(filename, extension);
  const plain = name.replace(/[^\x20-\x7e]|["\\%;/]/g, '_');
  if (plain === name) return `${type}; filename="${name}"`;
  const encoded = encodeURIComponent(name).replace(
    /['()*!]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${type}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

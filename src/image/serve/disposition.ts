/** Returns a file name with the extension of the stored format: `photo.png` may have been stored as WebP. */
export function storedName(filename: string, extension: string): string {
  const stem = filename.toWellFormed().replace(/\.[A-Za-z0-9]{1,5}$/, '') || 'image';
  return `${stem}.${extension}`;
}

/** Returns a `Content-Disposition` header with the name of `storedName`. Any text is safe (RFC 6266, RFC 8187). */
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

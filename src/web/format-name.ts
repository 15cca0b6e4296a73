/** The name of a picture format as people write it; `client/upload-card.js` writes it the same way. */
export function formatName(format: string): string {
  return format === 'webp' ? 'WebP' : format.toUpperCase();
}

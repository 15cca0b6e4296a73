import type { Site } from './site.ts';

export interface ManifestOptions {
  /** Returns the path of a file of `src/web/client`. */
  fileUrl: (file: string) => string;
  /** Path that accepts pictures shared from the system's menu; `null` if there is none. */
  shareTo: string | null;
}

const ACCENT = '#0b6b69';
const PAGE = '#f6f8f8';

/**
 * Returns how browsers install the site as an app (Web Application Manifest, with `share_target` of its Web Share
 * Target draft).
 */
export function webManifest(site: Site, { fileUrl, shareTo }: ManifestOptions): object {
  const home = `${site.path}/`;
  const png = (file: string, size: number, purpose: 'any' | 'maskable') => ({
    src: fileUrl(file),
    sizes: `${size}x${size}`,
    type: 'image/png',
    purpose,
  });
  return {
    id: home,
    name: 'picpool',
    short_name: 'picpool',
    description: site.words.upload.summary,
    lang: site.language,
    start_url: home,
    scope: home,
    display: 'standalone',
    theme_color: ACCENT,
    background_color: PAGE,
    icons: [
      png('icon-192.png', 192, 'any'),
      png('icon-512.png', 512, 'any'),
      png('icon-maskable-512.png', 512, 'maskable'),
    ],
    ...(shareTo !== null && {
      share_target: {
        action: shareTo,
        method: 'POST',
        enctype: 'multipart/form-data',
        params: { files: [{ name: 'image', accept: ['image/*'] }] },
      },
    }),
  };
}

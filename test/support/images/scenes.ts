import sharp from 'sharp';

/** A drawn landscape: what is on it, and its colours from the sky down. */
export interface Scene {
  filename: string;
  width: number;
  height: number;
  sky: [string, string];
  sun: string;
  layers: string[];
}

/** Pictures to show a gallery with, in several shapes. */
export const SCENES: readonly Scene[] = [
  scene('harbour-at-dawn.jpg', 1600, 1200, ['#20466b', '#f6b98a'], '#ffe3b0', [
    '#4f6d8c',
    '#35556f',
    '#1d3a4f',
  ]),
  scene('dunes.jpg', 1600, 1000, ['#7fb7d8', '#fbe6c5'], '#fff6dd', ['#e0b27a', '#c88f55', '#a56d3b']),
  scene('northern-lake.jpg', 1200, 1600, ['#123b4a', '#79c7b4'], '#e9fff5', [
    '#2f6f68',
    '#1d4f4d',
    '#0f3437',
  ]),
  scene('orchard in May.png', 1400, 1050, ['#a8dcf0', '#f7fbe9'], '#fffbe0', [
    '#a9cf6d',
    '#75a84a',
    '#487a33',
  ]),
  scene('red-ridge.jpg', 1800, 1000, ['#55213c', '#f08a5d'], '#ffd27a', ['#8d3049', '#5e1f3c', '#331430']),
  scene('first-snow.webp', 1200, 1200, ['#8aa4bd', '#f3f6f9'], '#ffffff', ['#dfe8ef', '#bccbd8', '#93a8ba']),
  scene('night-ferry.jpg', 1600, 900, ['#0a1630', '#33507a'], '#dfe8ff', ['#1b2f52', '#13233f', '#0a142a']),
  scene('lavender.jpg', 1500, 1000, ['#9cc0f0', '#fbdfe9'], '#fff1d6', ['#a58ad0', '#7a5fb0', '#523f86']),
  scene('reeds.jpg', 1000, 1400, ['#f2d9a2', '#fdf3dd'], '#fff9ea', ['#c0a95f', '#8f8743', '#5e6530']),
  scene('tide pools.jpg', 1600, 1067, ['#5fa8c4', '#d9f1ee'], '#fffdf0', ['#4f9f9b', '#2f7a7c', '#1a5560']),
  scene('old-town.jpg', 1400, 1400, ['#f0a36b', '#fde3b8'], '#fff3cf', ['#b5653f', '#8a4732', '#5c2e26']),
  scene('fjord.jpg', 1920, 1080, ['#3d6f93', '#cfe3ea'], '#ffffff', ['#54808f', '#355d6d', '#1d3f4e']),
];

/** The scene as a JPEG with a little grain, as a camera would make it. */
export function draw({ width, height, sky, sun, layers }: Scene): Promise<Buffer> {
  const hills = layers.map((colour, index) => {
    const base = height * (0.52 + index * 0.15);
    const swing = height * (0.11 - index * 0.02);
    const points = Array.from({ length: 41 }, (_, step) => {
      const x = (width * step) / 40;
      const wave = Math.sin(step / (3.1 - index * 0.5) + index * 2.2) + 0.45 * Math.sin(step / 1.3 + index);
      return `${x.toFixed(0)},${(base - swing * wave).toFixed(0)}`;
    });
    return `<polygon fill="${colour}" points="0,${height} ${points.join(' ')} ${width},${height}"/>`;
  });
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
<defs><linearGradient id="sky" x2="0" y2="1"><stop stop-color="${sky[0]}"/><stop offset=".75" stop-color="${sky[1]}"/></linearGradient></defs>
<rect width="${width}" height="${height}" fill="url(#sky)"/>
<circle cx="${width * 0.68}" cy="${height * 0.34}" r="${Math.min(width, height) * 0.085}" fill="${sun}"/>
${hills.join('\n')}</svg>`;
  return sharp(Buffer.from(svg)).jpeg({ quality: 90 }).toBuffer();
}

function scene(
  filename: string,
  width: number,
  height: number,
  sky: [string, string],
  sun: string,
  layers: string[],
): Scene {
  return { filename, width, height, sky, sun, layers };
}

import sharp from 'sharp';

const [WIDTH, HEIGHT] = [1600, 1200];
const HILLS = ['#4f6d8c', '#35556f', '#1d3a4f'];

/** A drawn landscape, the harbour at dawn, as a JPEG. */
export function drawScene(): Promise<Buffer> {
  const hills = HILLS.map((colour, index) => {
    const base = HEIGHT * (0.52 + index * 0.15);
    const swing = HEIGHT * (0.11 - index * 0.02);
    const points = Array.from({ length: 41 }, (_, step) => {
      const x = (WIDTH * step) / 40;
      const wave = Math.sin(step / (3.1 - index * 0.5) + index * 2.2) + 0.45 * Math.sin(step / 1.3 + index);
      return `${x.toFixed(0)},${(base - swing * wave).toFixed(0)}`;
    });
    return `<polygon fill="${colour}" points="0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}"/>`;
  });
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}">
<defs><linearGradient id="sky" x2="0" y2="1"><stop stop-color="#20466b"/><stop offset=".75" stop-color="#f6b98a"/></linearGradient></defs>
<rect width="${WIDTH}" height="${HEIGHT}" fill="url(#sky)"/>
<circle cx="${WIDTH * 0.68}" cy="${HEIGHT * 0.34}" r="${HEIGHT * 0.085}" fill="#ffe3b0"/>
${hills.join('\n')}</svg>`;
  return sharp(Buffer.from(svg)).jpeg({ quality: 90 }).toBuffer();
}

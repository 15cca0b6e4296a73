/** A scanner of pictures that sends those to review whose name says so. */
export function startScanner() {
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { data } = (await request.json()) as { data: { filename: string } };
      return Response.json({ verdict: data.filename.startsWith('review') ? 'review' : 'allow' });
    },
  });
}

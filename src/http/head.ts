/**
 * Creates the answer to HEAD from the answer to GET: status and headers without the body. Elysia's own implementation
 * reads the whole body to count it, even if it is huge or endless. This one only counts JSON, which is in memory.
 */
export async function withoutBody(response: Response): Promise<Response> {
  const headers = new Headers(response.headers);
  if (!headers.has('content-length') && headers.get('content-type')?.startsWith('application/json')) {
    headers.set('content-length', String((await response.arrayBuffer()).byteLength));
  } else {
    await response.body?.cancel();
  }
  // The runtime would send the length 0 for no body, which GET does not have. Nobody reads this one.
  const isUnknown = response.body !== null && !headers.has('content-length');
  return new Response(isUnknown ? new ReadableStream() : null, { status: response.status, headers });
}

/**
 * The answer to HEAD, made of the answer to GET: its status and headers without its body. Elysia's own way reads
 * the whole body to count it, however long or endless that is. Here only JSON, which is in memory, is counted.
 */
export async function withoutBody(response: Response): Promise<Response> {
  const headers = new Headers(response.headers);
  if (!headers.has('content-length') && headers.get('content-type')?.startsWith('application/json')) {
    headers.set('content-length', String((await response.arrayBuffer()).byteLength));
  } else {
    await response.body?.cancel();
  }
  return new Response(null, { status: response.status, headers });
}

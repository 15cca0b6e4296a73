/** Returns an answer in JSON that nobody may keep: it is out of date at once, or for one reader alone. */
export function unkept(body: object, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers: { ...headers, 'cache-control': 'no-store' } });
}

/** The JSON body of an answer, taken for the shape that the test expects. */
export async function json<T = Record<string, unknown>>(answer: Response): Promise<T> {
  return (await answer.json()) as T;
}

/** A request with a body of JSON. */
export const asJson = (method: string, value: unknown, headers: Record<string, string> = {}) => ({
  method,
  body: JSON.stringify(value),
  headers: { 'content-type': 'application/json', ...headers },
});

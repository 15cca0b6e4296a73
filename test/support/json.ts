/** The JSON body of an answer, taken for the shape that the test expects. */
export async function json<T = Record<string, unknown>>(answer: Response): Promise<T> {
  return (await answer.json()) as T;
}

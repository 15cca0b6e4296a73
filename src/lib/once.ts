/**
 * Makes something at the first call, and shares it among all. What fails, such as for want of open files, is tried
 * again at the next call.
 */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

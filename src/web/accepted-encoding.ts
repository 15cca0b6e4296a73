/** Tells whether a client that sent this `Accept-Encoding` reads the encoding. `q=0` refuses it; `*` is left to guessing and not used. */
export function acceptsEncoding(accepted: string | null, encoding: string): boolean {
  return (accepted ?? '').split(',').some((entry) => {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

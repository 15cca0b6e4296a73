/** For each text with names in braces, the pattern that recognises it in a message. */
const patterns = new Map<string, RegExp>();

/**
 * Translates a message with a list of messages with names in braces; `null` if none matches. Inserted values are
 * translated by the same list if possible.
 */
export function translate(messages: Readonly<Record<string, string>>, message: string): string | null {
  for (const [original, translation] of Object.entries(messages)) {
    const values = patternOf(original).exec(message);
    if (values === null) continue;
    return translation.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = values.groups?.[name] ?? '';
      return translate(messages, value) ?? value;
    });
  }
  return null;
}

function patternOf(text: string): RegExp {
  const known = patterns.get(text);
  if (known) return known;
  const escaped = text.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>.+?)');
  const pattern = new RegExp(`^${escaped}$`, 's');
  patterns.set(text, pattern);
  return pattern;
}

/** The texts of one template `html`, in the order of the source; what is put in stands as `\0`. */
export function htmlTemplates(source: string): string[] {
  const found: string[] = [];
  let at = 0;

  function template(): string {
    let text = '';
    while (at < source.length) {
      const sign = source[at++] ?? '';
      if (sign === '`') return text;
      if (sign === '\\') at++;
      else if (sign === '$' && source[at] === '{') {
        at++;
        code('}');
        text += '\0';
      } else text += sign;
    }
    return text;
  }

  function quoted(quote: string): void {
    while (at < source.length && source[at] !== quote) at += source[at] === '\\' ? 2 : 1;
    at++;
  }

  function code(end: string | null): void {
    while (at < source.length) {
      const isHtml = source.startsWith('html`', at);
      if (isHtml) at += 4;
      const sign = source[at++] ?? '';
      if (sign === end) return;
      if (sign === '{') code('}');
      else if (sign === '`') {
        const text = template();
        if (isHtml) found.push(text);
      } else if (sign === "'" || sign === '"') quoted(sign);
      else if (sign === '/' && source[at] === '/') at = lineEnd(source, at);
      else if (sign === '/' && source[at] === '*') at = source.indexOf('*/', at) + 2;
    }
  }

  code(null);
  return found;
}

function lineEnd(source: string, from: number): number {
  const end = source.indexOf('\n', from);
  return end === -1 ? source.length : end;
}

/** Attributes that people read or hear. */
const SPOKEN = /\s(?:aria-label|aria-description|title|placeholder|alt|data-label)="([^"]*)"/g;

/** The words that stand in a template itself: text between tags, and attributes that are read out. */
export function wordsOf(template: string): string[] {
  const spoken = [...template.matchAll(SPOKEN)].map(([, text = '']) => text);
  // Attributes alone, which another template puts into its tag.
  const isAttributes = /^\s+[\w-]+(="[^"]*")?(\s+[\w-]+(="[^"]*")?)*\s*$/.test(template);
  const between = isAttributes ? '' : template.replace(/<[^>]*>/g, ' ').replace(/&\w+;/g, ' ');
  return [between, ...spoken].flatMap((text) => text.match(/\p{L}{2,}/gu) ?? []);
}

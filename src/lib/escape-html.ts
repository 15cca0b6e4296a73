const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes any text for HTML, as content or as a quoted attribute value. */
export function escapeHtml(text: string): string {
  return text.toWellFormed().replace(/[&<>"']/g, (mark) => ENTITIES[mark] ?? mark);
}

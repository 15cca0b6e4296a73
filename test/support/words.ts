/** Returns the words of a text: short rows of a table need no line each. */
export const words = ([text = '']: TemplateStringsArray): string[] => text.trim().split(/[ \n]+/);

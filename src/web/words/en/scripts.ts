/**
 * What scripts of pages say, by the file that a page loads; `every` is there on each page. A name in braces stands for what a
 * script puts in: `{name}`. A text with a number in it is a `Plural`, with `#` in place of the number.
 */
export const scripts = {
  every: {
    unreachable: 'The server cannot be reached.',
    errorStatus: 'The server responded with error {status}.',
  },
  'copy.js': {
    copied: 'Copied',
    notCopied: 'Not copied',
    copyFailed: 'This browser does not allow copying.',
  },
  'image.js': {
    close: 'Close',
  },
};

import { expect, test } from 'bun:test';
import { csvRow } from '../../src/lib/csv.ts';

test('cells are joined by commas, lists by spaces, and missing values are empty', () => {
  expect(csvRow(['a', 1, -2.5, true, null, undefined, ['x', 'y'], []])).toBe('a,1,-2.5,true,,,x y,\n');
});

test('characters that would end a cell are quoted', () => {
  expect(csvRow(['a,b', 'say "x"', 'two\nlines', 'a\rb'])).toBe('"a,b","say ""x""","two\nlines","a\rb"\n');
});

test('no cell is a formula in a spreadsheet', () => {
  expect(csvRow(['=1+1', '+1', '-1', '@x', '\t=1', ['=a', 'b'], 'a=b'])).toBe(
    "'=1+1,'+1,'-1,'@x,'\t=1,'=a b,a=b\n",
  );
});

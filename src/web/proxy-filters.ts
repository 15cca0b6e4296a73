import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { countryName } from './words.ts';

/** What the visitor asked for, as it stands in the URL; empty where nothing was chosen. */
export type FilterValues = Readonly<Record<string, string>>;

export interface FilterChoices {
  protocols: readonly string[];
  /** Codes. */
  countries: readonly string[];
  anonymities: readonly string[];
  proofs: readonly string[];
  sources: readonly string[];
  sorts: readonly string[];
  statuses: readonly string[];
}

const SORT_WORDS: Record<string, string> = {
  dependable: 'Most dependable',
  response_time: 'Fastest',
  last_checked: 'Checked last',
  first_seen: 'Newest',
};

/** The filters of the list. Without a script a button applies them. */
export function proxyFilters(path: string, values: FilterValues, choices: FilterChoices): Html {
  const countries = choices.countries.map((code): [string, string] => [
    code,
    `${countryName(code)} (${code})`,
  ]);
  const plain = (list: readonly string[]) => list.map((value): [string, string] => [value, value]);
  const select = (name: string, label: string, options: [string, string][], none: string | null) =>
    html`<p><label for="f-${name}">${label}</label><select id="f-${name}" name="${name}">${none !== null && html`<option value="">${none}</option>`}${options.map(
      ([value, text]) =>
        html`<option value="${value}"${value === values[name] && html` selected`}>${text}</option>`,
    )}</select></p>\n`;
  const number = (name: string, label: string, hint: string, max: number) =>
    html`<p><label for="f-${name}">${label}</label><input id="f-${name}" name="${name}" type="number" min="0" max="${max}" step="any" placeholder="${hint}" value="${values[name] ?? ''}"></p>\n`;
  const more = ['min_proof', 'exclude_country', 'source', 'max_latency_ms', 'max_age', 'min_uptime'];
  const open = more.some((name) => values[name]);
  return html`<form class="filters" action="${path}" data-results="results" aria-label="Filters">
<div class="fields">
${select('protocol', 'Protocol', plain(choices.protocols), 'All')}${select('country', 'Country', countries, 'All')}${select('anonymity', 'Anonymity', plain(choices.anonymities), 'All')}${select('status', 'Status', plain(choices.statuses), null)}${select(
  'sort',
  'Order',
  choices.sorts.map((sort): [string, string] => [sort, SORT_WORDS[sort] ?? sort]),
  null,
)}</div>
<details${open && html` open`}><summary>${icon('options')}More filters</summary>
<div class="fields">
${select('min_proof', 'Proof, at least', plain(choices.proofs), 'Any')}${select('exclude_country', 'Not from', countries, 'None left out')}${select('source', 'Found in list', plain(choices.sources), 'All')}${number('max_latency_ms', 'Slowest response, ms', 'any', 1_000_000)}${number('max_age', 'Checked within, seconds', 'any', 1_000_000_000)}${number('min_uptime', 'Least uptime, 0 to 1', 'any', 1)}</div></details>
<noscript><p><button type="submit">Show</button></p></noscript>
</form>`;
}

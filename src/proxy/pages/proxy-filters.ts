import { faultyField } from '../../web/error-page.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { Site } from '../../web/site.ts';
import { wordFor } from '../../web/words/formats.ts';
import { ANONYMITIES, PROOFS, PROTOCOLS, STATUSES } from '../proxy.ts';
import { type Listing, type Problem, parametersOf } from './page-query.ts';

type Option = [value: string, text: string];

/** Fields that are hidden behind a button. */
const MORE = [
  'anonymity',
  'max_latency_ms',
  'uptime',
  'within',
  'min_proof',
  'exclude_country',
  'source',
  'status',
];
const OTHER_FIELDS = ['protocol', 'country', 'sort', 'range', 'page', 'id'];

/** Renders the filters of the list. Without a script, a button applies them. */
export function proxyFilters(site: Site, bar: Listing): Html {
  const { words, formats } = site;
  const { proxies } = words;
  const { path, query } = bar;
  const { values, entered, problems } = query;
  const range = query.range === '1d' ? '' : query.range;
  const chosen = (entered.protocol ?? '').split(',');
  const countries = bar.countries
    .filter((code) => code !== 'ZZ')
    .map((code): Option => [code, formats.country(code)])
    .sort((a, b) => a[1].localeCompare(b[1], site.language));
  const several = entered.country ?? '';
  if (several !== '' && !bar.countries.includes(several))
    countries.unshift([several, countryNames(site, several)]);
  const open = MORE.some((name) => problems.some(({ field }) => field === name));
  const isKnown = (name: string) => MORE.includes(name) || OTHER_FIELDS.includes(name);
  const kept = Object.entries({ ...values, range }).filter(([name]) => name === 'range' || !isKnown(name));
  const active = MORE.filter((name) => values[name]).length;
  const sorts = Object.entries(proxies.sorts).map(
    ([order, text]): Option => [order === 'dependable' ? '' : order, text],
  );
  return html`<form class="filters" id="filters" action="${path}#list" aria-label="${proxies.filters}" data-path="${path}" data-results="kept active results code flags">
<div class="filter-row">
<fieldset class="chips"><legend class="visually-hidden">${proxies.protocol}</legend>${PROTOCOLS.map(
    (protocol) =>
      html`<label class="chip"><input type="checkbox" name="protocol" value="${protocol}"${chosen.includes(protocol) && html` checked`}>${protocol}</label>`,
  )}</fieldset>
${select('country', proxies.country, several, [['', proxies.anyCountry], ...countries])}
${select('sort', proxies.sortBy, parametersOf(query).sort ?? '', sorts)}
</div>
<details${open && html` open`}><summary>${icon('options')}${proxies.moreFilters}${active > 0 && html` <b class="badge">${formats.number(active)}</b>`}</summary>
${moreFields(site, bar)}</details>
<div id="kept">${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}</div>
<noscript><p><button type="submit">${proxies.apply}</button></p></noscript>
</form>`;
}

function select(name: string, label: string, value: string, options: readonly Option[]): Html {
  return html`<select class="chip-select" name="${name}" aria-label="${label}">${optionsOf(options, value)}</select>`;
}

const optionsOf = (options: readonly Option[], chosen: string) =>
  options.map(
    ([one, text]) => html`<option value="${one}"${one === chosen && html` selected`}>${text}</option>`,
  );

function moreFields({ words: { proxies } }: Site, bar: Listing): Html {
  const { entered, problems } = bar.query;
  const faulty = (name: string) =>
    problems.some(({ field }) => field === name) &&
    html` aria-invalid="true" aria-describedby="problem-${name}"`;
  const choice = (name: string, label: string, options: Option[]) =>
    html`<p><label for="f-${name}">${label}</label><select id="f-${name}" name="${name}"${faulty(name)}>${optionsOf(options, entered[name] ?? '')}</select></p>\n`;
  const field = (name: string, label: string, { unit = '', hint = '' }) =>
    html`<p><label for="f-${name}">${label}</label><span class="with-unit"><input id="f-${name}" name="${name}" inputmode="${unit === '' ? 'text' : 'decimal'}" autocomplete="off" placeholder="${hint}" value="${entered[name] ?? ''}"${faulty(name)}>${unit !== '' && html`<span class="unit">${unit}</span>`}</span></p>\n`;
  const named = (names: readonly string[], texts: Readonly<Record<string, string>>) =>
    names.map((name): Option => [name, wordFor(texts, name)]);
  const any: Option = ['', proxies.any];
  // One that is read no more, or not yet, would be lost with the next change of another field.
  const sources = new Set([...bar.sources, ...(bar.query.filter.source ? [bar.query.filter.source] : [])]);
  return html`<div class="fields">
${field('max_latency_ms', proxies.latencyAtMost, { unit: 'ms' })}${field('uptime', proxies.uptimeAtLeast, { unit: '%' })}${field('within', proxies.testedWithin, { unit: proxies.minutes })}${choice('anonymity', proxies.anonymity, [any, ...named(ANONYMITIES, proxies.anonymities)])}${choice('min_proof', proxies.proofAtLeast, [any, ...named(PROOFS, proxies.proofs)])}${field('exclude_country', proxies.notFrom, { hint: proxies.notFromHint })}${choice('source', proxies.source, [any, ...[...sources].map((name): Option => [name, name])])}${choice(
  'status',
  proxies.status,
  [
    ['', proxies.statuses.alive],
    ...named(
      STATUSES.filter((one) => one !== 'alive'),
      proxies.statuses,
    ),
  ],
)}</div>`;
}

/** Renders each active filter as a link that removes it, and what was not understood. */
export function activeFilters(site: Site, bar: Listing): Html {
  const { proxies } = site.words;
  const { linkTo, path } = bar;
  const { values, problems } = bar.query;
  const chips = Object.entries(values)
    .filter(([name]) => name !== 'protocol')
    .map(([name, value]) => ({ name, text: chipText(site, name, value) }));
  return html`${problems.map((problem) => problemNote(site, bar, problem))}${
    chips.length > 0 &&
    html`<ul class="chips active-filters">${chips.map(
      ({ name, text }) =>
        html`<li><a class="chip" href="${linkTo({ [name]: null, page: null }, 'list')}" data-remove="${name}" aria-label="${proxies.remove(text)}">${text}${icon('close')}</a></li>`,
    )}<li><a class="chip-clear" href="${path}#list">${proxies.clearAll}</a></li></ul>`
  }`;
}

function chipText(site: Site, name: string, value: string): string {
  const { words, formats } = site;
  const { chips, ...proxies } = words.proxies;
  const texts: Record<string, () => string> = {
    country: () => countryNames(site, value),
    exclude_country: () => chips.notFrom(countryNames(site, value)),
    max_latency_ms: () => chips.latency(formats.number(Number(value))),
    uptime: () => chips.uptime(formats.percent(Number(value) / 100)),
    within: () => chips.within(formats.duration(Number(value) * 60_000)),
    min_proof: () => chips.proof(wordFor(proxies.proofs, value)),
    anonymity: () => wordFor(proxies.anonymities, value),
    status: () => wordFor(proxies.statuses, value),
  };
  return texts[name]?.() ?? chips.other(name, value);
}

function countryNames({ words, formats }: Site, codes: string): string {
  const nameOf = (code: string) => (code === 'ZZ' ? words.proxies.unknownCountry : formats.country(code));
  return codes.split(',').map(nameOf).join(', ');
}

function problemNote(site: Site, { linkTo }: Listing, { field, value, rule, meant }: Problem) {
  const { words, formats } = site;
  const { problems, ...proxies } = words.proxies;
  const labels: Record<string, string> = {
    protocol: proxies.protocol,
    country: proxies.country,
    exclude_country: proxies.notFrom,
    anonymity: proxies.anonymity,
    max_latency_ms: proxies.latencyAtMost,
    uptime: proxies.uptimeAtLeast,
    within: proxies.testedWithin,
    min_proof: proxies.proofAtLeast,
    source: proxies.source,
    status: proxies.status,
    sort: proxies.sortBy,
    page: problems.page,
    id: problems.id,
    range: problems.range,
  };
  const isCountry = ['country', 'exclude_country'].includes(field);
  const text =
    rule !== undefined
      ? problems.wrong(faultyField(site, labels[field] ?? field, rule))
      : isCountry
        ? problems.country(value)
        : problems.unknown(field);
  const right = isCountry ? { [field]: meant ?? null } : { [meant ?? '']: value, [field]: null };
  const name = isCountry && meant !== undefined ? formats.country(meant) : (meant ?? '');
  return html`<p class="fault small" id="problem-${field}" role="alert">${icon('warning')}<span>${text} ${meant === undefined ? problems.leftOut : html`<a href="${linkTo(right, 'list')}">${problems.meant(name)}</a>`}</span></p>`;
}

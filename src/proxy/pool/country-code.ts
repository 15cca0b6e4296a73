import { nearest } from '../../lib/nearest.ts';
import { UNKNOWN_COUNTRY } from '../proxy.ts';

/** ISO 3166-1 alpha-2, and `XK` (Kosovo), which both lists and databases use. */
const CODES = new Set(
  (
    'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ ' +
    'CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR ' +
    'GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP ' +
    'KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT ' +
    'MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW ' +
    'SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG ' +
    'UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW'
  ).split(' '),
);

/**
 * Reports whether this is the upper-case two-letter code of a country. `ZZ`, `EU` and other codes that name
 * no country are not.
 */
export function isCountryCode(text: string): boolean {
  return CODES.has(text);
}

/** Reports whether a filter may name it: the code of a country, or the one for an unknown country. */
export const isFilterCode = (code: string) => isCountryCode(code) || code === UNKNOWN_COUNTRY;

/** Languages in which names of countries are accepted. */
const NAMING = ['en', 'zh-CN'];
/** Other common names. */
const NICKNAMES = { usa: 'US', uk: 'GB', uae: 'AE', korea: 'KR', russia: 'RU', czechia: 'CZ', holland: 'NL' };
let codeByName: Map<string, string> | undefined;

/**
 * Returns the code of a country by its name in English or Chinese, in any letter case, or `undefined` for an
 * unknown name.
 */
export function countryNamed(name: string): string | undefined {
  return names().get(name.trim().toLowerCase());
}

/** Returns the code of the country with the most similar name. */
export function countrySpelledLike(name: string): string | undefined {
  const wanted = name.trim().toLowerCase();
  return names().get(nearest(wanted, [...names().keys()]) ?? '');
}

/** Created on first use, because that takes some ms. */
function names(): Map<string, string> {
  codeByName ??= new Map([
    ...NAMING.flatMap((language) => {
      const display = new Intl.DisplayNames([language], { type: 'region' });
      return [...CODES].map((code): [string, string] => [(display.of(code) ?? code).toLowerCase(), code]);
    }),
    ...Object.entries(NICKNAMES),
  ]);
  return codeByName;
}

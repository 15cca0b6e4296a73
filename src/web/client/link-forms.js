// @ts-check
import { language, make, say } from './dom.js';

/** Forms of a link to a picture: fields of the server's answer, with their names. */
const NAMES = {
  url: () => say('link'),
  raw_url: () => say('directLink'),
  markdown: () => 'Markdown',
  html: () => 'HTML',
  bbcode: () => 'BBCode',
};

/** @typedef {keyof typeof NAMES} Form */

const FORMS = /** @type {Form[]} */ (Object.keys(NAMES));

/** Key under which this browser keeps the last choice. */
const KEY = 'picpool:form';
const MENU = 'form-menu';

/** @returns {Form} */
export function chosenForm() {
  return FORMS.find((form) => form === localStorage.getItem(KEY)) ?? 'url';
}

/** @param {Form} form */
export function nameOf(form) {
  return NAMES[form]();
}

/**
 * Returns a menu of the forms. All menus of a page share one choice. The document gets the event `formchange` when it
 * changes.
 * @param {string} label
 */
export function formMenu(label) {
  const options = FORMS.map((form) => make('option', { value: form }, atStart(nameOf(form))));
  const menu = make('select', { class: `${MENU} small`, 'aria-label': label }, ...options);
  menu.value = chosenForm();
  menu.addEventListener('change', () => choose(menu.value));
  return menu;
}

/** @param {string} form */
function choose(form) {
  localStorage.setItem(KEY, form);
  for (const menu of document.querySelectorAll(`select.${MENU}`)) {
    if (menu instanceof HTMLSelectElement) menu.value = form;
  }
  document.dispatchEvent(new Event('formchange'));
}

/** @param {string} name with a capital, as it stands alone */
function atStart(name) {
  return name.charAt(0).toLocaleUpperCase(language) + name.slice(1);
}

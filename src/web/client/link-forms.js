// @ts-check
import { language, make, say } from './dom.js';
import { keep, recall } from './kept.js';

/** @typedef {import('./share.js').Shared} Shared */

const THUMBNAIL = 640;

/** @param {Shared} image */
function thumbnailOf({ raw_url, width, frames }) {
  return frames === 1 && width > THUMBNAIL ? `${raw_url}?w=${THUMBNAIL}` : raw_url;
}

/**
 * Forms of a link to a picture: its name, and its text.
 * @type {Record<string, [name: () => string, text: (image: Shared) => string]>}
 */
const FORMS = {
  url: [() => say('link'), ({ url }) => url],
  raw_url: [() => say('directLink'), ({ raw_url }) => raw_url],
  markdown: [() => 'Markdown', ({ markdown }) => markdown],
  html: [() => 'HTML', ({ html }) => html],
  bbcode: [() => 'BBCode', ({ bbcode }) => bbcode],
  thumb_markdown: [
    () => say('thumbnail', { form: 'Markdown' }),
    (image) => {
      const start = image.markdown.slice(0, -`(${image.raw_url})`.length);
      return `[${start}(${thumbnailOf(image)})](${image.url})`;
    },
  ],
  thumb_html: [
    () => say('thumbnail', { form: 'HTML' }),
    (image) => {
      // Quotes within the text are escaped.
      const alt = image.html.slice(image.html.lastIndexOf(' alt="'));
      return `<a href="${image.url}"><img src="${thumbnailOf(image)}"${alt}</a>`;
    },
  ],
  thumb_bbcode: [
    () => say('thumbnail', { form: 'BBCode' }),
    (image) => `[url=${image.url}][img]${thumbnailOf(image)}[/img][/url]`,
  ],
};
/** Forms of a picture that other sites cannot show. */
const PLAIN = ['url', 'raw_url'];

/** Key under which this browser keeps the last choice. */
const KEY = 'picpool:form';
const MENU = 'form-menu';

/** @param {boolean} isEmbeddable */
const formsFor = (isEmbeddable) => (isEmbeddable ? Object.keys(FORMS) : PLAIN);

/** @param {boolean} [isEmbeddable] whether other sites can show the picture. Default: true */
export function chosenForm(isEmbeddable = true) {
  return formsFor(isEmbeddable).find((form) => form === recall(KEY)) ?? 'url';
}

/** @param {string} form */
export function nameOf(form) {
  return FORMS[form]?.[0]() ?? '';
}

/**
 * @param {Shared} image
 * @param {string} form
 */
export function textOf(image, form) {
  return FORMS[form]?.[1](image) ?? image.url;
}

/**
 * Returns a menu of the forms. All menus of a page share one choice. The document gets the event `formchange` when it
 * changes.
 * @param {string} label
 * @param {boolean} [isEmbeddable] as for `chosenForm`
 */
export function formMenu(label, isEmbeddable = true) {
  const options = formsFor(isEmbeddable).map((form) =>
    make('option', { value: form }, atStart(nameOf(form))),
  );
  const menu = make('select', { class: `${MENU} small`, 'aria-label': label }, ...options);
  menu.value = chosenForm(isEmbeddable);
  menu.addEventListener('change', () => choose(menu.value));
  return menu;
}

/** @param {string} form */
function choose(form) {
  keep(KEY, form);
  for (const menu of document.querySelectorAll(`select.${MENU}`)) {
    if (menu instanceof HTMLSelectElement && [...menu.options].some(({ value }) => value === form))
      menu.value = form;
  }
  document.dispatchEvent(new Event('formchange'));
}

/** @param {string} name with a capital, as it stands alone */
function atStart(name) {
  return name.charAt(0).toLocaleUpperCase(language) + name.slice(1);
}

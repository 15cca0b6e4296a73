// @ts-check
import { recall } from './kept.js';

/** The key that the API page uses for it. */
const TOKEN_KEY = 'picpool-token';

// The server shows the panel to its administrator, but a browser does not send the token when it opens a page.
const token = recall(TOKEN_KEY, 'sessionStorage');
if (token && !document.getElementById('open-panel')) void fetchPanel(token);

/** @param {string} token */
async function fetchPanel(token) {
  const answer = await fetch(location.pathname, { headers: { authorization: `Bearer ${token}` } }).catch(
    () => null,
  );
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const panel = page.getElementById('open-panel');
  if (panel) document.getElementById('main')?.append(panel);
}

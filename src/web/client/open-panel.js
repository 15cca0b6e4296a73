// @ts-check
import { recall, TOKEN_KEY } from './kept.js';
import { fetchPage } from './page-parts.js';

// The server shows the panel to its administrator, but a browser does not send the token when it opens a page.
const token = recall(TOKEN_KEY, 'sessionStorage');
if (token && !document.getElementById('open-panel'))
  void fetchPage(location.pathname, { headers: { authorization: `Bearer ${token}` } }).then(
    showPanel,
    () => {},
  );

/** @param {Document} page */
function showPanel(page) {
  document.getElementById('main')?.append(page.getElementById('open-panel') ?? '');
}

// @ts-check

/** The key that the API page uses for it. */
const TOKEN_KEY = 'picpool-token';

// The server shows the panel to its administrator, but a browser does not send the token when it opens a page.
const token = tokenOfThisTab();
if (token && !document.getElementById('open-panel')) void fetchPanel(token);

function tokenOfThisTab() {
  try {
    return sessionStorage.getItem(TOKEN_KEY);
  } catch {
    return null;
  }
}

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

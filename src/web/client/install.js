// @ts-check

// Browsers only allow service workers on secure pages: over HTTPS, or on this machine.
const manifest = document.querySelector('link[rel=manifest]');
if ('serviceWorker' in navigator && manifest instanceof HTMLLinkElement) {
  const scope = new URL('.', manifest.href);
  const version = new URL('.', import.meta.url).pathname.split('/').at(-2) ?? '';
  const url = new URL(`service-worker.js?${version}`, scope);
  // The page works without the app, so a failure is ignored.
  const register = () =>
    void navigator.serviceWorker.register(url, { scope: scope.pathname }).catch(() => {});
  if (document.readyState === 'complete') register();
  else addEventListener('load', register);
}

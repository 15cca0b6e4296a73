// @ts-check

addEventListener('hashchange', reveal);
reveal();

/** Opens the target of the link, for browsers that do not, and scrolls there again, because opening has moved it. */
function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  if (!target?.closest('details')) return;
  for (const fold of document.querySelectorAll('details')) if (fold.contains(target)) fold.open = true;
  if (target.getBoundingClientRect().top < 0 || target.getBoundingClientRect().top > innerHeight)
    target.scrollIntoView();
}

/** The style sheet of the pages. */
export const STYLE = `:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; }
main { max-width: 60rem; margin: 0 auto; }
h1 { font-size: 1.25rem; overflow-wrap: anywhere; }
figure { margin: 0; text-align: center; }
figure img { max-width: 100%; height: auto; max-height: 75vh; object-fit: contain; border-radius: .25rem; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; }
dt { font-size: .875rem; opacity: .75; }
dd { margin: 0; }
label { display: block; margin: .5rem 0; }
input { display: block; width: 100%; padding: .5rem; font: inherit; border: 1px solid GrayText; border-radius: .25rem; }
input[readonly] { font-family: ui-monospace, monospace; }
form { max-width: 24rem; }
button, .button { display: inline-block; padding: .5rem 1rem; font: inherit; cursor: pointer; color: #fff;
  background: #1f5fbf; border: 0; border-radius: .25rem; text-decoration: none; }
.danger { background: #b3261e; }
.fault { font-weight: 600; color: light-dark(#b3261e, #ff8a80); }
:focus-visible { outline: 3px solid #1f5fbf; outline-offset: 2px; }
`;

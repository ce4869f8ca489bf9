/** The look of the reference page. */
export const docsStyle = `
:root { color-scheme: light dark; --page: #fbfbfa; --side: #f3f3f0; --line: #e2e2dd; --text: #23262b; --soft: #676d76;
  --link: #1f5f8b; --code: #f1f1ed; --get: #2b6a4d; --put: #8a5a12; --post: #1f5f8b; --delete: #a03a34; }
@media (prefers-color-scheme: dark) { :root { --page: #17191c; --side: #1c1f23; --line: #2d3238; --text: #d9dce0;
  --soft: #979ea8; --link: #84b9df; --code: #1f2328; --get: #7fc4a0; --put: #dcb06c; --post: #84b9df; --delete: #e59089; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1.5rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.55 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
code, pre { font: 0.9em/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
nav { position: fixed; inset: 0 auto 0 0; width: 19rem; overflow-y: auto; padding: 1.5rem 1.25rem; background: var(--side);
  border-right: 1px solid var(--line); font-size: 0.9rem; }
nav strong { display: block; margin: 1.25rem 0 0.35rem; font-size: 0.75rem; letter-spacing: 0.06em; text-transform: uppercase;
  color: var(--soft); }
nav .name { margin: 0; font-size: 1.1rem; font-weight: 600; }
nav .name a { color: inherit; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li { padding: 0.1rem 0; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
nav details { padding: 0.1rem 0; }
nav summary { cursor: pointer; color: var(--soft); }
nav details ul { padding: 0.2rem 0 0.4rem 0.9rem; font-size: 0.85em; }
nav details a { color: inherit; }
nav summary a { color: var(--link); }
nav .method { display: inline-block; width: 4.8em; padding: 0; border: 0; font-size: 0.72rem; }
main { margin-left: 19rem; padding: 2rem 3rem 6rem; max-width: 92rem; }
h1 { margin: 0; font-size: 1.7rem; font-weight: 600; }
h2 { margin: 3.5rem 0 1rem; padding-bottom: 0.4rem; border-bottom: 1px solid var(--line); font-size: 1.3rem; font-weight: 600; }
h2 a { color: inherit; }
h3 { margin: 0 0 0.75rem; font-size: 1rem; font-weight: 500; overflow-wrap: anywhere; }
h3 a { color: inherit; }
nav i, h3 i { font-style: normal; color: var(--soft); }
h4 { margin: 1rem 0 0.25rem; font-size: 0.85rem; font-weight: 600; color: var(--soft); }
p { margin: 0 0 0.75rem; max-width: 44rem; }
.more, .lead { color: var(--soft); }
article { padding: 1.5rem 0 1rem; border-top: 1px solid var(--line); }
h2 + article { border-top: 0; padding-top: 0; }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 2.5rem; }
.method { padding: 0.1rem 0.45rem; border: 1px solid currentColor; border-radius: 4px; font-size: 0.75rem; font-weight: 600;
  letter-spacing: 0.03em; }
.get { color: var(--get); } .put { color: var(--put); } .post { color: var(--post); } .delete { color: var(--delete); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; margin: 0 0 0.75rem; font-size: 0.9em; }
dt { color: var(--soft); } dd { margin: 0; }
table { width: 100%; margin: 0 0 1rem; border-collapse: collapse; font-size: 0.9em; }
th { font-weight: 600; color: var(--soft); }
th, td { padding: 0.35rem 1rem 0.35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
.definitions td:first-child { width: 13rem; }
.numbers td:first-child, .numbers td:nth-child(2) { width: 6rem; }
td code { overflow-wrap: anywhere; }
figure { margin: 0 0 1rem; border: 1px solid var(--line); border-radius: 6px; background: var(--code); overflow: hidden; }
figcaption { padding: 0.3rem 0.8rem; border-bottom: 1px solid var(--line); font-size: 0.75rem; color: var(--soft); }
pre { margin: 0; padding: 0.6rem 0.8rem; overflow-x: auto; font-size: 0.82rem; }
pre code { font-size: inherit; }
@media (max-width: 75rem) { .columns { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 52rem) { nav { position: static; width: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  main { margin-left: 0; padding: 1.5rem 1.25rem 4rem; } }
@media print { nav { display: none; } main { margin: 0; } }
`;

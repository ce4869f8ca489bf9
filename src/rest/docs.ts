import { readFileSync } from 'node:fs';
import { basics } from './describe/docs-basics.ts';
import { codeBox, endpointArticle, methodBadge, prettyJson, shownPath } from './describe/docs-endpoint.ts';
import { Html, html, nothing } from './describe/html.ts';
import { baseUrl, curlLine } from './describe/curl.ts';
import { groupOf, operationId, rowsAt } from './describe/rows.ts';
import type { Endpoint } from './endpoint.ts';
import { type PublicPath, publicPaths } from './public-paths.ts';
import type { Root } from './roots.ts';

const style = readFileSync(new URL('./describe/docs.css', import.meta.url), 'utf8');

/** The interface at a root as one page of HTML that needs nothing else. */
export function docsPage(root: Root, endpoints: readonly Endpoint[], version: string): string {
  const groups = Object.entries(Object.groupBy(rowsAt(root, endpoints), groupOf)) as [string, Endpoint[]][];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>muster ${version}: reference</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body>
${navigation(root, groups)}
<main id="top">
<h1>muster</h1>
<p class="lead">Reference of version ${version} at <code>${root.prefix}</code>. For programs: <a href="${root.prefix}/openapi.json">openapi.json</a>.</p>
${basics(root).map(({ id, title, text, example, table = nothing }) =>
  section(id, title, html`${columns(text, example)}${table}`),
)}
${section('about', 'Without credentials', html`${publicPaths.map((path) => publicArticle(root, path))}`)}
${groups.map(([group, rows]) => section(anchorOf(group), group, html`${rows.map((row) => endpointArticle(root, row))}`))}
</main>
</body>
</html>
`.text;
}

/** The path without the name of the group, under which it is listed. */
const withinGroup = (row: Endpoint): string => row.path.slice(groupOf(row).length + 1) || '/';

/** Apart from the ids of the basics. */
const anchorOf = (group: string): string => `group-${group}`;

const section = (id: string, title: string, content: Html): Html => html`<section id="${id}">
<h2><a href="#${id}">${title}</a></h2>
${content}
</section>
`;

const columns = (text: Html, example: Html | undefined): Html =>
  example === undefined ? text : html`<div class="columns"><div>${text}</div><div>${example}</div></div>`;

function navigation(root: Root, groups: readonly [string, Endpoint[]][]): Html {
  const link = (id: string, title: string): Html => html`<li><a href="#${id}">${title}</a></li>\n`;
  const entry = (row: Endpoint): Html =>
    html`<li><a href="#${operationId(row)}" title="${row.summary}">${methodBadge(row.method)} ${shownPath(withinGroup(row))}</a></li>\n`;
  return html`<nav aria-label="Contents">
<p class="name"><a href="#top">muster</a></p>
<strong>Basics</strong>
<ul>${basics(root).map(({ id, title }) => link(id, title))}${link('about', 'Without credentials')}</ul>
<strong>Resources</strong>
${groups.map(
  ([group, rows]) => html`<details><summary><a href="#${anchorOf(group)}">${group}</a></summary>
<ul>${rows.map(entry)}</ul></details>
`,
)}</nav>`;
}

const publicArticle = (
  root: Root,
  { path, operationId: id, summary, example }: PublicPath,
): Html => html`<article id="${id}">
<h3>${methodBadge('GET')} <a href="#${id}"><code>${path}</code></a></h3>
${columns(
  html`<p>${summary}</p>`,
  html`${codeBox('Request', curlLine(`${baseUrl(root)}${path}`, { withToken: false }))}
${example === undefined ? nothing : codeBox('Reply', prettyJson(example))}`,
)}
</article>`;

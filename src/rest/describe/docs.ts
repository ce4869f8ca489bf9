import {
  attributesAnchor,
  attributeTable,
  codeBox,
  describedTypes,
  endpointArticle,
  methodBadge,
  prettyJson,
  publicRequest,
  shownPath,
} from './docs-endpoint.ts';
import { basics } from './docs-basics.ts';
import { type Html, html, nothing } from './html.ts';
import { groupOf, operationId, rowsAt } from './rows.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { framed } from './page-frame.ts';
import { type PublicPath, publicPathsAt } from './public-paths.ts';
import type { Root } from '../endpoints/roots.ts';

/** The interface at a root as one page of HTML that needs nothing else. */
export function docsPage(root: Root, endpoints: readonly Endpoint[], version: string): string {
  const all = rowsAt(root, endpoints);
  const groups = Object.entries(Object.groupBy(all, groupOf)) as [string, Endpoint[]][];
  const types = describedTypes(all);
  const heading = `muster ${version}: reference`;
  return framed(
    heading,
    html`${navigation(root, groups, types)}
<main id="top">
<h1>muster</h1>
<p id="nothing-found" hidden>Nothing on this page has all of these words.</p>
<p class="lead">Reference of version ${version} at <code>${root.prefix}</code>. For programs: <a href="${root.prefix}/openapi.json">openapi.json</a>.</p>
${basics(root).map(({ id, title, text, example, table = nothing }) =>
  section(id, title, html`${columns(text, example)}${table}`),
)}
${section('about', 'Without credentials', html`${publicPathsAt(root).map((path) => publicArticle(root, path))}`)}
${groups.map(([group, rows]) => section(anchorOf(group), group, html`${rows.map((row) => endpointArticle(root, row))}`))}
${section('attributes', 'Attributes', html`${attributesLead}${types.map(attributeTable)}`)}
</main>`,
  );
}

const attributesLead = html`<p>Values are texts; numbers, true and false are taken as such, and an empty value clears. Columns of
tables are listed by <code>GET /attributes/tables.NAME</code> at /muster.</p>
`;

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

function navigation(root: Root, groups: readonly [string, Endpoint[]][], types: readonly string[]): Html {
  const link = (id: string, title: string): Html => html`<li><a href="#${id}">${title}</a></li>\n`;
  const entry = (row: Endpoint): Html =>
    html`<li><a href="#${operationId(row)}" title="${row.summary}">${methodBadge(row.method)} ${shownPath(withinGroup(row))}</a></li>\n`;
  return html`<nav aria-label="Contents">
<p class="name"><a href="#top">muster</a></p>
<p><a href="${root.prefix}/manual">Manual</a></p>
<p hidden><input type="search" id="search" placeholder="Search" aria-label="Search this page"></p>
<details class="contents" open><summary>Contents</summary>
<strong>Basics</strong>
<ul>${basics(root).map(({ id, title }) => link(id, title))}${link('about', 'Without credentials')}</ul>
<strong>Resources</strong>
${groups.map(
  ([group, rows]) => html`<details><summary><a href="#${anchorOf(group)}">${group}</a></summary>
<ul>${rows.map(entry)}</ul></details>
`,
)}<strong>Attributes</strong>
<ul>${types.map((type) => link(attributesAnchor(type), type))}</ul>
</details>
</nav>`;
}

const publicArticle = (
  root: Root,
  { path, operationId: id, summary, contentType, example }: PublicPath,
): Html => html`<article id="${id}">
<h3>${methodBadge('GET')} <a href="#${id}"><code>${path}</code></a></h3>
${columns(
  html`<p>${summary}</p>`,
  html`${publicRequest(root, path, contentType)}
${example === undefined ? nothing : codeBox('Reply', prettyJson(example))}`,
)}
</article>`;

import { attributeList } from '../../objects/attribute-list.ts';
import type { Endpoint } from '../endpoint.ts';
import { type Html, html } from './html.ts';

export const attributesAnchor = (type: string): string => `attributes-${type}`;

/** The types of objects that rows define, and the site. */
export const describedTypes = (rows: readonly Endpoint[]): string[] => [
  ...new Set([...rows.flatMap(({ defines }) => defines ?? []), 'site']),
];

/** What every attribute of a type means. */
export const attributeTable = (type: string): Html => html`<div class="attributes" id="${attributesAnchor(type)}">
<h3><a href="#${attributesAnchor(type)}"><code>${type}</code></a></h3>
<table><thead><tr><th>Attribute</th><th>Meaning</th><th>Type</th><th>Stored in</th><th>Read by</th></tr></thead><tbody>
${Object.entries(attributeList(type)).map(
  ([name, { meaning, type: form, stored, readBy }]) =>
    html`<tr><td><code>${name}</code></td><td>${meaning}</td><td>${form}</td><td>${stored.join(', ')}</td><td>${readBy}</td></tr>\n`,
)}</tbody></table>
</div>
`;

import type { Endpoint } from '../endpoint.ts';
import type { Root } from '../roots.ts';
import { errorsAt } from './errors.ts';
import { type Html, html } from './html.ts';

/** The errors of a root; with an endpoint, those a request to it can meet. */
export const errorTable = (
  root: Root,
  endpoint?: Endpoint,
): Html => html`<table class="numbers"><thead><tr><th>Status</th><th>errorcode</th><th>When</th></tr></thead><tbody>
${errorLines(root, endpoint)}</tbody></table>`;

function errorLines(root: Root, endpoint: Endpoint | undefined): Html[] {
  const alike = Object.groupBy(errorsAt(root, endpoint), ({ status, code }) => `${status} ${code}`);
  return Object.values(alike).map((errors = []) => {
    const { status, code } = errors[0]!;
    const sentences = errors.map(({ when }) => when).join(' ');
    return html`<tr><td>${status}</td><td>${code}</td><td>${sentences}</td></tr>\n`;
  });
}

import type { Endpoint } from '../../../src/rest/endpoints/endpoint.ts';
import type { Need } from './refusals.ts';
import type { Asked } from './rules.ts';

/** One call, and what the policy is asked by it. */
export interface Request {
  readonly row: Endpoint;
  readonly root: string;
  /** Below the root, encoded. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Names that the caller has written down. */
  readonly mentions: readonly string[];
  /** Argument lines, the objects each is about where they differ, and the command where it is not the row's. */
  readonly lines: readonly { readonly line: string; readonly object?: string; readonly command?: string }[];
  /** All that it needs a right to, where the model can tell. */
  readonly needs?: readonly Need[] | undefined;
}

/** What is wrong with how a request was answered, as a sentence. */
export type Wrong = string;

/** The part of a request that its row does not decide. */
export type Content = Pick<Request, 'body' | 'mentions' | 'lines' | 'needs'>;
export const none: Content = { mentions: [], lines: [{ line: '' }] };

/** What the policy is asked for a request. */
export const askedBy = ({ row, lines }: Pick<Request, 'row' | 'lines'>): Asked[] =>
  lines.map(({ command = row.command.name, line }) => ({ command, line }));

/** A path with its segments. */
export const fill = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));

/** The call as somebody could repeat it by hand. */
export const curlText = ({ row, root, path, query, headers: sent, body }: Request): string => {
  const parameters = new URLSearchParams(query).toString();
  const parts = Object.entries(sent).map(([name, value]) => `-H '${name}: ${value}' `);
  const data = body === undefined ? '' : `-H 'Content-Type: application/json' -d '${JSON.stringify(body)}' `;
  return `curl -g -X ${row.method} -H "X-Auth-Token: $OP" ${parts.join('')}${data}'$HOST${root}${path}${parameters && `?${parameters}`}'`;
};

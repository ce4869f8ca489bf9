import { quoteWord } from '../../core/shell-words.ts';
import type { Endpoint } from '../endpoint.ts';
import type { Root } from '../roots.ts';
import { carriesAccount } from './rows.ts';

interface CurlOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: readonly string[];
  readonly withToken?: boolean;
}

/** A command that sends a request. */
export function curlLine(url: string, { method = 'GET', body, headers = [], withToken = true }: CurlOptions): string {
  const words = [
    'curl --cacert ca.pem',
    ...(withToken ? ['-H "X-Auth-Token: $TOKEN"'] : []),
    ...headers.map((header) => `-H ${quoteWord(header)}`),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'"]),
    ...(method === 'GET' && body === undefined ? [] : [`-X ${method}`]),
    ...(body === undefined ? [] : [`-d ${quoteWord(JSON.stringify(body))}`]),
    // Without -g curl takes brackets and braces for patterns of its own.
    `${/[[\]{}]/.test(url) ? '-g ' : ''}${quoteWord(url)}`,
  ];
  return wrapped(words);
}

const width = 68;

/** Words on as many lines as they need. */
function wrapped(words: readonly string[]): string {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(last === undefined ? word : `  ${word}`);
  }
  return lines.join(' \\\n');
}

export const baseUrl = ({ prefix }: Root): string => `https://HOST:8443${prefix}`;

const queryText = (query: Readonly<Record<string, string>> | undefined): string =>
  query === undefined ? '' : `?${new URLSearchParams(query).toString()}`;

/** The command line of an endpoint's example. */
export const exampleCurl = (root: Root, endpoint: Endpoint): string =>
  curlLine(`${baseUrl(root)}${endpoint.example.path}${queryText(endpoint.example.query)}`, {
    method: endpoint.method,
    body: endpoint.example.body,
    withToken: !carriesAccount(endpoint),
  });

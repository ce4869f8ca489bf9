import { quoteWord } from '../../core/shell-words.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Root } from '../endpoints/roots.ts';
import type { ExampleRequest } from './programs.ts';
import { carriesAccount } from './rows.ts';

/** Text that is HTML already; everything else that goes into a page is escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Content = Html | string | number | readonly Content[];

/** A piece of HTML. What is put in is escaped unless it was made by this function; lists are put in one after another. */
export const html = (parts: TemplateStringsArray, ...contents: readonly Content[]): Html =>
  new Html(parts.reduce((made, part, position) => made + rendered(contents[position - 1]!) + part));

export const nothing = new Html('');

function rendered(content: Content): string {
  if (content instanceof Html) return content.text;
  if (typeof content === 'object') return content.map(rendered).join('');
  return escapeHtml(String(content));
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => escapes[character]!);

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

/** The request of an endpoint's example. */
export const exampleRequest = (root: Root, endpoint: Endpoint): ExampleRequest => {
  const { method, example, reply } = endpoint;
  return {
    url: `${baseUrl(root)}${example.path}${queryText(example.query)}`,
    method,
    body: example.body,
    withToken: !carriesAccount(endpoint),
    reply,
  };
};

/** The same for curl. */
export function exampleCurl(root: Root, endpoint: Endpoint): string {
  const { url, ...options } = exampleRequest(root, endpoint);
  return curlLine(url, options);
}

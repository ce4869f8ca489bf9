import { attributeList } from '../../objects/attribute-list.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Root } from '../endpoints/roots.ts';
import { describedAs, isOpen, membersOf } from './attribute-schemas.ts';
import { commandLines, rowName } from './command-lines.ts';
import { baseUrl, curlLine, exampleCurl, exampleRequest, type Html, html, nothing } from './html.ts';
import { errorsAt } from './errors.ts';
import { type ExampleRequest, javascriptProgram, pythonProgram } from './programs.ts';
import { canDryRun, canRespondAsync, operationId, replies } from './rows.ts';

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

export const methodBadge = (method: string): Html =>
  html`<span class="method ${method.toLowerCase()}">${method}</span>`;

/** A path with its variable segments marked. */
export const shownPath = (path: string): Html =>
  html`${path.split(/(\{[^}]*\})/).map((piece) => (piece.startsWith('{') ? html`<i>${piece}</i>` : piece))}`;

export const codeBox = (title: string, text: string): Html =>
  html`<figure><figcaption>${title}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>`;

/** The ways in which a request is shown. The reader chooses one; without the script of the page all are there, the first open. */
const languages = [
  ['curl', 'curl'],
  ['cli', 'Command line'],
  ['python', 'Python'],
  ['javascript', 'JavaScript'],
] as const;

function requestBox(request: ExampleRequest, curl: string, line: string | null): Html {
  const samples: Readonly<Record<(typeof languages)[number][0], string>> = {
    curl,
    cli: line ?? '# No command does this.',
    python: pythonProgram(request),
    javascript: javascriptProgram(request),
  };
  return html`<figure class="request"><figcaption>Request</figcaption>
${languages.map(
  ([name, title]) =>
    html`<details class="${name}"${name === 'curl' ? html` open` : nothing}><summary>${title}</summary><pre tabindex="0"><code>${samples[name]}</code></pre></details>\n`,
)}</figure>`;
}

/** A request that needs no credentials. */
export function publicRequest(root: Root, path: string, contentType: string): Html {
  const url = `${baseUrl(root)}${path}`;
  const request = {
    url,
    method: 'GET',
    withToken: false,
    reply: contentType === 'text/html' ? 'text' : 'object',
  } as const;
  return requestBox(request, curlLine(url, request), path === '/health' ? 'muster doctor' : null);
}

/** As the service writes it with pretty=1. */
export const prettyJson = (value: unknown): string => JSON.stringify(value, null, 3);

const shownReply = (reply: unknown): string => (typeof reply === 'string' ? reply : prettyJson(reply));

/** What the page says of a row. */
export function endpointArticle(root: Root, endpoint: Endpoint): Html {
  const { method, path, summary, description, example } = endpoint;
  const id = operationId(endpoint);
  return html`<article id="${id}">
<h3>${methodBadge(method)} <a href="#${id}"><code>${shownPath(path)}</code></a></h3>
<div class="columns"><div>
<p>${summary}</p>
${description === undefined ? nothing : html`<p class="more">${description}</p>`}
${facts(endpoint)}
${querySection(endpoint)}
${bodySection(endpoint)}
<details><summary>Errors</summary>
${errorTable(root, endpoint)}</details>
</div><div>
${requestBox(exampleRequest(root, endpoint), exampleCurl(root, endpoint), commandLines[rowName(endpoint)] ?? null)}
${example.reply === undefined ? nothing : codeBox('Reply', shownReply(example.reply))}
</div></div>
</article>`;
}

function facts(endpoint: Endpoint): Html {
  const { command, reply, needsToken, only, bulk, method } = endpoint;
  const status = method === 'POST' ? 201 : 200;
  const shape = reply === 'none' ? 'no body' : replies[reply].key.toLowerCase();
  const extra = [
    ...(command.free ? ['Every account may do this for itself; no policy is asked.'] : []),
    ...(needsToken ? ['Needs the header X-Auth-Token.'] : []),
    ...(only === undefined ? [] : [`Offered at ${only} only.`]),
    ...(bulk ? ['Takes large bodies.'] : []),
    ...(canRespondAsync(endpoint) ? ['Takes Prefer: respond-async.'] : []),
    ...(canDryRun(endpoint) ? ['Can be tried with dryRun=1.'] : []),
  ];
  return html`<dl>
<dt>Command</dt><dd><code>${command.name}</code></dd>
<dt>Reply</dt><dd>${status}, ${shape}</dd>
${extra.length === 0 ? nothing : html`<dt>Note</dt><dd>${extra.join(' ')}</dd>`}
</dl>`;
}

function querySection({ query }: Endpoint): Html {
  if (query === undefined) return nothing;
  const rows = Object.entries(query).map(
    ([name, description]) => html`<tr><td><code>${name}</code></td><td>${description}</td></tr>\n`,
  );
  return html`<h4>Query</h4>
<table><tbody>
${rows}</tbody></table>`;
}

function bodySection({ body, defines }: Endpoint): Html {
  if (body === undefined) return nothing;
  const rows = membersOf(body).map(
    ({ name, type, required, description }) =>
      html`<tr><td><code>${name}</code></td><td>${type}</td><td>${required ? 'required' : 'optional'}</td><td>${description}</td></tr>\n`,
  );
  const text = describedAs(body);
  const lead = isOpen(body)
    ? html`An object of <em>${text === '' ? 'name: value' : text}</em>.`
    : html`${sentence(text)}`;
  const table = html`<table><thead><tr><th>Member</th><th>Type</th><th></th><th></th></tr></thead><tbody>
${rows}</tbody></table>`;
  const attributes =
    defines === undefined
      ? nothing
      : html` The <a href="#${attributesAnchor(defines)}">attributes of a ${defines}</a> are listed.`;
  return html`<h4>Body</h4>
<p>${lead}${attributes}</p>
${rows.length === 0 ? nothing : table}`;
}

const sentence = (text: string): string =>
  text === '' ? 'An object.' : `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

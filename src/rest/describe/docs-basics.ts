import type { Root } from '../endpoints/roots.ts';
import { baseUrl, curlLine, html, type Html, nothing } from './html.ts';
import { codeBox, errorTable, prettyJson } from './docs-endpoint.ts';
import { commonParameters, responseHeaders } from './parameters.ts';
import { errorReply, examples, replies } from './rows.ts';

interface Basics {
  readonly id: string;
  readonly title: string;
  readonly text: Html;
  readonly example?: Html;
  /** Below both. */
  readonly table?: Html;
}

/** What holds for every endpoint. */
export const basics = (root: Root): readonly Basics[] => [
  {
    id: 'authentication',
    title: 'Authentication',
    text: html`<p>Every request says who sends it: by a token in the header <code>X-Auth-Token</code>, or by
<code>userName</code> and <code>userPW</code> in the query or the body. If a token is sent, only the token counts.${
      root.takesAuthorization
        ? html` <code>Authorization: Bearer TOKEN</code>
and <code>Authorization: Basic</code> with account and password are understood too. Browsers sign in with <code>POST /session</code>.`
        : nothing
    }
With a body of more than 64 KiB they must stand in the header or the query.
<code>POST /tokens</code> gives a token; keep it in a variable for the examples on this page.</p>
<p>The certificate of the service is checked against <code>ca.pem</code>: a copy of <code>tls/ca.pem</code> in the data directory of
the service.</p>
<p>The examples in Python and JavaScript read the token from the environment. The command line asks the server that
<code>muster login</code> logged in to, or the service on the same machine.</p>`,
    example: codeBox(
      'A token for the examples',
      `export TOKEN=$(${curlLine(`${baseUrl(root)}/tokens`, {
        method: 'POST',
        body: { userName: 'root', userPW: 'PASSWORD' },
        withToken: false,
      })} |
  sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
    ),
  },
  {
    id: 'parameters',
    title: 'Common parameters',
    text: html`<p>A request may carry these. Those of the query may also stand in the body.
A body is JSON, sent with <code>Content-Type: application/json</code>.</p>
${definitions(commonParameters.map(({ name, example, in: location, description }) => [location === 'query' ? `${name}=${example}` : name, description]))}
<p>Replies have these headers:</p>
${definitions(Object.entries(responseHeaders).map(([name, { description }]) => [name, description]))}`,
  },
  {
    id: 'replies',
    title: 'Replies',
    text: html`<p>A <code>POST</code> that succeeds has the status 201, everything else 200. <code>PUT</code>, <code>DELETE</code> and a
<code>POST</code> that creates answer with no body. Names come in byte order; an empty list is <code>[]</code>.${root.answersHead ? html` <code>HEAD</code> is answered where <code>GET</code> is.` : nothing}</p>
${definitions(Object.values(replies).map(({ key, description }) => [key.toLowerCase(), description]))}`,
    example: html`${codeBox('attributes', prettyJson({ n1: { groups: 'all,compute', mgt: 'ipmi' } }))}
${codeBox('list', prettyJson(['n1', 'n2']))}
${codeBox('lines', prettyJson({ n1: ['first line', 'second line'] }))}`,
  },
  {
    id: 'errors',
    title: 'Errors',
    text: html`<p>If anything failed, the body has exactly two members: <code>error</code>, one sentence or more, and
<code>errorcode</code>, a number. What failed on a node reads <code>node: sentence</code>.</p>
${denial(root)}`,
    example: codeBox(errorReply.key, prettyJson(examples.error)),
    table: errorTable(root),
  },
  {
    id: 'noderange',
    title: 'Node ranges',
    text: html`<p>Where a path says <code>{noderange}</code>, it takes one of these or several joined by commas. A name that is neither a
node nor a group is an error, and so is a piece that cannot be read; both name the piece.</p>
${definitions(noderangeExamples.map(({ range, meaning }) => [range, meaning]))}`,
    example: codeBox('The names a range selects', curlLine(`${baseUrl(root)}/nodes/n[1-3],rack2/nodels`, {})),
  },
  {
    id: 'dryrun',
    title: 'Dry run',
    text: html`<p>With <code>dryRun=1</code> a change of the database goes through the same checks and the same policy, and nothing is
changed. The reply, with the status 200, shows each row that would be written before and after, <code>null</code> where there is
none, and how many objects the path names. A command on nodes is not sent: <code>targets</code> says for each node where it would go,
<code>refused</code> why muster would not send it. What only the device itself would refuse is not known. Secrets are not shown. What can
not be tried, such as writing the hosts file, is refused with a sentence and not done. Any other spelling is an error, so that a slip
never does the real thing.</p>`,
    example: html`${codeBox('Request', curlLine(`${baseUrl(root)}/nodes/n1?dryRun=1`, { method: 'PUT', body: { mgt: 'openbmc' } }))}
${codeBox('Reply', prettyJson(examples.dryRun))}
${codeBox('Of a command on nodes', curlLine(`${baseUrl(root)}/nodes/n1,n2/power?dryRun=1`, { method: 'PUT', body: { action: 'off' } }))}
${codeBox('Reply', prettyJson(examples.dryRunOnNodes))}`,
  },
  {
    id: 'revisions',
    title: 'Revisions',
    text: html`<p>Every change of the database is made as a whole or not at all, and has a number, the revision. Replies show it in
<code>X-Muster-Revision</code>. A request that sends it back is answered from that revision or a later one, so that it sees what the
earlier request did, whichever server answers.</p>
<p>A reply to <code>GET</code> may have an <code>ETag</code>; sent back in <code>If-None-Match</code>, it saves the body if nothing has
changed.</p>`,
    example: codeBox(
      'Not older than revision 1042',
      curlLine(`${baseUrl(root)}/nodes/n1`, { headers: ['X-Muster-Revision: 1042'] }),
    ),
  },
  {
    id: 'ndjson',
    title: 'Streams',
    text: html`<p>With <code>Accept: application/x-ndjson</code> the reply is one JSON object a line, each sent as soon as it is known. A
blank line now and then keeps the connection alive. The last line is the summary; without it the stream was cut. What fails
before the first line is an ordinary error reply.</p>`,
    example: html`${codeBox('Request', curlLine(`${baseUrl(root)}/nodes/compute/attrs/mgt`, { headers: ['Accept: application/x-ndjson'] }))}
${codeBox('Reply', examples.stream.map((line) => JSON.stringify(line)).join('\n'))}`,
  },
  {
    id: 'longwork',
    title: 'Long work',
    text: html`<p>Some endpoints do work that takes minutes, others work on many nodes. A plain request waits for its end. With
<code>Prefer: respond-async</code> the status is 202 as soon as everything has been checked, and <code>Location</code> is the path of
the run: <code>GET</code> shows its state (<code>running</code>, <code>finished</code>, <code>cancelled</code> or
<code>interrupted</code>, if the service was killed), its progress, its last lines and, if it failed, the errors. With
<code>Accept: application/x-ndjson</code> each line comes as soon as it is written; an error is a line before the summary.</p>
<p>It goes on when the client leaves, and <code>DELETE</code> of the run cancels it. There is one run at a time on each thing: another
request is refused with a sentence that says who works on it since when. What is too much at once waits for its turn.</p>`,
    example: codeBox('Lines of long work', examples.work.map((line) => JSON.stringify(line)).join('\n')),
  },
];

const definitions = (entries: readonly (readonly [string, string])[]): Html =>
  html`<table class="definitions"><tbody>
${entries.map(([name, meaning]) => html`<tr><td><code>${name}</code></td><td>${meaning}</td></tr>\n`)}</tbody></table>`;

const denial = ({ denialPrefix }: Root): Html =>
  denialPrefix.length === 0
    ? nothing
    : html`<p>A refusal by the policy begins with the sentence <code>${denialPrefix.join(' ')}</code>.</p>`;

/** The node range in ten lines. */
export const noderangeExamples: readonly { readonly range: string; readonly meaning: string }[] = [
  { range: 'n1', meaning: 'one node' },
  { range: 'compute', meaning: 'the members of a group' },
  { range: 'n1,n7,rack2', meaning: 'everything in the list' },
  { range: 'n1-n20', meaning: 'n1 to n20; n1:n20 is the same, and n001-n020 keeps the zeros' },
  { range: 'f[1-2]n[1-3,7]', meaning: 'numbers in brackets, every combination: f1n1 to f2n7' },
  { range: 'n8+4', meaning: 'n8 and the four after it' },
  { range: 'compute,-n7', meaning: 'the group without n7; what is excluded stays out, wherever it stands' },
  { range: '(rack1,rack2)@compute', meaning: 'those of both racks that are also in compute' },
  {
    range: 'nodetype.os=~^rhel',
    meaning: 'nodes by an attribute: ==, !=, and =~, !~ with a pattern; mgt and groups need no table',
  },
  { range: '/n[12]\\d', meaning: 'a pattern for the whole name; in a path the slash is written %2F' },
];

import { execFileSync } from 'node:child_process';
import { assert, property, string } from 'fast-check';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { quoteWord } from '../../src/core/shell-words.ts';
import { type Cluster, expand } from '../../src/noderange/index.ts';
import { attributeList } from '../../src/objects/attribute-list.ts';
import { noArguments, noLine, query } from '../../src/commands/command.ts';
import { docsPage } from '../../src/rest/describe/docs.ts';
import { membersOf } from '../../src/rest/describe/attribute-schemas.ts';
import { commandLines, rowName } from '../../src/rest/describe/command-lines.ts';
import { curlLine, exampleCurl, exampleRequest, html } from '../../src/rest/describe/html.ts';
import { javascriptProgram, pythonProgram } from '../../src/rest/describe/programs.ts';
import { errorsAt } from '../../src/rest/describe/errors.ts';
import { noderangeExamples } from '../../src/rest/describe/docs-basics.ts';
import { operationId, rowsAt } from '../../src/rest/describe/rows.ts';
import { type Endpoint, endpoint } from '../../src/rest/endpoints/endpoint.ts';
import { endpoints } from '../../src/rest/endpoints/index.ts';
import { publicPathsAt } from '../../src/rest/describe/public-paths.ts';
import { musterRoot, roots } from '../../src/rest/endpoints/roots.ts';

const escaped = (text: string): string => html`${text}`.text;
const textOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** The tags of a page, which must close in the order they open. */
function checkedTags(page: string): string[] {
  const open: string[] = [];
  const tags: string[] = [];
  const markup = page.replace(/(<script[^>]*>)[^]*?(?=<\/script>)/, '$1');
  for (const [, close, name] of markup.matchAll(/<(\/?)([a-z0-9]+)[^<>]*>/g)) {
    tags.push(name!);
    if (close) expect(open.pop()).toBe(name);
    else if (!['meta', 'link', 'input'].includes(name!)) open.push(name!);
  }
  expect(open).toEqual([]);
  return tags;
}

describe.each(roots.map((root) => [root.prefix, root] as const))('the reference page of %s', (prefix, root) => {
  const page = docsPage(root, endpoints, '1.2.3');
  const rows = rowsAt(root, endpoints);
  const articleOf = (id: string): string => {
    const start = page.indexOf(`<article id="${id}">`);
    expect(start, id).toBeGreaterThan(0);
    return page.slice(start, page.indexOf('</article>', start));
  };

  it('is one well-formed page with one script of its own and without anything from elsewhere', () => {
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(page.match(/<script/g)).toHaveLength(1);
    // The policy lets nothing run or be styled by attributes.
    expect(page).not.toMatch(/<[^>]+ (on\w+|style)=/);
    const tags = new Set(checkedTags(page));
    for (const tag of ['img', 'iframe', 'object', 'form']) expect(tags).not.toContain(tag);
    const links = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target]) => target!);
    for (const target of links) expect(target).toMatch(/^(#[\w-]+|data:,|\/(muster|xcatws)\/(openapi\.json|manual))$/);
    expect(page).not.toMatch(/@import|url\(/);
  });

  it('has every id once and only links that lead to one', () => {
    const ids = [...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id!);
    expect(new Set(ids).size).toBe(ids.length);
    const targets = [...page.matchAll(/href="#([^"]*)"/g)].map(([, target]) => target!);
    for (const target of targets) expect(ids).toContain(target);
  });

  it('names every row once, with command, summary, body, request and reply', () => {
    expect(page.match(/<article /g)).toHaveLength(rows.length + publicPathsAt(root).length);
    for (const row of rows) {
      const article = articleOf(operationId(row));
      const text = textOf(article);
      for (const part of [row.method, row.path, row.summary, row.description ?? '', row.command.name])
        expect(text).toContain(part);
      expect(text).toContain(exampleCurl(root, row));
      expect(text).toContain(`https://HOST:8443${prefix}${row.example.path}`);
      expect(text.includes('Body')).toBe(row.body !== undefined);
      if (row.body !== undefined) for (const { name } of membersOf(row.body)) expect(text).toContain(name);
      for (const { status, code, when } of errorsAt(root, row)) {
        const line = article.split('\n').find((one) => one.startsWith(`<tr><td>${status}</td><td>${code}</td>`));
        expect(line).toContain(escaped(when));
      }
      if (row.example.reply !== undefined) {
        const { reply } = row.example;
        expect(text).toContain(typeof reply === 'string' ? reply : JSON.stringify(reply, null, 3));
      }
      expect(page).toContain(`<li><a href="#${operationId(row)}"`);
    }
    for (const row of endpoints.filter((other) => !rows.includes(other)))
      expect(page).not.toContain(`id="${operationId(row)}"`);
  });

  it('shows every request in four languages, also without its script', () => {
    for (const row of rows) {
      const article = articleOf(operationId(row));
      const request = exampleRequest(root, row);
      for (const [name, sample] of [
        ['curl', exampleCurl(root, row)],
        ['cli', commandLines[rowName(row)] ?? '# No command does this.'],
        ['python', pythonProgram(request)],
        ['javascript', javascriptProgram(request)],
      ] as const) {
        const start = article.indexOf(`<details class="${name}"`);
        const details = article.slice(start, article.indexOf('</details>', start));
        expect(textOf(details), row.path).toContain(sample);
        expect(details.startsWith(`<details class="${name}" open>`)).toBe(name === 'curl');
      }
    }
  });

  it('tells what every attribute means, and leads there from the calls that take them', () => {
    for (const type of ['node', 'group', 'osimage', 'network', 'policy', 'site']) {
      const start = page.indexOf(`<div class="attributes" id="attributes-${type}">`);
      const table = page.slice(start, page.indexOf('</div>', start));
      for (const [name, { meaning, readBy }] of Object.entries(attributeList(type))) {
        const line = table.split('\n').find((one) => one.startsWith(`<tr><td><code>${escaped(name)}</code></td>`));
        expect(line, `${type} ${name}`).toContain(`<td>${escaped(meaning)}</td>`);
        expect(line).toContain(escaped(readBy));
      }
    }
    expect(articleOf('putNodesByNoderange')).toContain('href="#attributes-node"');
  });

  it('checks the certificate in every command line', () => {
    const commands = page.match(/(?<=<code>|\()curl .*/g)!;
    expect(commands.length).toBeGreaterThan(rows.length);
    for (const command of commands) expect(command).toMatch(/^curl --cacert ca\.pem /);
  });

  it('has the public paths and what holds for all endpoints', () => {
    for (const { operationId: id, summary, path } of publicPathsAt(root))
      expect(textOf(articleOf(id))).toMatch(new RegExp(`${path}[^]*${summary}`));
    for (const { status, code, when } of errorsAt(root)) {
      const line = page.split('\n').find((candidate) => candidate.startsWith(`<tr><td>${status}</td><td>${code}</td>`));
      expect(line).toContain(escaped(when));
    }
    for (const { range } of noderangeExamples) expect(page).toContain(`<code>${escaped(range)}</code>`);
    for (const id of ['authentication', 'parameters', 'replies', 'dryrun', 'revisions', 'ndjson'])
      expect(page).toContain(`<section id="${id}">`);
  });
});

const hostile = `<script>alert('1')</script>"&amp;`;
const hostileSegment = hostile.replaceAll('/', '');
const hostileRow: Endpoint = endpoint<object>(`PUT /${hostileSegment}/{${hostileSegment}}`, {
  command: query({ name: hostile, args: noArguments, line: noLine, run: () => ({ shape: 'none' }) }),
  reply: 'attributes',
  body: Type.Object(
    { [hostile]: Type.String({ description: hostile }) },
    { additionalProperties: true, description: hostile },
  ),
  args: () => ({}),
  summary: hostile,
  description: hostile,
  example: { path: `/${hostile}`, body: { [hostile]: hostile }, reply: { [hostile]: { a: hostile } } },
});

describe('what comes from rows', () => {
  it('is escaped wherever it stands', () => {
    const page = docsPage(musterRoot, [hostileRow], hostile);
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toContain('alert(&#39;1&#39;)</script');
    expect(page.split(escaped(hostile)).length).toBeGreaterThan(8);
    checkedTags(page);
  });

  it('never opens a tag or an entity, whatever the text', () => {
    assert(
      property(string(), (text) => {
        const made = html`<p title="${text}">${[text, 1]}</p>`.text;
        expect(made).toMatch(/^<p title="[^"<>']*">[^"<>']*<\/p>$/);
        expect(textOf(html`${text}`.text)).toBe(text);
      }),
    );
  });
});

describe('the shell command of an example', () => {
  it.each<[string, string]>([
    ['n1', 'n1'],
    ['routename=lab,net=10.0.0.0', 'routename=lab,net=10.0.0.0'],
    ['', "''"],
    ['two words', "'two words'"],
    [`it's`, `'it'\\''s'`],
    ['$HOME `id` "x"', '\'$HOME `id` "x"\''],
  ])('quotes %j as %s', (text, word) => expect(quoteWord(text)).toBe(word));

  it('reaches the program word by word as it was meant, also with quotes in the body', () => {
    const body = { command: `echo 'a' "b" $HOME`, note: '\\ `x`' };
    const line = curlLine('https://HOST:8443/muster/nodes/n[1-2]?dryRun=1', { method: 'PUT', body });
    const script = `curl() { printf '%s\\n' "$@"; }; TOKEN=secret; ${line}`;
    const words = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trimEnd().split('\n');
    const head = [
      '--cacert',
      'ca.pem',
      '-H',
      'X-Auth-Token: secret',
      '-H',
      'Content-Type: application/json',
      '-X',
      'PUT',
    ];
    const url = 'https://HOST:8443/muster/nodes/n[1-2]?dryRun=1';
    expect(words).toEqual([...head, '-d', JSON.stringify(body), '-g', url]);
  });

  it('sends no token where the body carries the account', () => {
    const rows = endpoints.filter(({ method, path }) => path === '/tokens' && method !== 'DELETE');
    expect(rows.map((row) => [row.method, exampleCurl(musterRoot, row).includes('X-Auth-Token')])).toEqual([
      ['POST', false],
      ['GET', true],
    ]);
  });
});

describe('the node ranges of the page', () => {
  const names = ['n1', 'n7', 'n8', 'n9', 'n10', 'n11', 'n12', 'f1n1', 'f1n7'];
  const groups = new Map([
    ['compute', ['n1', 'n7', 'n8']],
    ['rack1', ['n1', 'n12']],
    ['rack2', ['n8', 'n9']],
  ]);
  const cluster: Cluster = {
    hasNode: (name: string) => names.includes(name),
    group: (name: string) => groups.get(name),
    select({ table, column, op, value }) {
      expect([table, column, op, value]).toEqual(['nodetype', 'os', '=~', '^rhel']);
      return ['n9'];
    },
    nodeNames: () => names,
  };
  it.each<[string, string]>([
    ['n1', 'n1'],
    ['compute', 'n1,n7,n8'],
    ['n1,n7,rack2', 'n1,n7,n8,n9'],
    [
      'n1-n20',
      [...Array(20).keys()]
        .map((i) => `n${i + 1}`)
        .sort()
        .join(','),
    ],
    ['f[1-2]n[1-3,7]', 'f1n1,f1n2,f1n3,f1n7,f2n1,f2n2,f2n3,f2n7'],
    ['n8+4', 'n10,n11,n12,n8,n9'],
    ['compute,-n7', 'n1,n8'],
    ['(rack1,rack2)@compute', 'n1,n8'],
    ['nodetype.os=~^rhel', 'n9'],
    ['/n[12]\\d', 'n10,n11,n12'],
  ])('%s selects %s', (range, selected) => {
    expect(noderangeExamples.map((example) => example.range)).toContain(range);
    const verify = range.startsWith('/');
    expect(expand(range, cluster, { verify }).nodes.join(',')).toBe(selected);
  });
  it('are all tried', () => expect(noderangeExamples).toHaveLength(10));
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pageNames } from '../../src/rest/describe/manual-pages.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const get = (path: string, root = '/muster') => server.call('GET', path, { root, token: null });
const titlesOf = (page: string): string[] =>
  [...page.matchAll(/<article class="result">\n<h3><a href="[^"]*">(.*?)<\/a>/g)].map(([, title]) => title!);

describe.each(['/muster', '/xcatws'])('the manual at %s', (root) => {
  it('has every page of docs/, and its links lead to pages and headings that are there', async () => {
    const pages = new Map<string, string>();
    for (const name of pageNames()) {
      const path = name === '' ? '/manual' : `/manual/${name}`;
      const reply = await get(path, root);
      expect([path, reply.status, reply.headers['content-type']]).toEqual([path, 200, 'text/html; charset=utf-8']);
      pages.set(`${root}${path}`, reply.text);
    }
    pages.set(`${root}/docs`, (await get('/docs', root)).text);
    for (const [from, text] of pages) {
      for (const [, href] of text.matchAll(/<a href="([^"]+)"/g)) {
        if (/^https?:/.test(href!)) continue;
        const { pathname, hash } = new URL(href!, `https://host${from}`);
        if (pathname === `${root}/openapi.json`) continue;
        const target = pages.get(pathname);
        expect(target, `${from} leads to ${href}, which is no page`).toBeDefined();
        if (hash !== '') expect(target!.includes(` id="${hash.slice(1)}"`), `${from} leads to ${href}`).toBe(true);
      }
    }
  });

  it('names its pages in the list of every page', async () => {
    const { text } = await get('/manual', root);
    const list = text.slice(text.indexOf('<nav'), text.indexOf('</nav>'));
    for (const name of pageNames().filter((page) => page !== ''))
      expect(list).toContain(`href="${root}/manual/${name}"`);
  });

  it('answers for a page that it does not have with a sentence', async () => {
    const reply = await get('/manual/nosuch', root);
    expect(reply.json.error).toEqual([`The manual has no page at ${root}/manual/nosuch; ${root}/manual lists all.`]);
    expect((await get('/manual/%2e%2e%2fpackage', root)).text).not.toContain('dependencies');
  });
});

describe('its search', () => {
  const search = async (question: string): Promise<string> => {
    const reply = await get(`/manual/search?q=${encodeURIComponent(question)}`);
    expect(reply.status).toBe(200);
    return reply.text;
  };

  it.each([
    ['temperature', 'GET /nodes/{noderange}/vitals'],
    ['switch nodes on', 'PUT /nodes/{noderange}/power'],
    ['nextboot', 'PUT /nodes/{noderange}/nextboot'],
    ['bmcpassword', 'bmcpassword'],
    ['hardware.networks', 'hardware.networks'],
  ])('finds %s', async (question, title) => {
    expect(titlesOf(await search(question))).toContain(title);
  });

  it('says that nothing was found, and shows what was asked as text', async () => {
    const page = await search('<script>alert(1)</script> zzz');
    expect(page).toContain('<h1>Nothing has all of these words: &lt;script&gt;alert(1)&lt;/script&gt; zzz</h1>');
  });

  it('takes a question of any length, and none', async () => {
    expect(titlesOf(await search('x'.repeat(5_000)))).toEqual([]);
    expect(titlesOf(await search(''))).toEqual([]);
  });
});

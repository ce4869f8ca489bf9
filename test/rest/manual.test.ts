import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pageNames } from '../../src/rest/describe/manual-pages.ts';
import { wordsOf } from '../../src/rest/describe/manual-search.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const get = (path: string, root = '/muster') => server.call('GET', path, { root, token: null });
const resultsOf = (page: string): { link: string; title: string }[] =>
  [...page.matchAll(/<article class="result">\n<h3><a href="([^"]*)">(.*?)<\/a>/g)].map(([, link, title]) => ({
    link: link!,
    title: title!,
  }));
const titlesOf = (page: string): string[] => resultsOf(page).map(({ title }) => title);

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

  it('shows in the list which page is open, with its sections', async () => {
    const { text } = await get('/manual/boot', root);
    const list = text.slice(text.indexOf('<nav'), text.indexOf('</nav>'));
    expect(list.match(/aria-current="page"/g)).toHaveLength(1);
    expect(list).toContain(`<a href="${root}/manual/boot" aria-current="page">`);
    for (const [, anchor] of text.matchAll(/<h2 id="([^"]*)"/g)) expect(list).toContain(`<a href="#${anchor}"`);
  });

  it('calls pages by their titles where the source has names of files', async () => {
    for (const name of pageNames()) {
      const { text } = await get(name === '' ? '/manual' : `/manual/${name}`, root);
      expect(text.match(/>[a-z/-]+\.md<\/a>/g) ?? [], name).toEqual([]);
    }
  });

  it('answers for a page that it does not have with a sentence', async () => {
    const reply = await get('/manual/nosuch', root);
    expect(reply.json.error).toEqual([`The manual has no page at ${root}/manual/nosuch; ${root}/manual lists all.`]);
  });

  it.each([
    '%2e%2e%2fpackage',
    '..%2f..%2f..%2fetc%2fpasswd',
    '%2e%2e/%2e%2e/etc/passwd',
    'reference/..%2f..%2fARCHITECTURE',
    'boot%00',
    'boot%00.md',
    'boot.md',
    'constructor',
    '__proto__',
    '%ff',
    '%zz',
    'a/b/c/d/e',
    'x'.repeat(50_000),
  ])('has no page at %s', async (path) => {
    const reply = await get(`/manual/${path}`, root);
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(reply.status).toBeLessThan(500);
    expect(reply.headers['content-type']).toMatch(/^application\/json/);
  });

  it('can only be read', async () => {
    for (const path of ['/manual', '/manual/boot', '/manual/search'])
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
        expect((await server.call(method, path, { root, token: null })).status, `${method} ${path}`).toBe(405);
  });

  it('lets a browser run and load nothing but its own', async () => {
    const { headers, text } = await get('/manual/search?q=x', root);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; /,
    );
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(text).not.toMatch(/<[^>]+ (on\w+|style)=/);
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

  it.each([
    ['reset bmc password', 'hardware'],
    ['node does not boot', 'boot'],
    ['temperature', 'hardware'],
    ['change root password', 'accounts'],
    ['forgot password', 'accounts'],
    ['restore backup', 'backup'],
    ['database corrupt', 'backup'],
    ['where is the log?', 'backup'],
    ['dhcp relay', 'names'],
    ['delete a node', 'names'],
    ['certificate expired', 'install'],
    ['how do I log in from another machine', 'install'],
    ['undo', 'history'],
    ['who changed this', 'history'],
    ['migrate vm', 'machines'],
    ['snapshot vm', 'machines'],
    ['add a node', 'nodes'],
    ['power off a rack', 'hardware'],
    ['run command on all nodes', 'remote'],
    ['install rocky linux', 'images'],
    ['kickstart template', 'boot'],
    ['xcat migration', 'xcat'],
    ['prometheus metrics', 'programs'],
  ])('has the page that answers "%s" among the first five', async (question, page) => {
    const pages = resultsOf(await search(question)).map(({ link }) => link.split('#')[0]);
    expect(pages.slice(0, 5)).toContain(`/muster/manual/${page}`);
  });

  it('names each place once', async () => {
    const links = resultsOf(await search('password')).map(({ link }) => link);
    expect(links).toEqual([...new Set(links)]);
  });

  it('says that nothing was found, and shows what was asked as text', async () => {
    const page = await search('<script>zzzzq</script> zzzzq');
    expect(page).toContain('&lt;script&gt;zzzzq&lt;/script&gt; zzzzq</h1>');
    expect(page).not.toContain('<script>zzzzq');
    expect(await search('zzzzq')).toContain('<h1>Nothing found: zzzzq</h1>');
    expect(await search('certificate zzzzq')).toContain(
      '<h1>Nothing has all of these words, but some of them: certificate zzzzq</h1>',
    );
  });

  it('answers many at once, or says that they are too many, and others meanwhile', async () => {
    const many = Array.from({ length: 150 }, () => get('/manual/search?q=muster+node+server+command+table+image'));
    expect((await get('/health')).status).toBe(200);
    const statuses = new Set((await Promise.all(many)).map(({ status }) => status));
    expect(statuses).toContain(200);
    expect([...statuses].filter((status) => ![200, 503].includes(status))).toEqual([]);
  });

  it('shows excerpts as text, without marks of the source', async () => {
    for (const question of ['install', 'dhcp', 'password', 'settings'])
      expect((await search(question)).match(/<p>[^<]*(\]\(|`)[^<]*<\/p>/g) ?? []).toEqual([]);
  });

  it('keeps the question in its box, whatever is in it', async () => {
    expect(await search('dhcp relay')).toContain('value="dhcp relay"');
    expect(await search('"><b onclick=x>')).toContain('value="&quot;&gt;&lt;b onclick=x&gt;"');
  });

  it('looks for a few words of a long question, each once, and not for words that say nothing', () => {
    expect(wordsOf('How do I boot the node, boot a NODE?')).toEqual(['boot', 'nod']);
    expect(wordsOf('a the')).toEqual(['a', 'the']);
    expect(wordsOf('q w r t z u p d f g h k l '.repeat(5_000))).toHaveLength(8);
    expect(wordsOf('(a+)+$ [^] .* \\ \0')).toEqual(['a']);
  });

  it('takes a question of any length, and none', async () => {
    expect(titlesOf(await search('x'.repeat(5_000)))).toEqual([]);
    expect(titlesOf(await search(''))).toEqual([]);
    expect(await search(' ')).toContain('<h1>Search: type what you want to do</h1>');
  });
});

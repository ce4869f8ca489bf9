import { rmSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser, passwordOf } from '../harness/users.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { type Browser, barriers, consoleAt, goTo, signIn, startBrowser } from './browser.ts';

let server: TestServer;
let lab: LightLab;
let browser: Browser;
let first: BrowserContext;

const { username, password } = labAccounts.administrator;
const hostile = '<img src=x onerror="window.broken=1">';

beforeAll(async () => {
  [server, lab] = await Promise.all([startServer(), startLightBmcs({ count: 6, prefix: '127.43' })]);
  const bmc = (i: number) => ({
    groups: 'all,compute',
    mgt: 'ipmi',
    bmc: lab.addresses[i]!,
    bmcusername: username,
    bmcpassword: password,
  });
  await server.ok('PUT', '/nodes', Object.fromEntries(lab.addresses.map((_, i) => [`n${i + 1}`, bmc(i)])));
  await server.ok('PUT', '/groups/compute', { rack: 'r1' });
  await server.ok('PUT', '/nodes/n5', { usercomment: hostile, rack: hostile });
  browser = await startBrowser();
  first = browser.context;
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
  await server?.stop();
  // After the restart it is somebody else's to the server.
  if (server) rmSync(server.data, { recursive: true, force: true });
});
afterEach(() => expect(browser.complaints.splice(0)).toEqual([]));

const at = (path = ''): string => consoleAt(server.port, path);
const open = (context: BrowserContext, path = ''): Promise<Page> => browser.open(context, server.port, path);

const legend = (page: Page, value: string) => page.locator('.legend button', { hasText: value });

describe('the web console', () => {
  it('is served compressed and kept for long, with a policy that lets nothing else in', async () => {
    const page = await server.call('GET', '/console/nodes/n1', { token: null });
    expect([page.status, page.headers['cache-control']]).toEqual([200, 'no-cache']);
    expect(page.headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    const tag = page.headers.etag!;
    expect((await server.call('GET', '/console', { token: null, headers: { 'If-None-Match': tag } })).status).toBe(304);
    const [script = ''] = /\/console\/console-[\da-f]+\.js/.exec(page.text)!;
    const plain = await server.call('GET', script, { token: null });
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    let firstLoad = 0;
    for (const [encoding, sent] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0', undefined],
    ] as const) {
      const packed = await server.call('GET', script, { token: null, headers: { 'Accept-Encoding': encoding } });
      expect(packed.headers['content-encoding']).toBe(sent);
      if (sent === 'gzip') firstLoad = Number(packed.headers['content-length']);
    }
    expect(firstLoad).toBeLessThan(250_000);
    for (const [path, root] of [
      ['/console/nothing.js', '/muster'],
      ['/console/..%2f..%2fpackage.json', '/muster'],
      ['/console', '/xcatws'],
    ] as const) {
      const { status, text } = await server.call('GET', path, { token: null, root });
      expect([path, status === 404 || text === page.text]).toEqual([path, true]);
    }
  });

  it('refuses a wrong password, signs in, and keeps the session over a reload', async () => {
    const page = await open(first);
    await signIn(page, 'root', 'wrong');
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('Authentication failure');
    await signIn(page);
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toContain('6 nodes');
    await page.reload();
    await expect.poll(() => legend(page, 'off').textContent()).toBe('off6');
    expect(await page.evaluate<string>('document.cookie')).toBe('');
    await page.close();
  });

  it('selects nodes, powers them on, and shows it in a second browser at once', async () => {
    const page = await open(first);
    const other = await browser.another();
    const second = await open(other);
    await signIn(second);
    await expect.poll(() => legend(second, 'off').textContent()).toBe('off6');
    await page.keyboard.press('/');
    await page.keyboard.type('compute,-n');
    await expect.poll(() => page.getByRole('option', { name: /^n1/ }).count()).toBe(1);
    await page.keyboard.type('6,-n5');
    await expect.poll(() => page.locator('#range-count').textContent()).toBe('4 nodes');
    await page.getByLabel('Power', { exact: true }).selectOption('on');
    await page.getByRole('button', { name: 'Power on 4 nodes' }).click();
    await expect.poll(() => page.locator('section.card').textContent()).toContain('n[1-4]4 nodeson');
    expect(await lab.poweredOn()).toBe(4);
    await expect.poll(() => legend(second, 'on').first().textContent()).toBe('on4');
    // The link is enough to follow the run.
    await second.goto(page.url());
    await expect.poll(() => second.locator('section.card').textContent()).toContain('n[1-4]');
    await Promise.all([page.close(), other.close()]);
  });

  it('goes to pages, nodes and actions by their names, with keys alone', async () => {
    const page = await open(first);
    await legend(page, 'on').first().waitFor();
    await page.keyboard.press('Control+k');
    const box = page.getByRole('combobox', { name: 'Page, node or action' });
    await box.fill('n3');
    await expect.poll(() => page.locator('li[role=option][aria-selected=true]').textContent()).toBe('n3node');
    await box.press('Enter');
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toBe('n3');
    await page.keyboard.press('Control+k');
    await box.fill('theme');
    await box.press('ArrowDown');
    await expect
      .poll(() => page.locator('li[role=option][aria-selected=true]').textContent())
      .toContain('Theme: light');
    await box.press('ArrowDown');
    await box.press('Enter');
    await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark');
    await page.keyboard.press('Control+k');
    await box.fill('no such thing');
    await expect.poll(() => page.getByRole('dialog').textContent()).toContain('Nothing has this name.');
    await box.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await page.keyboard.press('g');
    await page.keyboard.press('c');
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toBe('Changes');
    await page.close();
  });

  it('asks before it switches off, and does nothing when told so', async () => {
    const page = await open(first, '/nodes/n1');
    await page.getByLabel('Power', { exact: true }).selectOption('off');
    await expect.poll(() => page.getByRole('dialog').textContent()).toContain('lose power at once');
    expect(await page.getByRole('dialog').textContent()).toContain('muster rpower n1 off');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(await lab.poweredOn()).toBe(4);
    await page.close();
  });

  it('shows where a value comes from, edits it after a look at the difference, and takes it back', async () => {
    const page = await open(first, '/nodes/n2');
    const rack = page.locator('tr', { hasText: 'rack' }).first();
    await expect.poll(() => rack.textContent()).toBe('rackr1group compute');
    await rack.getByRole('button').click();
    await page.getByRole('dialog').getByRole('textbox').fill('r2');
    await page.getByRole('button', { name: 'Show what changes' }).click();
    await expect.poll(() => page.getByRole('dialog').textContent()).toContain('rack: r2');
    expect(await server.ok('GET', '/nodes/n2/attrs/rack')).toEqual({ n2: { rack: 'r1' } });
    await page.getByRole('button', { name: 'Write', exact: true }).click();
    await expect.poll(() => rack.textContent()).toBe('rackr2this node');
    expect(await server.ok('GET', '/nodes/n2/attrs/rack')).toEqual({ n2: { rack: 'r2' } });
    await page.getByRole('button', { name: 'Undo' }).first().click();
    await page.getByRole('button', { name: 'Undo 1 row' }).click();
    await expect.poll(() => rack.textContent()).toBe('rackr1group compute');
    await page.getByRole('button', { name: 'Vitals' }).click();
    await expect.poll(() => page.locator('table').last().textContent()).toContain('Temp');
    await page.close();
  });

  it('shows names and values as text, whatever they are', async () => {
    const page = await open(first, '/nodes/n5');
    await expect.poll(() => page.getByRole('button', { name: /Change usercomment/ }).textContent()).toBe(hostile);
    await page.goto(at());
    await page.getByLabel('Color').selectOption('rack');
    await page.getByLabel('Group', { exact: true }).selectOption('rack');
    await expect.poll(() => page.locator('.legend').textContent()).toContain(hostile);
    for (const label of ['Color', 'Group']) {
      await page.getByLabel(label, { exact: true }).selectOption('another attribute…');
      const attribute = page.getByLabel(`${label} by attribute`);
      await expect.poll(() => attribute.locator('xpath=..').locator('option[value=usercomment]').count()).toBe(1);
      expect(await attribute.locator('xpath=..').locator('option[value=bmcpassword]').count()).toBe(0);
      await attribute.fill('usercomment');
      await attribute.press('Enter');
    }
    await expect.poll(() => legend(page, hostile).textContent()).toBe(`${hostile}1`);
    await server.ok('PUT', '/nodes/n6', { usercomment: hostile });
    await expect.poll(() => legend(page, hostile).textContent()).toBe(`${hostile}2`);
    await page.locator('#range').fill(hostile);
    await expect.poll(() => page.locator('#range-count').textContent()).toBe('no range');
    await page.goto(at(`/nodes/${encodeURIComponent(hostile)}`));
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toContain(hostile);
    expect(await page.evaluate<unknown>('window.broken')).toBeUndefined();
    await page.close();
  });

  it('shows images with who is set to them, and networks with their addresses in use', async () => {
    const page = await open(first, '/images');
    await expect.poll(() => page.locator('main').textContent()).toContain('There are no images yet');
    const image = { imagetype: 'linux', osname: 'Linux', osvers: 'debian12', osarch: 'x86_64', profile: 'compute' };
    await server.ok('POST', '/osimages/lab-image', { ...image, provmethod: 'netboot' });
    await server.ok('PUT', '/nodes/n1,n2', { provmethod: 'lab-image', arch: 'x86_64', netboot: 'xnba' });
    await page.getByRole('button', { name: 'Show lab-image' }).click();
    await expect.poll(() => page.locator('.message').allTextContents()).not.toEqual([]);
    await page.getByRole('button', { name: '2 nodes' }).click();
    await expect.poll(() => page.locator('#range').inputValue()).toBe('n[1-2]');
    await page.getByRole('link', { name: 'Networks' }).click();
    await expect.poll(() => page.locator('main').textContent()).toContain('There are no networks yet');
    const range = { net: '10.9.0.0', mask: '255.255.255.0', dynamicrange: '10.9.0.2-10.9.0.9' };
    await server.ok('POST', '/networks/lab', { ...range, gateway: '10.9.0.1' });
    await server.ok('PUT', '/nodes/n1', { ip: '10.9.0.10', nicips: 'eth1!10.9.0.11' });
    const card = page.locator('section.card', { hasText: 'lab' });
    await expect.poll(() => card.textContent()).toContain('3 in use251 free');
    expect(await card.textContent()).toContain('first free: 10.9.0.12, DHCP gives out 10.9.0.2 to 10.9.0.9');
    expect(await card.locator('.addresses i').count()).toBe(254);
    expect(await card.getByTitle('10.9.0.10: n1').count()).toBe(1);
    await page.close();
  });

  it('says before it provisions why nodes cannot boot, and shows boot steps while they do, until somebody cancels', async () => {
    const page = await open(first);
    await page.locator('#range').fill('n1,n2');
    await page.getByRole('button', { name: 'Provision' }).click();
    await page.getByLabel('Image', { exact: true }).selectOption('lab-image');
    await page.getByRole('button', { name: 'Show what happens' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.textContent()).toContain('0 nodes would be set to the image');
    await expect.poll(() => dialog.textContent()).toContain('n[1-2]: ');
    expect(await page.getByRole('button', { name: 'Provision 2 nodes' }).isDisabled()).toBe(true);
    expect(JSON.stringify(await server.ok('GET', '/nodes/n1/attrs/currstate'))).not.toContain('netboot');
    const begun = await server.call('POST', '/nodes/n1/provision', {
      body: { state: 'boot' },
      headers: { Prefer: 'respond-async' },
    });
    await page.goto(at(`/runs/${String(begun.headers['x-muster-run'])}/n1`));
    const steps = page.locator('section.card', { hasText: 'Boot steps' });
    await expect.poll(() => steps.locator('li').textContent()).toContain('n1');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => page.locator('.page > header .badge').textContent()).toBe('cancelled');
    await page.close();
  });

  it('has no barrier that axe calls serious on any page, in either theme', async () => {
    const context = await browser.another();
    const page = await open(context);
    const found: (readonly string[])[] = [];
    const look = async (where: string): Promise<void> => {
      await expect.poll(() => page.getByText('Reading…').count()).toBe(0);
      for (const barrier of await barriers(page)) found.push([where, barrier]);
    };
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await look('sign in');
    await signIn(page);
    await legend(page, 'on').first().waitFor();
    await page.locator('#range').fill('compute');
    await page.getByRole('toolbar').waitFor();
    await look('overview');
    const { runs } = await server.ok('GET', '/runs');
    for (const [path, heading] of [
      ['/nodes', 'Selected nodes'],
      ['/nodes/n2', 'n2'],
      ['/images', 'Images'],
      ['/networks', 'Networks'],
      ['/runs', 'Runs'],
      [`/runs/${runs[0].id}`, 'rpower'],
      ['/changes', 'Changes'],
      ['/nothing', 'There is no page here'],
    ] as const) {
      await goTo(page, at(path));
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await look(path);
    }
    await page.getByLabel('Power', { exact: true }).selectOption('off');
    await page.getByRole('dialog').waitFor();
    await look('power off');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Go to' }).click();
    await page.getByRole('dialog').waitFor();
    await look('go to');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await look('keys');
    expect(found).toEqual([]);
    await context.close();
  });

  it('shows an account only what the policy lets it see, and says what it may not', async () => {
    await addUser(server, 'viewer');
    const rule = { name: 'viewer', noderange: 'n1,n3', rule: 'allow' };
    await server.ok('PUT', '/policy/8', { ...rule, commands: 'lsdef,nodels,events' });
    await server.ok('PUT', '/policy/9', { ...rule, commands: 'rpower', parameters: 'stat' });
    const context = await browser.another();
    const page = await open(context);
    await signIn(page, 'viewer', passwordOf('viewer'));
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toContain('2 nodes');
    await page.locator('#range').fill('n1');
    await page.getByLabel('Power', { exact: true }).selectOption('on');
    await page.getByRole('button', { name: 'Power on 1 node' }).click();
    await expect.poll(() => page.getByRole('dialog').getByRole('alert').textContent()).toContain('may not run rpower');
    await context.close();
  });

  it('gives its connection up while nobody sees it, and then shows what it missed', async () => {
    const context = await browser.another();
    const page = await open(context);
    await signIn(page);
    const listeners = async (): Promise<number> =>
      Number(/^muster_event_listeners (\d+)$/m.exec((await server.call('GET', '/metrics')).text)?.[1]);
    await expect.poll(() => page.getByText('live', { exact: true }).count()).toBe(1);
    // Pages that were closed are gone.
    await expect.poll(listeners).toBe(1);
    const become = (state: string): Promise<void> =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
         document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await become('hidden');
    await expect.poll(listeners).toBe(0);
    await server.ok('POST', '/nodes/unseen', { groups: 'all' });
    await become('visible');
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toContain('7 nodes');
    await server.ok('DELETE', '/nodes/unseen');
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toContain('6 nodes');
    await context.close();
  });

  it('goes on after a restart of the server without a reload, and says that it waits meanwhile', async () => {
    const page = await open(first);
    await expect.poll(() => page.getByText('live', { exact: true }).count()).toBe(1);
    const { data, port } = server;
    await server.kill();
    await expect.poll(() => page.getByText('The connection to the server is lost').count()).toBe(1);
    server = await startServer({ data, listen: [`127.0.0.1:${port}`] });
    await expect.poll(() => page.getByText('live', { exact: true }).count()).toBe(1);
    await server.ok('POST', '/nodes/n7', { groups: 'all' });
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toContain('7 nodes');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await expect.poll(() => page.getByRole('heading', { name: 'Sign in' }).count()).toBe(1);
    expect((await first.cookies()).filter(({ value }) => value !== '')).toEqual([]);
    await page.close();
  });
});

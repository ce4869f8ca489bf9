import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { type Browser, consoleAt, goTo, signIn, startBrowser } from './browser.ts';
import { otherThanKept } from './pictures.ts';

/** How much of a screen may look other than the kept picture: letters are smoothed in other ways on other machines. */
const most = 0.004;
/** The font that Chromium brings along as a package, and no times, which differ from run to run. */
const steady = '* { font-family: "DejaVu Sans" !important } time { visibility: hidden }';

let server: TestServer;
let browser: Browser;
let context: BrowserContext;
let page: Page;

/** 960 nodes in 24 racks, some of which have failed. */
const statusOf = (i: number): string => (i % 97 === 0 ? 'failed' : i % 8 === 0 ? 'installing' : 'booted');

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
  const nodes = Array.from({ length: 960 }, (_, i) => {
    const rack = `r${String(Math.floor(i / 40) + 1).padStart(2, '0')}`;
    const place = { rack, unit: String((i % 40) + 1), groups: `all,compute,${rack}` };
    return [`n${String(i + 1).padStart(3, '0')}`, { ...place, arch: 'x86_64', os: 'debian12', status: statusOf(i) }];
  });
  await server.ok('PUT', '/nodes', Object.fromEntries(nodes));
  await server.ok('POST', '/networks/admin', {
    net: '10.9.0.0',
    mask: '255.255.255.0',
    gateway: '10.9.0.1',
    dynamicrange: '10.9.0.200-10.9.0.250',
  });
  await server.ok('PUT', '/nodes/r01', { ip: '|n(\\d+)|10.9.0.($1+9)|' });
  // The pages may have no style of ours otherwise.
  context = await browser.another({ bypassCSP: true });
  page = await browser.open(context, server.port);
  await page.addStyleTag({ content: steady });
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});
afterEach(() => expect(browser.complaints.splice(0)).toEqual([]));

async function show(path: string, heading: string | RegExp): Promise<void> {
  await goTo(page, consoleAt(server.port, path));
  await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  await expect.poll(() => page.getByText('Reading…').count()).toBe(0);
}

const other = (name: string) => (): Promise<number> => otherThanKept(page, name);

describe('the web console looks as in the kept pictures', () => {
  it('signing in', async () => {
    await expect.poll(other('sign-in')).toBeLessThan(most);
  });

  it('the overview by status, in racks', async () => {
    await signIn(page);
    await page.getByRole('heading', { level: 1, name: '960 nodes' }).waitFor();
    await page.getByLabel('Color', { exact: true }).selectOption('status');
    await page.getByLabel('Group', { exact: true }).selectOption('rack');
    await expect.poll(other('overview')).toBeLessThan(most);
  });

  it('the same in the dark, with a selection', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('#range').fill('r03-r05');
    await page.getByRole('toolbar').waitFor();
    await expect.poll(other('overview-dark')).toBeLessThan(most);
    await page.locator('#range').fill('');
    await page.locator('#range').blur();
    await expect.poll(() => page.locator('li[role=option]').count()).toBe(0);
    await page.emulateMedia({ colorScheme: 'light' });
  });

  it('the overview on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await expect.poll(other('overview-phone')).toBeLessThan(most);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it('a node', async () => {
    await show('/nodes/n042', 'n042');
    await expect.poll(other('node')).toBeLessThan(most);
  });

  it('groups', async () => {
    await show('/groups', 'Groups');
    await expect.poll(other('groups')).toBeLessThan(most);
  });

  it('networks with their addresses', async () => {
    await show('/networks', 'Networks');
    await expect.poll(other('networks')).toBeLessThan(most);
  });

  it('a table', async () => {
    await show('/tables/nodepos', /nodepos/);
    await expect.poll(other('table')).toBeLessThan(most);
  });
});

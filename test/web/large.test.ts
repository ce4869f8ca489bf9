import { rmSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { type Browser, signIn, startBrowser } from './browser.ts';

const count = 10_000;
const heading = '10,000 nodes';
let server: TestServer;
let lab: LightLab;
let browser: Browser;
let contexts: BrowserContext[];
let first: Page;
let second: Page;

beforeAll(async () => {
  [server, lab, browser] = await Promise.all([
    startServer(),
    startLightBmcs({ count: 100, prefix: '127.218' }),
    startBrowser(),
  ]);
  const { username, password } = labAccounts.administrator;
  const nodes = Array.from({ length: count }, (_, i) => {
    const rack = `r${Math.floor(i / 40) + 1}`;
    const bmc = { mgt: 'ipmi', bmc: lab.addresses[i]!, bmcusername: username, bmcpassword: password };
    return [`n${i + 1}`, { groups: i < 100 ? 'all,lab' : 'all', rack, ...(i < 100 && bmc) }];
  });
  await server.ok('PUT', '/nodes', Object.fromEntries(nodes));
  contexts = await Promise.all([browser.another(), browser.another()]);
  [first, second] = (await Promise.all(contexts.map((context) => browser.open(context, server.port)))) as [Page, Page];
  for (const page of [first, second]) await signIn(page);
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
  await server?.stop();
  // After the restart it is somebody else's to the server.
  if (server) rmSync(server.data, { recursive: true, force: true });
});
afterEach(() => expect(browser.complaints.splice(0)).toEqual([]));

const legend = (page: Page, value: string) => page.locator('.legend button', { hasText: value });

describe('the web console with 10,000 nodes', () => {
  it('powers 100 of them on, and a second browser sees their states', async () => {
    for (const page of [first, second])
      await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toContain(heading);
    await first.keyboard.press('/');
    await first.keyboard.type('lab');
    await expect.poll(() => first.locator('#range-count').textContent()).toBe('100 nodes');
    await first.getByLabel('Power', { exact: true }).selectOption('on');
    await first.getByRole('button', { name: 'Power on 100 nodes' }).click();
    await expect.poll(() => legend(second, 'on').first().textContent()).toBe('on100');
    expect(await lab.poweredOn()).toBe(100);
    await expect.poll(() => first.locator('section.card').first().textContent()).toContain('n[1-100]100 nodeson');
  });

  it('shows each other what one of them changes', async () => {
    await first.getByRole('link', { name: 'Overview' }).first().click();
    for (const page of [first, second]) await page.getByLabel('Color', { exact: true }).selectOption('status');
    await server.ok('PUT', '/nodes/n1-n5000', { status: 'booted' });
    for (const page of [first, second])
      await expect.poll(() => legend(page, 'booted').textContent()).toBe('booted5,000');
  });

  it('is right again after a restart of the server in which nodes went and came', async () => {
    const { data, port } = server;
    await server.kill();
    await expect.poll(() => second.getByText('The connection to the server is lost').count()).toBe(1);
    server = await startServer({ data, listen: [`127.0.0.1:${port}`] });
    await server.ok('DELETE', '/nodes/n9000-n10000');
    await server.ok('POST', '/nodes/later1-later10', { groups: 'all', status: 'booted' });
    for (const page of [first, second]) {
      await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toContain('9,009 nodes');
      await expect.poll(() => legend(page, 'booted').textContent()).toBe('booted5,010');
    }
  });
});

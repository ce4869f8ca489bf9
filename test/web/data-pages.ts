// What tests of the pages that show a difference before they write have in common.
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';
import { addUser, passwordOf } from '../harness/users.ts';
import { type Browser, signIn, startBrowser } from './browser.ts';

export const hostile = '<img src=x onerror="window.broken=1">';

/** A small cluster, and two who are signed in: root, and an operator who may only look at definitions. */
export interface DataPages {
  readonly server: TestServer;
  readonly browser: Browser;
  readonly limited: BrowserContext;
  open(path: string, context?: BrowserContext): Promise<Page>;
  stop(): Promise<void>;
}

export async function startDataPages(): Promise<DataPages> {
  const server = await startServer();
  await server.ok('POST', '/nodes/n1-n6', { groups: 'all,compute', mgt: 'ipmi' });
  await server.ok('POST', '/groups/ipminodes', { grouptype: 'dynamic', wherevals: 'mgt==ipmi' });
  await server.ok('PUT', '/groups/compute', { rack: 'r1', usercomment: hostile });
  await addUser(server, 'operator');
  await server.ok('PUT', '/policy/6', { name: 'operator', commands: 'lsdef,events', rule: 'allow' });
  const browser = await startBrowser();
  const limited = await browser.another();
  for (const [context, name, password] of [
    [browser.context, 'root', rootPassword],
    [limited, 'operator', passwordOf('operator')],
  ] as const) {
    const page = await browser.open(context, server.port);
    await signIn(page, name, password);
    await page.getByRole('heading', { name: /6 nodes/ }).waitFor();
    await page.close();
  }
  return {
    server,
    browser,
    limited,
    open: (path, context = browser.context) => browser.open(context, server.port, path),
    async stop() {
      await browser.close();
      await server.stop();
    },
  };
}

export const dialog = (page: Page): Locator => page.getByRole('dialog');

/** Looks at the difference, which must say that, and writes it. */
export async function writeAfter(page: Page, difference: string, button = 'Write'): Promise<void> {
  await dialog(page).getByRole('button', { name: 'Show what changes' }).click();
  await expect.poll(() => dialog(page).textContent()).toContain(difference);
  await dialog(page).getByRole('button', { name: button, exact: true }).click();
  await expect.poll(() => dialog(page).count()).toBe(0);
}

/** Takes back what was just written. */
export async function undo(page: Page): Promise<void> {
  await page.locator('.message.ok').getByRole('button', { name: 'Undo' }).click();
  await dialog(page)
    .getByRole('button', { name: /^Undo \d/ })
    .click();
  await expect.poll(() => dialog(page).count()).toBe(0);
}

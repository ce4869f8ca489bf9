import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { rootPassword } from '../harness/server.ts';

/** Options of Chromium on a machine without a display. */
export const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Chromium and what its pages said that they should not: violations of their policy, uncaught errors, requests to others. */
export interface Browser {
  /** A window with cookies of its own. */
  readonly context: BrowserContext;
  readonly complaints: string[];
  /** Another one, with nothing that the first knows. */
  another(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** Opens a page of the console, where the server listens on this port. */
  open(context: BrowserContext, port: number, path?: string): Promise<Page>;
  close(): Promise<void>;
}

export const consoleAt = (port: number, path = ''): string => `https://127.0.0.1:${port}/muster/console${path}`;

export async function startBrowser(): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'muster-browser-'));
  const options = { executablePath: '/usr/bin/chromium', args: flags, ignoreHTTPSErrors: true };
  const context = await chromium.launchPersistentContext(profile, options);
  const complaints: string[] = [];
  return {
    context,
    complaints,
    another: (given = {}) => context.browser()!.newContext({ ignoreHTTPSErrors: true, ...given }),
    async open(opener, port, path = '') {
      const page = await opener.newPage();
      page.on('pageerror', ({ message }) => complaints.push(message));
      page.on('console', (message) => {
        if (/Content.Security|Trusted/i.test(message.text())) complaints.push(message.text());
      });
      page.on('request', (request) => {
        if (new URL(request.url()).host !== `127.0.0.1:${port}`) complaints.push(request.url());
      });
      await page.goto(consoleAt(port, path));
      return page;
    },
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

export async function signIn(page: Page, name = 'root', given = rootPassword): Promise<void> {
  await page.getByLabel('Account').fill(name);
  await page.getByLabel('Password').fill(given);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Goes to a page of the console without loading it anew. */
export async function goTo(page: Page, url: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(url)}); dispatchEvent(new Event('popstate'))`);
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds on the page as it is now: rules and the elements that break them. Themes differ in colors only. */
export async function barriers(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe);
  const found: string[] = [];
  for (const [colorScheme, rules] of [
    ['light', ''],
    ['dark', ", runOnly: ['color-contrast', 'link-in-text-block']"],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe(colorScheme);
    const { violations } = await page.evaluate<{ violations: Barrier[] }>(
      `axe.run(document, { resultTypes: ['violations']${rules} })`,
    );
    for (const { id, impact, nodes } of violations)
      if (impact === 'serious' || impact === 'critical')
        found.push(...nodes.map(({ html, failureSummary }) => `${colorScheme} ${id}: ${html} ${failureSummary}`));
  }
  return found;
}

interface Barrier {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

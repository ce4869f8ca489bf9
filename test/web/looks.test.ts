// What somebody who looks at the console would stumble over: broken and cut texts, things in the wrong place.
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runs } from '../../web/texts/runs.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { type Browser, consoleAt, goTo, signIn, startBrowser } from './browser.ts';

const long = 'compute-node-of-the-third-hall-with-a-name-nobody-should-have';
let server: TestServer;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
  const failed = { groups: 'all', status: 'failed' };
  await server.ok('PUT', '/nodes', {
    [long]: { ...failed, usercomment: 'x'.repeat(2_000) },
    n1: { groups: 'all', rack: 'a-rack-in-the-hall-behind-the-second-door' },
    n2: failed,
  });
  await server.ok('PUT', '/policy/8', { name: 'operator', commands: 'lsdef', rule: 'allow' });
  // None of them has a BMC: each fails.
  await server.call('PUT', '/nodes/all/power', { body: { action: 'on' } });
  const context = await browser.another({ timezoneId: 'Asia/Kolkata', locale: 'de-DE' });
  page = await browser.open(context, server.port);
  await signIn(page);
  await page.getByRole('heading', { level: 1, name: '3 nodes' }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});
afterEach(() => expect(browser.complaints.splice(0)).toEqual([]));

const widths = { desk: 1440, tablet: 1024, phone: 390 } as const;

async function show(path: string, heading: string | RegExp, width: keyof typeof widths): Promise<void> {
  await page.setViewportSize({ width: widths[width], height: 900 });
  await goTo(page, consoleAt(server.port, path));
  await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  await expect.poll(() => page.getByText('Reading…').count()).toBe(0);
}

const boxOf = async (locator: Locator) => (await locator.boundingBox())!;

/** Texts that do not fit where they stand. */
const cutIn = (locator: Locator): Promise<string[]> =>
  locator.evaluateAll((found) =>
    (found as { scrollWidth: number; clientWidth: number; textContent: string }[])
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
      .map(({ textContent }) => textContent),
  );

const card = (name: string): Locator =>
  page.locator('section.card', { has: page.getByRole('heading', { level: 2, name }) });

describe('runs and changes', () => {
  it('have lines on a phone that can be read as a whole', async () => {
    await show('/runs', 'Runs', 'phone');
    await expect.poll(() => page.locator('.run .grow').count()).toBeGreaterThan(2);
    expect(await cutIn(page.locator('.run .cut'))).toEqual([]);
    expect(await page.locator('.run .grow').allTextContents()).not.toContainEqual(expect.stringMatching(/·\s*$/));
    await show('/changes', 'Changes', 'phone');
    const rule = page.locator('.change', { hasText: 'rule 8: made' });
    expect((await boxOf(rule.locator('.grow'))).width).toBeGreaterThan(300);
    expect(await cutIn(rule.locator('.cut'))).toEqual([]);
  });

  it('count with separators', () => {
    expect(runs.counts(1_000, 12_000, 1_000)).toBe('1,000 of 12,000 nodes, 1,000 failed');
    expect([runs.selectFailed(1), runs.selectFailed(1_200)]).toEqual([
      'Select the node that failed',
      'Select the 1,200 that failed',
    ]);
  });

  it('say on a phone in one line who ran it, and do not lie over each other', async () => {
    await show('/runs', 'Runs', 'phone');
    await page.getByRole('link', { name: 'rpower' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'rpower' }).waitFor();
    const [facts, button] = [
      await boxOf(page.locator('.facts')),
      await boxOf(page.getByText('Select the 3 that failed')),
    ];
    expect(facts.height).toBeLessThan(30);
    expect(button.y).toBeGreaterThanOrEqual(facts.y + facts.height);
  });
});

describe('the page of a node', () => {
  it('has names of attributes in one line, and some lines of a long value', async () => {
    for (const width of ['desk', 'phone'] as const) {
      await show(`/nodes/${long}`, long, width);
      const row = card('Attributes').locator('tr', { hasText: 'usercomment' });
      await row.waitFor();
      expect((await boxOf(row)).height).toBeLessThan(90);
      const lines = await page.evaluate<
        number[]
      >(`[...document.querySelectorAll('.attributes td:first-child')].map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getClientRects().length;
      })`);
      expect(new Set(lines)).toEqual(new Set([1]));
    }
    expect(await card('Attributes').getByTitle('xxxx').getAttribute('title')).toHaveLength(2_000);
  });

  it('shows a bad status as one, and keeps its actions together', async () => {
    await show(`/nodes/${long}`, long, 'desk');
    expect(await page.locator('.page > header .badge.critical').allTextContents()).toEqual(['failed']);
    const tops = await Promise.all(
      ['Console', 'Provision'].map(async (name) => (await boxOf(page.locator('main .button', { hasText: name }))).y),
    );
    expect(tops[0]).toBe(tops[1]);
  });

  it('offers no question to a BMC where there is none', async () => {
    await show('/nodes/n1', 'n1', 'desk');
    expect(await card('Look closer').getByRole('button').allTextContents()).toEqual(['Boots']);
    expect(await card('Look closer').textContent()).toContain('Set its attribute mgt');
  });
});

describe('the overview', () => {
  it('has what is wrong beside the nodes, and before them where there is no room', async () => {
    for (const [width, isBeside] of [
      ['desk', true],
      ['tablet', false],
      ['phone', false],
    ] as const) {
      await show('/', '2 need attention', width);
      const [wrong, nodes] = [await boxOf(card('Needs attention')), await boxOf(card('Nodes'))];
      expect([width, wrong.y === nodes.y, wrong.y < nodes.y]).toEqual([width, isBeside, !isBeside]);
    }
  });

  it('has its heading on a phone in one line', async () => {
    await show('/', '2 need attention', 'phone');
    expect((await boxOf(page.getByRole('heading', { level: 1 }))).height).toBeLessThan(36);
  });

  it('has no gap where nothing is wrong', async () => {
    await server.ok('PUT', '/nodes/all', { status: 'booted' });
    await show('/', 'nothing wrong that muster knows of', 'phone');
    const [header, nodes] = [await boxOf(page.locator('.page > header')), await boxOf(card('Nodes'))];
    expect(nodes.y - header.y - header.height).toBe(12);
    await server.ok('PUT', `/nodes/${long},n2`, { status: 'failed' });
  });

  it('says in a sentence that nothing runs', async () => {
    await show('/', '2 need attention', 'desk');
    await expect.poll(() => card('Under way').textContent()).toContain('Nothing runs now.');
  });
});

describe('lists and fields', () => {
  it('tell the time with its zone, the same way in every browser', async () => {
    const moment = /^\d{1,2} \w+ 20\d\d, \d\d:\d\d:\d\d GMT\+5:30$/;
    await show('/audit', 'Audit log', 'desk');
    expect(await page.locator('td time').first().textContent()).toMatch(moment);
    await show('/changes', 'Changes', 'desk');
    expect(await page.locator('.change time').first().getAttribute('title')).toMatch(moment);
  });

  it('show what is cut when somebody points at it', async () => {
    await show('/nodes', 'All nodes', 'desk');
    const cut = page.locator('.window-row span.cut', { hasText: 'a-rack-in' });
    expect(await cut.getAttribute('title')).toBe('a-rack-in-the-hall-behind-the-second-door');
    expect(await page.locator('.window-row span.cut', { hasText: long }).getAttribute('title')).toBe(long);
  });

  it('have room for the hint in the box of nodes', async () => {
    for (const width of ['tablet', 'phone'] as const) {
      await show('/nodes', 'All nodes', width);
      const room = await page.evaluate<number>(`(() => {
        const input = document.getElementById('range');
        const style = getComputedStyle(input);
        const context = document.createElement('canvas').getContext('2d');
        context.font = style.font;
        const { width } = context.measureText(input.placeholder);
        return input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - width;
      })()`);
      expect(room).toBeGreaterThanOrEqual(0);
    }
  });

  it('are as high as buttons on a phone', async () => {
    await show('/audit', 'Audit log', 'phone');
    const [field, button] = [
      await boxOf(page.getByLabel('Result')),
      await boxOf(page.getByRole('button', { name: 'Find' })),
    ];
    expect(field.height).toBe(button.height);
  });
});

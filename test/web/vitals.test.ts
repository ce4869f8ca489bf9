import { rmSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { boundsOf, pathOf, type Point } from '../../web/model/plot.ts';
import { texts } from '../../web/texts/vitals.ts';
import { define, labNodes } from '../hardware/nodes.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser, passwordOf } from '../harness/users.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { type Browser, barriers, consoleAt, goTo, signIn, startBrowser } from './browser.ts';

let server: TestServer;
let lab: LightLab;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [server, lab] = await Promise.all([startServer(), startLightBmcs({ count: 3, prefix: '127.222' })]);
  await define(server, labNodes('n', 'ipmi', lab.addresses));
  await define(server, { bare: { groups: 'all' }, n4: { groups: 'all', mgt: 'ipmi' } });
  browser = await startBrowser();
  page = await browser.open(browser.context, server.port);
  await signIn(page);
  await page.getByRole('heading', { level: 1, name: '5 nodes' }).waitFor();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await Promise.all([lab?.stop(), server?.stop()]);
  if (server) rmSync(server.data, { recursive: true, force: true });
});
afterEach(() => expect(browser.complaints.splice(0)).toEqual([]));

const at = (path = ''): string => consoleAt(server.port, path);
const sensors = (of = page) => of.locator('section.card', { has: of.getByRole('heading', { name: 'Sensors' }) });
const legend = () => page.locator('.legend button').allTextContents();

describe('sensors in the web console', () => {
  it('are read as soon as somebody looks at a node, and stand in gauges with the limits of the BMC', async () => {
    await goTo(page, at('/nodes/n2'));
    const card = sensors();
    await expect.poll(() => card.locator('.sensor').count(), { timeout: 60_000 }).toBe(5);
    const hottest = card.locator('.sensor').first();
    expect(await hottest.textContent()).toContain('CPU1 Temp41 °C');
    const gauge = card.getByRole('meter', { name: 'CPU1 Temp now' });
    expect(await gauge.getAttribute('aria-valuenow')).toBe('41');
    expect(await gauge.getAttribute('aria-valuemax')).toBe('100');
    const [warning, critical] = ['.near', '.beyond'].map((part) => gauge.locator(part).getAttribute('x'));
    expect([await warning, await critical]).toEqual(['90', '95']);
    expect(await card.getByRole('heading', { level: 3 }).allTextContents()).toEqual([
      'Temperatures',
      'Power draw',
      'Fans',
    ]);
    expect(await barriers(page)).toEqual([]);
    const known = (await server.ok('GET', '/nodes/n2/series?show=last')).series;
    expect(known[0].sensors['Sys Power'].value).toBe(164);
  }, 90_000);

  it('stand beside other readings, and an event log without events says so', async () => {
    const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'Look closer' }) });
    await card.getByRole('button', { name: 'Event log' }).click();
    await expect
      .poll(() => card.locator('p').allTextContents(), { timeout: 60_000 })
      .toEqual(['The event log is empty.']);
    await card.getByRole('button', { name: 'Boots' }).click();
    await expect.poll(() => card.locator('td.name').allTextContents(), { timeout: 60_000 }).toContain('bootstate');
    expect(await card.locator('td:not(.name)').allTextContents()).not.toContain('');
  }, 90_000);

  it('say why they cannot be read, and are not asked of a node without hardware', async () => {
    await goTo(page, at('/nodes/n4'));
    await expect.poll(() => sensors().textContent(), { timeout: 60_000 }).toContain('The last reading failed:');
    await goTo(page, at('/nodes/bare'));
    await page.getByRole('heading', { level: 1, name: 'bare' }).waitFor();
    expect(await sensors().count()).toBe(0);
  }, 90_000);

  it('color the grid by the hottest temperature that is known, and by boot step, with counts', async () => {
    await server.ok('GET', '/nodes/n1,n3/vitals/temp');
    await goTo(page, at());
    await page.getByLabel('Color', { exact: true }).selectOption('temperature');
    await expect.poll(legend, { timeout: 60_000 }).toEqual(['30 to 50 °C3', 'not known2']);
    await page.getByLabel('Color', { exact: true }).selectOption('bootstep');
    await expect.poll(legend).toEqual(['not known5']);
    await page.getByLabel('Color', { exact: true }).selectOption('power');
  }, 90_000);

  it('are not shown to an account that may not read them', async () => {
    await addUser(server, 'viewer');
    const rule = { name: 'viewer', rule: 'allow' };
    await server.ok('PUT', '/policy/8', { ...rule, commands: 'lsdef,nodels,events,rpower' });
    const context = await browser.another();
    const other = await browser.open(context, server.port, '/nodes/n2');
    await signIn(other, 'viewer', passwordOf('viewer'));
    await expect.poll(() => sensors(other).textContent()).toContain('may not run rvitals');
    expect(await other.locator('.sensor').count()).toBe(0);
    await context.close();
  }, 90_000);
});

describe('a plot', () => {
  const frame = { width: 100, height: 46, from: 0, to: 100 * 60_000 };
  const every = (minutes: number, values: readonly number[]): Point[] =>
    values.map((value, i) => [i * minutes * 60_000, value]);

  it('goes through the points from the lowest to the highest', () => {
    expect(pathOf(every(10, [20, 40, 30]), frame)).toBe('M0.0 43.0h0.5L0.0 43.0L10.0 3.0L20.0 23.0');
    expect(boundsOf(every(10, [20, 40, 30]))).toEqual([20, 40]);
  });

  it('names one value if there was only one', () => {
    expect([texts.range('20 °C', '41 °C'), texts.range('41 °C', '41 °C')]).toEqual([
      '20 °C to 41 °C',
      'steady at 41 °C',
    ]);
  });

  it('has a gap where nobody read the sensor, and is flat where nothing changes', () => {
    expect(pathOf(every(30, [40, 40]), frame)).toBe('M0.0 23.0h0.5L0.0 23.0M30.0 23.0h0.5L30.0 23.0');
    expect(pathOf([], frame)).toBe('');
  });
});

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hostArchitecture } from '../../src/objects/distributions.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser, passwordOf } from '../harness/users.ts';
import { smallImage } from '../images/small-image.ts';
import { type Browser, barriers, goTo, signIn, startBrowser } from './browser.ts';

const hostile = '<img src=x onerror="window.broken=1">';

let server: TestServer;
let installdir: string;
let directory: string;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  installdir = temporaryDirectory();
  server = await startServer({ config: '[longWork]\nreserve = 1\n' });
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir });
  directory = smallImage(installdir, 'small', 'small');
  const image = { imagetype: 'linux', provmethod: 'netboot', osvers: 'debian12', osarch: hostArchitecture() };
  await server.ok('POST', '/osimages/small', { ...image, profile: 'small', rootimgdir: directory });
  await server.ok('POST', '/osimages/unbuilt', { ...image, profile: 'unbuilt', pkglist: '/nowhere/<b>list</b>' });
  await server.ok('POST', '/nodes/n[1-3]', { groups: 'all', provmethod: 'small' });
  browser = await startBrowser();
  const first = await browser.open(browser.context, server.port);
  await signIn(first);
  await first.getByRole('heading', { level: 1, name: '3 nodes' }).waitFor();
  await first.close();
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(installdir, { recursive: true, force: true });
});
beforeEach(async () => {
  page = await browser.open(browser.context, server.port);
});
afterEach(async () => {
  expect(await page.evaluate<unknown>('window.broken')).toBeUndefined();
  await page.close();
  expect(browser.complaints.splice(0)).toEqual([]);
});

const to = (path: string): Promise<void> => goTo(page, `/muster/console${path}`);

/** The state of the run that the page shows, once it has ended. */
const ended = async (state: string): Promise<void> => {
  await expect.poll(() => page.locator('.page > header .badge').textContent(), { timeout: 60_000 }).toBe(state);
};

const packs = () => page.getByRole('region', { name: 'Packs' });

describe('the page of images', () => {
  it('packs an image and shows the run, and puts an older pack back', async () => {
    await to('/images/small');
    await page.getByText('Nothing is packed').waitFor();
    await page.getByRole('button', { name: 'Pack', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Format').selectOption('squashfs');
    await dialog.getByLabel('Compression').selectOption('gzip');
    expect(await dialog.textContent()).toContain('3 nodes are set to the image.');
    await dialog.getByText('The same from the command line').click();
    await expect
      .poll(() => dialog.locator('pre').textContent())
      .toContain('muster packimage small -m squashfs -c gzip');
    await dialog.getByRole('button', { name: 'Pack', exact: true }).click();
    await page.getByRole('heading', { name: 'packimage' }).waitFor();
    await ended('finished');
    const { current: first } = await server.ok('GET', '/osimages/small/instance');
    writeFileSync(join(directory, 'rootimg/etc/changed'), '');
    await to('/images/small');
    await expect.poll(() => packs().textContent()).toContain(`${first} in use`);
    expect(await packs().textContent()).toContain('squashfs, gzip, ');
    await page.getByRole('button', { name: 'Pack', exact: true }).click();
    await dialog.getByRole('button', { name: 'Pack', exact: true }).click();
    await ended('finished');
    const { current: second } = await server.ok('GET', '/osimages/small/instance');
    expect(second).not.toBe(first);
    await to('/images/small');
    await page.getByRole('button', { name: `Put back ${first}` }).click();
    expect(await dialog.textContent()).toContain('Nodes that boot from now on get this pack.');
    await dialog.getByRole('button', { name: 'Put back' }).click();
    await ended('finished');
    expect((await server.ok('GET', '/osimages/small/instance')).current).toBe(first);
  });

  it('tags packs, and says why a tag cannot be one', async () => {
    const { current } = await server.ok('GET', '/osimages/small/instance');
    await to('/images/small');
    await page.getByRole('button', { name: `Tag ${current}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Tag: a letter').fill(hostile);
    await dialog.getByRole('button', { name: 'Tag', exact: true }).click();
    await expect.poll(() => dialog.getByRole('alert').textContent()).toContain('params need a tag');
    await dialog.getByLabel('Tag: a letter').fill('works');
    await dialog.getByRole('button', { name: 'Tag', exact: true }).click();
    await ended('finished');
    await to('/images/small');
    await page.getByRole('button', { name: 'Remove the tag works' }).click();
    await dialog.getByText('The same from the command line').click();
    await expect.poll(() => dialog.locator('pre').textContent()).toContain('muster image untag small works');
    await dialog.getByRole('button', { name: 'Remove the tag' }).click();
    await ended('finished');
    await to('/images/small');
    await expect.poll(() => packs().textContent()).toContain('in use');
    expect(await page.getByRole('button', { name: 'Remove the tag works' }).count()).toBe(0);
  });

  it('shows why an image cannot be built', async () => {
    await to('/images/unbuilt');
    await page.getByText('Nothing is built of this image yet.').waitFor();
    await expect.poll(() => page.locator('main').textContent()).toContain('/nowhere/<b>list</b>');
    await page.getByRole('button', { name: 'Build', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Build' }).click();
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('unbuilt');
    expect((await server.call('GET', '/osimages/unbuilt/instance')).status).toBeGreaterThanOrEqual(400);
  });
});

describe('the page of servers', () => {
  it('shows this server and what it finds when it looks at itself', async () => {
    const { servers } = await server.ok('GET', '/servers');
    await to('/servers');
    const table = page.getByRole('region', { name: 'List of servers' });
    await expect.poll(() => table.textContent()).toContain(`${servers[0].name}connected`);
    expect(await table.textContent()).toContain(servers[0].version);
    expect(await table.textContent()).toContain('works for 3 nodes');
    await page.getByText('There are no workers').waitFor();
    const { findings } = await server.ok('GET', '/doctor');
    const list = page.locator('section.card', { hasText: 'What this server finds' });
    await expect.poll(() => list.locator('li').count()).toBe(findings.length);
    const wrong = findings.filter(({ well }: { well: boolean }) => !well).length;
    expect(await list.locator('li .badge.critical').count()).toBe(wrong);
    await server.ok('POST', '/nodes/n4', { groups: 'all' });
    await expect.poll(() => table.textContent(), { timeout: 30_000 }).toContain('works for 4 nodes');
  });
});

describe('these pages', () => {
  it('have no barrier that axe calls serious', async () => {
    const other = await browser.another();
    const seen = await browser.open(other, server.port);
    await signIn(seen);
    await seen.getByRole('heading', { level: 1, name: /^\d nodes/ }).waitFor();
    const found: (readonly string[])[] = [];
    const look = async (where: string): Promise<void> => {
      await expect.poll(() => seen.getByText('Reading…').count()).toBe(0);
      for (const barrier of await barriers(seen)) found.push([where, barrier]);
    };
    await goTo(seen, '/muster/console/images/small');
    await seen.getByRole('region', { name: 'Packs' }).waitFor();
    await look('images');
    await seen.getByRole('button', { name: 'Pack', exact: true }).click();
    await look('pack');
    await seen.keyboard.press('Escape');
    await goTo(seen, '/muster/console/servers');
    await seen.getByText('What this server finds').waitFor();
    await look('servers');
    expect(found).toEqual([]);
    await other.close();
  });

  it('show an account that may do less what it may, and nothing of what the server finds', async () => {
    await addUser(server, 'looker');
    await server.ok('PUT', '/policy/8', {
      name: 'looker',
      commands: 'lsdef,nodels,events,lsimage,chkosimage',
      rule: 'allow',
    });
    await server.ok('PUT', '/policy/9', { name: 'looker', commands: 'lsservers', rule: 'allow' });
    const other = await browser.another();
    const seen = await browser.open(other, server.port);
    await signIn(seen, 'looker', passwordOf('looker'));
    await seen.getByRole('heading', { level: 1, name: /^\d nodes/ }).waitFor();
    await goTo(seen, '/muster/console/images/small');
    await seen.getByRole('region', { name: 'Packs' }).waitFor();
    await seen.getByRole('button', { name: 'Pack', exact: true }).click();
    const dialog = seen.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Pack', exact: true }).click();
    await expect.poll(() => dialog.getByRole('alert').textContent()).toContain('may not run packimage');
    await seen.keyboard.press('Escape');
    await goTo(seen, '/muster/console/servers');
    await expect.poll(() => seen.getByText('Reading…').count()).toBe(0);
    await seen.getByText('There are no workers').waitFor();
    expect(await seen.getByText('What this server finds').count()).toBe(0);
    await other.close();
  });
});

import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { addUser, logIn, passwordOf } from '../harness/users.ts';
import { signIn } from './browser.ts';
import { type DataPages, dialog, hostile, startDataPages, undo, writeAfter } from './data-pages.ts';

let pages: DataPages;
beforeAll(async () => {
  pages = await startDataPages();
});
afterAll(() => pages?.stop());
afterEach(() => expect(pages.browser.complaints.splice(0)).toEqual([]));

describe('tables', () => {
  const cell = (page: Page, column: string, row: string) =>
    page.getByRole('button', { name: new RegExp(`^${column} of ${row}: `) });
  const edit = async (page: Page, column: string, row: string, value: string): Promise<void> => {
    await cell(page, column, row).click();
    const field = page.getByRole('gridcell').getByRole('textbox');
    await field.fill(value);
    await field.press('Enter');
    await expect.poll(() => field.count()).toBe(0);
  };
  const pending = (page: Page) => page.getByRole('region', { name: 'Not written yet:' });
  const write = async (page: Page, difference: string): Promise<void> => {
    await pending(page).getByRole('button', { name: 'Look and write' }).click();
    await writeAfter(page, difference);
  };
  const routes = async () => (await pages.server.ok('GET', '/tables/routes/dump')).routes.rows;

  it('lists all with their meanings, and leads to one', async () => {
    const page = await pages.open('/tables');
    await page.getByLabel('Filter tables').fill('who may do what');
    await expect.poll(() => page.locator('.list > li').allTextContents()).toEqual(['policyrules on who may do what']);
    await page.getByRole('link', { name: 'policy' }).click();
    await page.getByRole('heading', { level: 1, name: 'policy' }).waitFor();
    await expect.poll(() => cell(page, 'name', '1').textContent()).toBe('root');
    expect(await page.getByRole('columnheader', { name: 'time' }).getAttribute('title')).toBe('days and hours');
    await page.close();
  });

  it('edits, adds and removes rows as one change that it shows first, and takes it back', async () => {
    const net = { net: '10.9.0.0', mask: '255.255.0.0' };
    const set = ['lab', 'old'].map((routename) => ({ keys: { routename }, columns: net }));
    await pages.server.ok('PUT', '/tables/routes/rows', { set });
    const before = await routes();
    const page = await pages.open('/tables/routes');
    await edit(page, 'gateway', 'lab', '10.9.0.1');
    await page.getByRole('button', { name: 'Remove row old' }).click();
    await page.getByRole('button', { name: 'Add a row' }).click();
    await expect.poll(() => pending(page).textContent()).toContain('Each new row needs routename.');
    await edit(page, 'comments', 'new row', hostile);
    await edit(page, 'routename', 'new row', 'new');
    await expect.poll(() => pending(page).textContent()).toContain('1 cell changed, 1 row added, 1 row removed');
    expect(await routes()).toEqual(before);
    await write(page, 'gateway: 10.9.0.1');
    expect(await routes()).toEqual([
      { routename: 'lab', ...net, gateway: '10.9.0.1' },
      { routename: 'new', comments: hostile },
    ]);
    await expect.poll(() => cell(page, 'comments', 'new').textContent()).toBe(hostile);
    await undo(page);
    expect(await routes()).toEqual(before);
    await expect.poll(() => cell(page, 'gateway', 'lab').textContent()).toBe('');
    // Back to what it was is no edit.
    await edit(page, 'gateway', 'lab', '10.9.0.2');
    await edit(page, 'gateway', 'lab', '');
    await expect.poll(() => pending(page).count()).toBe(0);
    expect(await page.evaluate<unknown>('window.broken')).toBeUndefined();
    await page.close();
  });

  it('writes no row that somebody else has changed meanwhile, and says which', async () => {
    const page = await pages.open('/tables/routes');
    await edit(page, 'ifname', 'lab', 'eth1');
    await pages.server.ok('PUT', '/tables/routes/rows/routename=old', { gateway: '10.9.0.7' });
    await expect.poll(() => pending(page).textContent()).toContain('Somebody has changed this table meanwhile.');
    // Another row is no obstacle.
    await write(page, 'ifname: eth1');
    await expect.poll(() => cell(page, 'ifname', 'lab').textContent()).toBe('eth1');
    await edit(page, 'ifname', 'lab', 'eth2');
    await pages.server.ok('PUT', '/tables/routes/rows/routename=lab', { ifname: 'eth7' });
    await pending(page).getByRole('button', { name: 'Look and write' }).click();
    await dialog(page).getByRole('button', { name: 'Show what changes' }).click();
    await expect.poll(() => dialog(page).getByRole('alert').textContent()).toContain('routename=lab changed since');
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    expect((await routes())[0]).toMatchObject({ ifname: 'eth7' });
    await pending(page).getByRole('button', { name: 'Read the table again' }).click();
    await expect.poll(() => pending(page).textContent()).not.toContain('Somebody');
    await write(page, 'ifname: eth7 → eth2');
    expect((await routes())[0]).toMatchObject({ ifname: 'eth2' });
    await page.close();
  });

  it('shows no secret, and writes none that nobody has entered', async () => {
    const token = await addUser(pages.server, 'clerk');
    const page = await pages.open('/tables/passwd');
    await expect.poll(() => cell(page, 'password', 'xcat, clerk').textContent()).toBe('********');
    await edit(page, 'comments', 'xcat, clerk', 'night shift');
    await edit(page, 'password', 'xcat, clerk', '');
    await expect.poll(() => pending(page).textContent()).toContain('1 cell changed');
    await write(page, 'comments: night shift');
    expect((await pages.server.call('GET', '/session/nodes', { token })).status).toBe(200);
    await edit(page, 'password', 'xcat, clerk', 'another-password');
    await expect.poll(() => cell(page, 'password', 'xcat, clerk').textContent()).toBe('********');
    await write(page, 'password');
    expect((await pages.server.call('GET', '/session/nodes', { token })).status).toBe(401);
    await logIn(pages.server, 'clerk', 'another-password');
    await page.close();
  });

  it('draws only rows in sight of many', async () => {
    const many = Array.from({ length: 10_000 }, (_, i) => ({
      keys: { node: `h${i + 1}` },
      columns: { comments: `c${i + 1}` },
    }));
    await pages.server.ok('PUT', '/tables/hosts/rows', { set: many });
    const page = await pages.open('/tables/hosts');
    await expect.poll(() => page.locator('section.card h2').textContent()).toBe('10,000 rows');
    expect(await page.locator('.sheet-row').count()).toBeLessThan(100);
    await page.getByRole('grid').focus();
    await page.keyboard.press('End');
    await expect.poll(() => cell(page, 'comments', 'h10000').textContent()).toBe('c10000');
    expect(await page.locator('.sheet-row').count()).toBeLessThan(100);
    await page.getByLabel('Filter rows').fill('C9999');
    await expect.poll(() => page.locator('.sheet-row').count()).toBe(2);
    await cell(page, 'node', 'h9999').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('gridcell').getByRole('textbox').count()).toBe(1);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('gridcell').getByRole('textbox').count()).toBe(0);
    await page.close();
  });

  it('tells an account that may not read or write tables so', async () => {
    await addUser(pages.server, 'reader');
    await pages.server.ok('PUT', '/policy/7', { name: 'reader', commands: 'lsdef,events', rule: 'allow' });
    const context = await pages.browser.another();
    const page = await pages.open('/tables/routes', context);
    await signIn(page, 'reader', passwordOf('reader'));
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('may not run tabdump');
    await pages.server.ok('PUT', '/policy/7', { commands: 'lsdef,events,tabdump' });
    await page.getByRole('button', { name: 'Try again' }).click();
    await edit(page, 'ifname', 'lab', 'eth9');
    await pending(page).getByRole('button', { name: 'Look and write' }).click();
    await dialog(page).getByRole('button', { name: 'Show what changes' }).click();
    await expect.poll(() => dialog(page).getByRole('alert').textContent()).toContain('may not run setAttribs');
    await context.close();
  });
});

describe('the audit log', () => {
  const records = (page: Page) => page.locator('tbody tr');
  const results = (page: Page) => records(page).locator('.badge').allTextContents();

  it('has the newest first, finds records by what they say, and pages through them', async () => {
    await pages.server.call('GET', `/nodes/${encodeURIComponent(`n1,${hostile}`)}`);
    await pages.server.call('PUT', '/nodes/n2', { body: { nosuch: '1' } });
    await pages.server.ok('PUT', '/nodes/n1,n3', { usercomment: hostile });
    const page = await pages.open('/audit');
    await expect.poll(() => records(page).count()).toBeGreaterThan(1);
    const times = await records(page)
      .locator('time')
      .evaluateAll((all) => all.map((time) => Date.parse(time.getAttribute('datetime'))));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    await page.getByLabel('Command').fill('chdef');
    await page.getByLabel('Nodes', { exact: true }).fill('n1,n3');
    await page.getByRole('button', { name: 'Find' }).click();
    await expect.poll(() => results(page)).toEqual(['Allowed']);
    expect(await records(page).textContent()).toContain(`usercomment=${hostile}`);
    await page.getByLabel('Nodes', { exact: true }).fill('');
    await page.getByLabel('Result').selectOption('Failed');
    await page.getByRole('button', { name: 'Find' }).click();
    await expect.poll(() => records(page).first().textContent()).toContain('n2');
    expect(new Set((await results(page)).map((text) => text.split(' ')[0]))).toEqual(new Set(['Failed']));
    await page.getByLabel('Account', { exact: true }).fill('nobody-has-this-name');
    await page.getByRole('button', { name: 'Find' }).click();
    await expect.poll(() => page.locator('.empty').textContent()).toBe('No record matches.');
    await page.getByLabel('Account', { exact: true }).fill('');
    await page.getByLabel('Command').fill('');
    await page.getByLabel('Result').selectOption('any');
    await page.getByLabel('Since', { exact: true }).fill('2101-01-01T00:00');
    await page.getByRole('button', { name: 'Find' }).click();
    await expect.poll(() => page.locator('.empty').count()).toBe(1);
    expect(await page.evaluate<unknown>('window.broken')).toBeUndefined();
    for (let i = 0; i < 120; i++) await pages.server.ok('GET', '/session/nodes');
    await page.getByLabel('Since', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Find' }).click();
    await expect.poll(() => page.getByText(/^1 to 100 of/).count()).toBe(1);
    await page.getByRole('button', { name: 'Older' }).click();
    await expect.poll(() => page.getByText(/^101 to/).count()).toBe(1);
    await page.getByRole('button', { name: 'Newer' }).click();
    await expect.poll(() => page.getByText(/^1 to 100 of/).count()).toBe(1);
    await page.close();
  });

  it('tells an account that may not read it so', async () => {
    const page = await pages.open('/audit', pages.limited);
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('may not run');
    await page.close();
  });
});

import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { barriers, consoleAt, goTo } from './browser.ts';
import { type DataPages, dialog, hostile, startDataPages, undo, writeAfter } from './data-pages.ts';

let pages: DataPages;
beforeAll(async () => {
  pages = await startDataPages();
});
afterAll(() => pages?.stop());
afterEach(() => expect(pages.browser.complaints.splice(0)).toEqual([]));

const at = (path: string): string => consoleAt(pages.server.port, path);
const line = (page: Page, name: string) => page.locator('.list > li', { hasText: name }).first();

describe('groups', () => {
  it('shows kinds, members and counts, and selects the nodes of one', async () => {
    const page = await pages.open('/groups');
    await expect.poll(() => line(page, 'ipminodes').textContent()).toContain('dynamicmgt==ipmi');
    expect(await line(page, 'compute').textContent()).toContain('static');
    await page.getByRole('button', { name: 'Show ipminodes' }).click();
    await expect.poll(() => line(page, 'ipminodes').locator('pre').textContent()).toBe('n[1-6]');
    await line(page, 'compute').getByRole('button', { name: '6 nodes' }).click();
    await expect.poll(() => page.locator('#range-count').textContent()).toBe('6 nodes');
    expect(await page.locator('#range').inputValue()).toBe('compute');
    await page.getByLabel('Filter groups').fill('IPMI');
    await expect.poll(() => page.locator('.list > li').count()).toBe(1);
    await page.close();
  });

  it('makes, edits and removes one after a look at the difference, and takes that back', async () => {
    const page = await pages.open('/groups');
    await page.getByRole('button', { name: 'New group' }).click();
    await dialog(page).getByLabel('Name').fill('spare');
    await dialog(page).getByLabel('Members', { exact: true }).fill('n1-n2');
    await writeAfter(page, 'nodelist · n2');
    await expect.poll(() => line(page, 'spare').textContent()).toContain('2 nodes');
    await page.getByRole('button', { name: 'Edit spare' }).click();
    await dialog(page).getByLabel('Members', { exact: true }).fill('n2-n4');
    await dialog(page).getByLabel('Attributes that members inherit').fill(`room=cold\nusercomment=${hostile}`);
    await writeAfter(page, hostile);
    await expect.poll(() => line(page, 'spare').textContent()).toContain(hostile);
    expect(await pages.server.ok('GET', '/nodes/n1-n4/attrs/groups,room')).toEqual({
      n1: { groups: 'all,compute', room: '' },
      n2: { groups: 'all,compute,spare', room: 'cold' },
      n3: { groups: 'all,compute,spare', room: 'cold' },
      n4: { groups: 'all,compute,spare', room: 'cold' },
    });
    await undo(page);
    await expect.poll(() => line(page, 'spare').textContent()).toContain('2 nodes');
    await page.getByRole('button', { name: 'Remove spare' }).click();
    await writeAfter(page, 'spare · removed', 'Remove');
    await expect.poll(() => page.getByRole('button', { name: 'Edit spare' }).count()).toBe(0);
    expect(await pages.server.ok('GET', '/groups')).toEqual(['all', 'compute', 'ipminodes']);
    expect(await page.evaluate<unknown>('window.broken')).toBeUndefined();
    await page.close();
  });

  it('keeps a secret that nobody touched, and refuses to write over what somebody else has changed', async () => {
    await pages.server.ok('PUT', '/groups/compute', { mgt: 'ipmi', bmcpassword: 'first' });
    const page = await pages.open('/groups');
    await page.getByRole('button', { name: 'Edit compute' }).click();
    const attributes = dialog(page).getByLabel('Attributes that members inherit');
    const shown = await attributes.inputValue();
    expect(shown.split('\n')).toContain('bmcpassword=********');
    await attributes.fill(`${shown}\nroom=warm`);
    await dialog(page).getByRole('button', { name: 'Show what changes' }).click();
    await expect.poll(() => dialog(page).textContent()).toContain('room: warm');
    await pages.server.ok('PUT', '/groups/compute', { bmcpassword: 'second' });
    await dialog(page).getByRole('button', { name: 'Write', exact: true }).click();
    await expect.poll(() => dialog(page).getByRole('alert').textContent()).toContain('group compute was changed since');
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    const { changes } = await pages.server.ok('GET', '/changes?limit=1');
    expect(changes[0].changes[0]).toMatchObject({ table: 'ipmi', key: { node: 'compute' } });
    await page.getByRole('button', { name: 'Edit compute' }).click();
    await attributes.fill(`${shown}\nroom=warm`);
    await writeAfter(page, 'room: warm');
    const { tables } = await pages.server.ok('GET', '/changes?limit=1').then(({ changes: [latest] }) => latest);
    expect(tables).toEqual(['nodepos']);
    await page.close();
  });

  it('tells an account that may only look that it may not write', async () => {
    const page = await pages.open('/groups', pages.limited);
    await page.getByRole('button', { name: 'Edit compute' }).click();
    await dialog(page).getByLabel('Members', { exact: true }).fill('n1');
    await dialog(page).getByRole('button', { name: 'Show what changes' }).click();
    await expect.poll(() => dialog(page).getByRole('alert').textContent()).toContain('may not run chdef');
    await page.close();
  });
});

describe('an attribute of a node', () => {
  it('is written as it was shown, and not over what somebody else has written', async () => {
    const page = await pages.open('/nodes/n3');
    const write = dialog(page).getByRole('button', { name: 'Write', exact: true });
    const show = dialog(page).getByRole('button', { name: 'Show what changes' });
    await page.getByRole('button', { name: 'Change rack, now r1' }).click();
    const asked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    await page.route('**/*dryRun=1', async (route) => {
      asked.resolve();
      await goOn.promise;
      await route.continue();
    });
    await dialog(page).getByRole('textbox').fill('r2');
    const answered = page.waitForResponse('**/*dryRun=1');
    await show.click();
    await asked.promise;
    await dialog(page).getByRole('textbox').fill('r4');
    goOn.resolve();
    await answered;
    // The answer was about another value.
    await expect.poll(() => show.isEnabled()).toBe(true);
    expect(await write.count()).toBe(0);
    await show.click();
    await expect.poll(() => dialog(page).textContent()).toContain('rack: r4');
    await pages.server.ok('PUT', '/nodes/n3', { rack: 'r9' });
    await write.click();
    await expect.poll(() => dialog(page).getByRole('alert').textContent()).toContain('node n3 was changed since');
    expect(await pages.server.ok('GET', '/nodes/n3/attrs/rack')).toEqual({ n3: { rack: 'r9' } });
    await page.close();
  });
});

describe('policies', () => {
  it('makes, edits and removes rules after a look at the difference, and takes that back', async () => {
    const page = await pages.open('/policies');
    await page.getByRole('button', { name: 'New rule' }).click();
    await dialog(page).getByLabel('Number').fill('2.5');
    await dialog(page).getByLabel('refuses').check();
    await dialog(page).getByLabel('Commands').fill('rpower');
    await dialog(page).getByLabel('Comment').fill(hostile);
    await writeAfter(page, 'policy · 2.5 · new');
    const rules = page.locator('ol.list > li');
    await expect.poll(() => rules.allTextContents()).toHaveLength(3);
    expect((await rules.allTextContents()).map((text) => /^[\d.]+/.exec(text)?.[0])).toEqual(['1', '2.5', '6']);
    expect(await rules.nth(1).textContent()).toContain(
      `refuseseverybodyrpowerall nodes, and requests without nodes${hostile}`,
    );
    await page.getByRole('button', { name: 'Edit rule 6' }).click();
    await dialog(page).getByLabel('Nodes', { exact: true }).fill('n1-n3');
    await writeAfter(page, 'noderange: n1-n3');
    await expect.poll(() => rules.nth(2).textContent()).toContain('on nodes n1-n3');
    await undo(page);
    await expect.poll(() => rules.nth(2).textContent()).not.toContain('n1-n3');
    await page.getByRole('button', { name: 'Remove rule 2.5' }).click();
    await writeAfter(page, 'policy · 2.5 · removed', 'Remove');
    await expect.poll(() => rules.count()).toBe(2);
    expect(await page.evaluate<unknown>('window.broken')).toBeUndefined();
    await page.close();
  });

  it('refuses a number that is in use, and to take full rights from everybody', async () => {
    const page = await pages.open('/policies');
    await page.getByRole('button', { name: 'New rule' }).click();
    await dialog(page).getByLabel('Number').fill('6');
    await dialog(page).getByRole('button', { name: 'Show what changes' }).click();
    await expect.poll(() => dialog(page).getByRole('alert').textContent()).toContain('Already defined: 6');
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Remove rule 1' }).click();
    await dialog(page).getByRole('button', { name: 'Show what changes' }).click();
    await expect.poll(() => dialog(page).getByRole('alert').textContent()).toContain('full rights');
    await page.close();
  });

  it('lets the policy itself say what an account may do, and why', async () => {
    const page = await pages.open('/policies');
    const ask = async (user: string, command: string, range = '', words = ''): Promise<void> => {
      await page.getByLabel('Account', { exact: true }).fill(user);
      await page.getByLabel('Command', { exact: true }).fill(command);
      await page.getByLabel('Nodes', { exact: true }).fill(range);
      await page.getByLabel('Arguments').fill(words);
      await page.getByRole('button', { name: 'Ask the policy' }).click();
    };
    const answer = page.locator('section.card', { hasText: 'What may this user do?' });
    await ask('operator', 'lsdef', 'n1-n3');
    await expect.poll(() => answer.textContent()).toContain('operator may run lsdef on n1-n3.Rule 6 allows it.');
    await ask('operator', 'rpower', 'n1-n3', 'off');
    await expect.poll(() => answer.textContent()).toContain('operator may not run rpower on n1-n3.');
    expect(await answer.textContent()).toContain('The first node that is refused is n1.');
    await ask(hostile, 'lsdef');
    await expect.poll(() => answer.textContent()).toContain(`${hostile} may not run lsdef.`);
    await ask('root', 'rpower', 'n[1-');
    await expect.poll(() => answer.getByRole('alert').textContent()).toContain('has no closing bracket');
    // It answers anew when a rule changes.
    await ask('operator', 'nodels');
    await expect.poll(() => answer.textContent()).toContain('operator may not run nodels.');
    await pages.server.ok('PUT', '/policy/6', { commands: 'lsdef,events,nodels' });
    await expect.poll(() => answer.textContent()).toContain('operator may run nodels.');
    await page.close();
  });

  it('tells an account that may not ask so', async () => {
    const page = await pages.open('/policies', pages.limited);
    await page.getByLabel('Account', { exact: true }).fill('root');
    await page.getByLabel('Command', { exact: true }).fill('rpower');
    await page.getByRole('button', { name: 'Ask the policy' }).click();
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('may not run lspolicy');
    await page.close();
  });
});

it('goes to every page by g and a letter, and has no barrier that axe calls serious, in either theme', async () => {
  const page = await pages.open('/');
  await page.getByRole('heading', { name: /6 nodes/ }).waitFor();
  const found: (readonly string[])[] = [];
  const look = async (where: string): Promise<void> => {
    await expect.poll(() => page.getByText('Reading…').count()).toBe(0);
    for (const barrier of await barriers(page)) found.push([where, barrier]);
  };
  for (const [key, name] of [
    ['g', 'Groups'],
    ['p', 'Policies'],
    ['t', 'Tables'],
    ['a', 'Audit log'],
  ] as const) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await look(name);
  }
  await goTo(page, at('/policies'));
  await page.getByRole('button', { name: 'Edit rule 6' }).click();
  await dialog(page).getByLabel('Time').fill('Mon-Fri 08:00-18:00');
  await dialog(page).getByRole('button', { name: 'Show what changes' }).click();
  await dialog(page).locator('.after').first().waitFor();
  await look('edit a rule');
  await page.keyboard.press('Escape');
  await goTo(page, at('/groups'));
  await page.getByRole('button', { name: 'Show compute' }).click();
  await page.getByRole('button', { name: 'Edit ipminodes' }).click();
  await look('edit a group');
  await page.keyboard.press('Escape');
  await goTo(page, at('/tables/policy'));
  await page.getByRole('button', { name: /^comments of 6: / }).click();
  await page.keyboard.type('x');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Remove row 1' }).click();
  await page.getByRole('button', { name: 'Add a row' }).click();
  await look('a table');
  // On a phone the pages that are not in the bar are behind a button.
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole('button', { name: 'More' }).click();
  await look('all pages');
  await dialog(page).getByRole('link', { name: 'Policies' }).click();
  await page.getByRole('heading', { level: 1, name: 'Policies' }).waitFor();
  await expect.poll(() => dialog(page).count()).toBe(0);
  expect(await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  expect(found).toEqual([]);
  await page.close();
});

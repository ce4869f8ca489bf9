import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addUser, passwordOf } from '../harness/users.ts';
import { startVmWorld, type VmWorld } from '../vm/world.ts';
import { type Browser, barriers, goTo, signIn, startBrowser } from './browser.ts';

const hostile = '<img src=x onerror="window.broken=1">';

describe('the page of virtual machines', { timeout: 120_000 }, () => {
  let world: VmWorld;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    world = await startVmWorld('127.223', 'powerTimeout = 30');
    const { server, lab } = world;
    const machine = { groups: 'vms', mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64' };
    await server.ok('PUT', '/nodes', {
      v1: { ...machine, vmstorage: `dir://${lab.images}`, vmstoragemodel: 'virtio', vmcpus: '2', vmmemory: '1G' },
      v2: { groups: 'vms', mgt: 'kvm', vmcpus: '4', vmmemory: hostile },
      empty: { groups: 'all', hosttype: 'kvm' },
    });
    // What its hypervisor has is not what its node says.
    await server.ok('POST', '/nodes/v1/vm', { memorysize: '32', cpucount: '1', disksize: '4M' });
    browser = await startBrowser();
    const first = await browser.open(browser.context, server.port);
    await signIn(first);
    await first.getByRole('heading', { level: 1, name: '4 nodes' }).waitFor();
    await first.close();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await world?.stop();
  });
  beforeEach(async () => {
    page = await browser.open(browser.context, world.server.port, '/machines');
  });
  afterEach(async () => {
    expect(await page.evaluate<unknown>('window.broken')).toBeUndefined();
    await page.close();
    expect(browser.complaints.splice(0)).toEqual([]);
  });

  const card = (host: string) => page.locator('section.card', { has: page.getByRole('heading', { name: host }) });
  const row = (name: string) => page.locator('tr', { hasText: name }).first();
  const ended = async (state: string): Promise<void> => {
    await expect.poll(() => page.locator('.page > header .badge').textContent(), { timeout: 60_000 }).toBe(state);
  };

  it('shows machines below their hypervisors, as these have them, and what cannot be read', async () => {
    await expect.poll(() => row('v1').textContent()).toContain('v1off132 MB');
    await expect.poll(() => card('no hypervisor').textContent()).toContain('vmhost');
    expect(await row('v2').textContent()).toContain(`4${hostile}`);
    expect(await card('empty').textContent()).toContain('No machine.');
    expect(await page.getByRole('link', { name: 'Console of v1' }).getAttribute('href')).toBe(
      '/muster/console/nodes/v1/console',
    );
    await card('localhost').getByRole('button', { name: '1 machine' }).click();
    await expect.poll(() => page.locator('#range').inputValue()).toBe('v1');
  });

  it('switches a machine on, and shows it when somebody switches it off elsewhere', async () => {
    await page.getByLabel('Power of v1').selectOption('on');
    await page.getByRole('button', { name: 'Power on 1 node' }).click();
    await ended('finished');
    expect(await world.lab.virsh('domstate', 'v1')).toBe('running');
    await goTo(page, '/muster/console/machines');
    await expect.poll(() => row('v1').textContent()).toContain('v1on');
    await world.server.ok('PUT', '/nodes/v1/power', { action: 'off' });
    await expect.poll(() => row('v1').textContent()).toContain('v1off');
  });

  it('takes snapshots, reverts to them and deletes them, each after a question', async () => {
    const names = async () => (await world.server.ok('GET', '/nodes/v1/snapshots')).v1.snapshots;
    const open = async (): Promise<void> => {
      await goTo(page, '/muster/console/machines');
      await page.getByRole('button', { name: 'Snapshots of v1' }).click();
    };
    await open();
    await page.getByText('There is no snapshot.').waitFor();
    await page.getByRole('button', { name: 'Take a snapshot' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('before-update');
    await dialog.getByLabel('What it is for').fill(hostile);
    await dialog.getByText('The same from the command line').click();
    await expect.poll(() => dialog.locator('pre').textContent()).toContain('muster snapvm v1 take before-update');
    await dialog.getByRole('button', { name: 'Take a snapshot' }).click();
    await ended('finished');
    expect(await names()).toEqual(['before-update']);
    await open();
    await expect
      .poll(() => page.getByRole('list', { name: 'Snapshots of v1' }).textContent())
      .toContain(`before-update off${hostile}`);
    await page.getByRole('button', { name: 'Revert v1 to before-update' }).click();
    expect(await dialog.textContent()).toContain('What has changed since on the disks of this machine is lost.');
    await dialog.getByRole('button', { name: 'Revert to it' }).click();
    await ended('finished');
    await open();
    await page.getByRole('button', { name: 'Delete before-update of v1' }).click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await names()).toEqual(['before-update']);
    await page.getByRole('button', { name: 'Delete before-update of v1' }).click();
    await dialog.getByRole('button', { name: 'Delete it' }).click();
    await ended('finished');
    expect(await names()).toEqual([]);
  });

  it('has no barrier that axe calls serious, and lets an account do only what it may', async () => {
    const { server } = world;
    await addUser(server, 'looker');
    await server.ok('PUT', '/policy/8', {
      name: 'looker',
      noderange: 'v1',
      commands: 'lsdef,nodels,events,rinv',
      rule: 'allow',
    });
    const other = await browser.another();
    const seen = await browser.open(other, server.port);
    await signIn(seen, 'looker', passwordOf('looker'));
    await seen.getByRole('heading', { level: 1, name: '1 node' }).waitFor();
    await goTo(seen, '/muster/console/machines');
    await expect.poll(() => seen.locator('tr', { hasText: 'v1' }).first().textContent()).toContain('132 MB');
    expect(await seen.getByText('v2').count()).toBe(0);
    await seen.getByRole('button', { name: 'Snapshots of v1' }).click();
    await expect.poll(() => seen.getByRole('alert').textContent()).toContain('may not run snapvm');
    expect(await barriers(seen)).toEqual([]);
    await seen.getByLabel('Power of v1').selectOption('off');
    const dialog = seen.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Power off 1 node' }).click();
    await expect.poll(() => dialog.getByRole('alert').textContent()).toContain('may not run rpower');
    expect(await barriers(seen)).toEqual([]);
    await other.close();
  });
});

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addUser, passwordOf } from '../harness/users.ts';
import { labNode } from '../hardware/nodes.ts';
import { labImage, type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { startUpdateWorld, type UpdateWorld } from '../update/world.ts';
import { type Browser, barriers, goTo, signIn, startBrowser } from './browser.ts';

const hostile = '<img src=x onerror="window.broken=1">';
const clientBytes = 4_000_000;

let world: UpdateWorld;
let lab: RedfishLab;
let browser: Browser;
let context: BrowserContext;
let page: Page;
/** Where BMCs fetch an image. */
let files: Server;
let address: string;

/** Nodes that are both: a root file system behind SSH, and a BMC with Redfish. */
beforeAll(async () => {
  [world, lab] = await Promise.all([
    startUpdateWorld(3, '127.221', 2621, {
      environment: {
        MUSTER_HARDWARE_FIRMWARE_SETTLE: '1',
        MUSTER_HARDWARE_FLASH_ASK: '1',
        MUSTER_REMOTE_CLIENT_BYTES: String(clientBytes),
      },
    }),
    startRedfish({ count: 3, prefix: '127.220', kinds: ['plain'], makers: ['dell'], powerDelay: 10 }),
  ]);
  await world.define({});
  const bmcs = lab.addresses.map((bmc, index) => [`n${index + 1}`, labNode('redfish', bmc)] as const);
  await world.server.ok('PUT', '/nodes', Object.fromEntries(bmcs));
  world.script('greet', '#!/bin/sh\necho "hello $NODE $1"\n');
  world.script('waits', '#!/bin/sh\nwhile [ ! -e /opt/go ]; do sleep 0.2; done\n');
  files = createServer((_request, response) => response.end(labImage('bios', 'V-8'))).listen(0, '127.0.0.1');
  await once(files, 'listening');
  address = `http://127.0.0.1:${(files.address() as AddressInfo).port}/bios.bin`;
  browser = await startBrowser();
  context = browser.context;
  const first = await browser.open(context, world.server.port);
  await signIn(first);
  await first.getByRole('heading', { level: 1, name: '3 nodes' }).waitFor();
  await first.close();
});
afterAll(async () => {
  await browser?.close();
  files?.close();
  await Promise.all([world?.stop(), lab?.stop()]);
});
beforeEach(async () => {
  page = await browser.open(context, world.server.port);
});
afterEach(async () => {
  expect(await page.evaluate<unknown>('window.broken')).toBeUndefined();
  await page.close();
  expect(browser.complaints.splice(0)).toEqual([]);
});

async function ask(range: string, action: string, on = page): Promise<Locator> {
  const box = on.locator('#range');
  // What is selected already is not read again, so the toolbar stays.
  if ((await box.inputValue()) !== range) await box.fill(range);
  const button = on.getByRole('toolbar').getByRole('button', { name: action, exact: true });
  const isButton = ['Run a command', 'Copy files', 'Provision'].includes(action);
  await (isButton ? button.click() : on.getByLabel('Update', { exact: true }).selectOption(action));
  const dialog = on.getByRole('dialog');
  await dialog.waitFor();
  return dialog;
}

/** What the page of the run says when it has ended. */
async function outcome(state: string, on = page): Promise<string> {
  await expect.poll(() => on.locator('.page > header .badge').textContent(), { timeout: 30_000 }).toBe(state);
  return (await on.locator('main').textContent()) ?? '';
}

const file = (name: string, buffer: Buffer) => ({ name, mimeType: 'application/octet-stream', buffer });

describe('files of the browser’s machine', () => {
  it('are copied to the nodes of the selection, whatever their names', async () => {
    const dialog = await ask('n1,n2', 'Copy files');
    const long = `${'long-'.repeat(30)}name`;
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251));
    const sent = [file('bytes.bin', bytes), file(hostile.replace('/', ''), Buffer.from('x')), file(long, Buffer.of())];
    await dialog.getByLabel('Files of this computer').setInputFiles([...sent, file('-rf', Buffer.from('option'))]);
    await dialog.getByLabel('Place on the nodes').fill('/opt/in/');
    await dialog.getByText('The same from the command line').click();
    await expect.poll(() => dialog.locator('pre').textContent()).toContain(`muster xdcp n1,n2 bytes.bin '<img`);
    expect(await dialog.locator('pre').textContent()).toContain(' ./-rf /opt/in/');
    expect(await dialog.textContent()).toContain('Files of the same names on these nodes are replaced.');
    await dialog.getByRole('button', { name: 'Copy to 2 nodes' }).click();
    expect(await outcome('finished')).toContain('n[1-2]');
    for (const index of [0, 1]) {
      expect(world.lab.read(index, '/opt/in/bytes.bin').equals(bytes)).toBe(true);
      expect(world.lab.read(index, `/opt/in/${sent[1]!.name}`).toString()).toBe('x');
      expect(world.lab.read(index, `/opt/in/${long}`).length).toBe(0);
      expect(world.lab.read(index, '/opt/in/-rf').toString()).toBe('option');
    }
  });

  it('are refused with a sentence where there are too many bytes, or two of one name', async () => {
    const dialog = await ask('n1', 'Copy files');
    const input = dialog.getByLabel('Files of this computer');
    await input.setInputFiles([file('same', Buffer.of(1)), file('same', Buffer.of(2))]);
    await expect.poll(() => dialog.getByRole('alert').textContent()).toContain('Two of the files are named same');
    expect(await dialog.getByRole('button', { name: 'Copy to 1 node' }).isDisabled()).toBe(true);
    await input.setInputFiles([file('large', Buffer.alloc(clientBytes + 1))]);
    await dialog.getByRole('button', { name: 'Copy to 1 node' }).click();
    await expect.poll(() => dialog.getByRole('alert').textContent()).toContain('remote.clientBytes');
  });
});

describe('software', () => {
  it('is updated by postscripts, with what each node printed folded', async () => {
    const dialog = await ask('n1,n2,n3', 'Software and files');
    await dialog.getByLabel('Postscripts', { exact: true }).check();
    await dialog.getByLabel('Postscripts, with commas').fill(`greet '${hostile}'`);
    await dialog.getByText('The same from the command line').click();
    await expect.poll(() => dialog.locator('pre').textContent()).toContain('muster updatenode n1,n2,n3 -P ');
    await dialog.getByRole('button', { name: 'Update 3 nodes' }).click();
    expect(await outcome('finished')).toContain(`hello n1 ${hostile}`);
  });

  it('says which script is missing, and runs until somebody who has the link cancels it', async () => {
    const dialog = await ask('n1', 'Software and files');
    await dialog.getByLabel('Postscripts', { exact: true }).check();
    const scripts = dialog.getByLabel('Postscripts, with commas');
    await scripts.fill('no-such-script');
    await dialog.getByRole('button', { name: 'Update 1 node' }).click();
    await expect.poll(() => dialog.getByRole('alert').textContent()).toContain('no-such-script');
    await scripts.fill('waits');
    await dialog.getByRole('button', { name: 'Update 1 node' }).click();
    await page.getByRole('heading', { name: 'updatenode' }).waitFor();
    const other = await browser.another();
    const second = await browser.open(other, world.server.port);
    await signIn(second);
    await second.getByRole('heading', { level: 1, name: '3 nodes' }).waitFor();
    await goTo(second, page.url());
    await second.getByRole('button', { name: 'Cancel' }).click();
    await outcome('cancelled');
    await other.close();
  });
});

describe('firmware', () => {
  it('is listed by version, and updated from a file only after a look at what would happen', async () => {
    const dialog = await ask('n1,n2,n3', 'Firmware');
    const versions = dialog.getByRole('region', { name: 'Installed versions' });
    await expect.poll(() => versions.textContent()).toContain('Host BIOS (bios)LAB-BIOS-1.42n[1-3] (3)');
    expect(await versions.textContent()).toContain('2.15.1n2 (1)');
    await dialog.getByLabel('a file of this computer').check();
    await dialog.getByLabel('File', { exact: true }).setInputFiles(file('bios.bin', labImage('bios', 'V-7')));
    await dialog.getByLabel('Component').fill('bios');
    await dialog.getByLabel('Version of the image').fill('V-7');
    await dialog.getByText('The same from the command line').click();
    const line = 'muster rflash n1,n2,n3 bios.bin --component bios --image-version V-7';
    await expect.poll(() => dialog.locator('pre').textContent()).toContain(line);
    await dialog.getByRole('button', { name: 'Show what happens' }).click();
    await expect
      .poll(() => dialog.textContent())
      .toContain('3 nodes would get the image.n[1-3]: now bios LAB-BIOS-1.42');
    expect((await lab.state(0)).images).toEqual([]);
    await dialog.getByRole('button', { name: 'Update the firmware of 3 nodes' }).click();
    expect(await outcome('finished')).toContain('LAB-BIOS-1.42 to V-7');
    expect((await lab.state(2)).images).toMatchObject([{ component: 'bios', version: 'V-7', way: 'multipart' }]);
  });

  it('is updated from an address, at the time that was chosen, and asks again when something else is meant', async () => {
    const dialog = await ask('n1,n2', 'Firmware');
    await dialog.getByLabel('Address', { exact: true }).fill(address);
    await dialog.getByLabel('When it is applied').selectOption('on-reset');
    await dialog.getByRole('button', { name: 'Show what happens' }).click();
    await dialog.getByRole('button', { name: 'Update the firmware of 2 nodes' }).waitFor();
    await dialog.getByLabel('Component').fill('no-such-part');
    await dialog.getByRole('button', { name: 'Show what happens' }).click();
    await expect.poll(() => dialog.textContent()).toContain('n[1-2]: its BMC has no component "no-such-part"');
    expect(await dialog.getByRole('button', { name: 'Update the firmware of 2 nodes' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Component').fill('bios');
    await dialog.getByRole('button', { name: 'Show what happens' }).click();
    await dialog.getByRole('button', { name: 'Update the firmware of 2 nodes' }).click();
    await page.getByRole('heading', { name: 'rflash' }).waitFor();
    await expect.poll(async () => (await lab.state(1)).images.at(-1)).toMatchObject({ apply: 'OnReset', way: 'fetch' });
    expect((await lab.state(2)).images.length).toBe(1);
  });
});

describe('BIOS settings', () => {
  it('are compared with those of another node, and those that are chosen are given to the nodes', async () => {
    const { server } = world;
    await server.ok('PUT', '/nodes/n3/bios', { settings: { LogicalProc: 'Disabled', SysProfile: 'PerfOptimized' } });
    await server.ok('PUT', '/nodes/n3/power', { action: 'on' });
    const dialog = await ask('n1,n2', 'BIOS settings');
    await dialog.getByLabel('Node', { exact: true }).fill('n1,n2');
    await dialog.getByRole('button', { name: 'Compare' }).click();
    await expect.poll(() => dialog.getByRole('alert').textContent()).toContain('"n1,n2" is 2 nodes; name one.');
    await dialog.getByLabel('Node', { exact: true }).fill('n3');
    await dialog.getByRole('button', { name: 'Compare' }).click();
    const table = dialog.getByRole('region', { name: 'Settings that differ' });
    await expect.poll(() => table.textContent()).toContain('LogicalProcDisabledEnabled n[1-2] (2)');
    expect(await table.textContent()).not.toContain('AssetTag');
    await table.getByLabel('SysProfile').uncheck();
    await dialog.getByText('The same from the command line').click();
    await expect
      .poll(() => dialog.locator('pre').textContent())
      .toContain('muster bios set n1,n2 LogicalProc=Disabled\n');
    await dialog.getByRole('button', { name: 'Change 1 setting of 2 nodes' }).click();
    await outcome('finished');
    expect(await server.ok('GET', '/nodes/n2/bios/LogicalProc,SysProfile')).toMatchObject({
      n2: { pending: { LogicalProc: 'Disabled' }, current: { SysProfile: 'PerfPerWattOptimizedDapc' } },
    });
  });

  it('are compared with a profile, which has to be one', async () => {
    const dialog = await ask('n1', 'BIOS settings');
    await dialog.getByLabel('a profile').check();
    const profile = dialog.getByLabel('Profile in YAML or JSON');
    const button = dialog.getByRole('button', { name: 'Compare' });
    for (const [text, sentence] of [
      ['bmc:\n  vlan: 3', 'use muster bios apply'],
      [`${JSON.stringify(hostile)}: 1`, `"${hostile}" is not a section`],
      ['bios: text', 'The section "bios" must have names'],
      ['bios:\n  A: [1]', 'A must be a text'],
      ['a: &a [*a]\nbios: *b', 'The profile cannot be read: '],
    ] as const) {
      await profile.fill(text);
      await button.click();
      await expect.poll(() => dialog.getByRole('alert').textContent()).toContain(sentence);
    }
    const path = join(world.server.data, 'profile.yaml');
    writeFileSync(path, 'bios:\n  AcPwrRcvryUserDelay: 120\n  BootMode: "Uefi"\n  NoSuchSetting: 1.50\n');
    await dialog.getByLabel('Read it from a file').setInputFiles(path);
    await expect.poll(() => profile.inputValue()).toContain('NoSuchSetting');
    await button.click();
    const table = dialog.getByRole('region', { name: 'Settings that differ' });
    await expect.poll(() => table.textContent()).toContain('AcPwrRcvryUserDelay12060 n1 (1)');
    expect(await table.textContent()).toContain('NoSuchSetting1.50no such setting n1 (1)');
    await dialog.getByRole('button', { name: 'Change 2 settings of 1 node' }).click();
    expect(await outcome('with errors')).toContain('no setting "NoSuchSetting"');
  });
});

describe('every action', () => {
  it('has no barrier that axe calls serious', async () => {
    const found: (readonly string[])[] = [];
    const other = await browser.another();
    const seen = await browser.open(other, world.server.port);
    await signIn(seen);
    await seen.getByRole('heading', { level: 1, name: '3 nodes' }).waitFor();
    const look = async (where: string): Promise<void> => {
      for (const barrier of await barriers(seen)) found.push([where, barrier]);
    };
    for (const action of ['Run a command', 'Copy files', 'Software and files']) {
      await ask('n1,n2', action, seen);
      await look(action);
      await seen.keyboard.press('Escape');
    }
    const firmware = await ask('n1,n2', 'Firmware', seen);
    await firmware.getByRole('region', { name: 'Installed versions' }).waitFor();
    await firmware.getByLabel('Address', { exact: true }).fill(address);
    await firmware.getByRole('button', { name: 'Show what happens' }).click();
    await firmware.getByRole('button', { name: 'Update the firmware of 2 nodes' }).waitFor();
    await look('firmware');
    await seen.keyboard.press('Escape');
    const bios = await ask('n1,n2', 'BIOS settings', seen);
    await bios.getByLabel('a profile').check();
    await bios.getByLabel('Profile in YAML or JSON').fill('bios:\n  BootMode: Bios\n');
    await bios.getByRole('button', { name: 'Compare' }).click();
    await bios.getByRole('region', { name: 'Settings that differ' }).waitFor();
    await look('bios');
    expect(found).toEqual([]);
    await other.close();
  });

  it('is only for those whom the policy lets do it', async () => {
    const { server } = world;
    await addUser(server, 'looker');
    const rule = { name: 'looker', noderange: 'n1', rule: 'allow' };
    await server.ok('PUT', '/policy/8', { ...rule, commands: 'lsdef,nodels,events' });
    await server.ok('PUT', '/policy/9', { ...rule, commands: 'rflash', parameters: '^-l$' });
    const other = await browser.another();
    const seen = await browser.open(other, server.port);
    await signIn(seen, 'looker', passwordOf('looker'));
    await seen.getByRole('heading', { level: 1, name: '1 node' }).waitFor();
    const copy = await ask('n1', 'Copy files', seen);
    await copy.getByLabel('Files of this computer').setInputFiles(file('mine', Buffer.of(1)));
    await copy.getByRole('button', { name: 'Copy to 1 node' }).click();
    await expect.poll(() => copy.getByRole('alert').textContent()).toContain('may not run xdcp');
    await seen.keyboard.press('Escape');
    const firmware = await ask('n1', 'Firmware', seen);
    const versions = firmware.getByRole('region', { name: 'Installed versions' });
    await expect.poll(() => versions.textContent()).toContain('Host BIOS (bios)');
    await firmware.getByLabel('Address', { exact: true }).fill(address);
    await firmware.getByRole('button', { name: 'Show what happens' }).click();
    await expect.poll(() => firmware.getByRole('alert').textContent()).toContain('may not run rflash');
    await seen.keyboard.press('Escape');
    const bios = await ask('n1', 'BIOS settings', seen);
    await bios.getByLabel('Node', { exact: true }).fill('n1');
    await bios.getByRole('button', { name: 'Compare' }).click();
    await expect.poll(() => bios.getByRole('alert').textContent()).toContain('may not run rbios');
    await other.close();
    await server.ok('DELETE', '/policy/8,9');
  });
});

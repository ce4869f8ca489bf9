import { rmSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { atConsole, until } from '../consoles/web-socket.ts';
import { define, labNodes } from '../hardware/nodes.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser, passwordOf } from '../harness/users.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { telnetBreak } from '../lab/bmc/serial-ports.ts';
import { type Browser, barriers, consoleAt, goTo, signIn, startBrowser } from './browser.ts';

let server: TestServer;
let bmcs: BmcLab;
let browser: Browser;
let first: BrowserContext;

const environment = { MUSTER_IPMI_TIMEOUT: '5' };
const config = '[consoles]\nwriteSeconds = 1\n';
const hostile = '<img src=x onerror="window.broken=1">';

beforeAll(async () => {
  [server, bmcs] = await Promise.all([
    startServer({ environment, config }),
    startBmcs({ count: 4, prefix: '127.206', serial: (typed) => typed.replaceAll(/[^ -~\r]/g, '') }),
  ]);
  await define(server, labNodes('s', 'ipmi', bmcs.addresses));
  await server.ok('POST', '/nodes/bare', { groups: 'all' });
  browser = await startBrowser();
  first = browser.context;
  await first.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await open(first);
  await signIn(page);
  await page.getByRole('heading', { level: 1, name: /5 nodes/ }).waitFor();
  await page.close();
}, 300_000);
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await bmcs?.stop();
  // After the restart it is somebody else's to the server.
  if (server) rmSync(server.data, { recursive: true, force: true });
});
afterEach(async () => {
  // A test that failed leaves pages, and whoever has the keyboard there keeps it.
  for (const page of first.pages()) if (page.url().includes('/muster/console')) await page.close();
  expect(browser.complaints.splice(0)).toEqual([]);
});

const open = (context: BrowserContext, path = ''): Promise<Page> => browser.open(context, server.port, path);
const screenOf = (page: Page) => page.locator('.xterm-rows').first().textContent();
const badges = (page: Page) => page.locator('.page > header .badge').allTextContents();

/** At the console of a node, when the machine is connected. */
async function sit(context: BrowserContext, node: string, badge = 'you type'): Promise<Page> {
  const page = await open(context, `/nodes/${node}/console`);
  await expect.poll(() => badges(page), { timeout: 30_000 }).toEqual(['connected', badge]);
  return page;
}

describe('the page of a serial console', () => {
  it('shows what the machine prints, types what somebody types, and sends keys and breaks', async () => {
    const page = await open(first, '/nodes/s1');
    const loaded: string[] = [];
    page.on('request', (request) => loaded.push(request.url()));
    await page.reload();
    const link = page.getByRole('link', { name: 'Console', exact: true });
    await link.waitFor();
    // The terminal is larger than all the rest: only who wants it loads it.
    expect(loaded.filter((url) => url.includes('/terminal-'))).toEqual([]);
    await link.click();
    await expect.poll(() => loaded.filter((url) => url.includes('/terminal-')).length).toBe(1);
    await expect.poll(() => badges(page), { timeout: 30_000 }).toEqual(['connected', 'you type']);
    bmcs.serial(0).print('Debian GNU/Linux 13 s1 ttyS0\r\n\r\ns1 login: ');
    await expect.poll(() => screenOf(page)).toContain('s1 login:');
    await page.getByRole('textbox', { name: 'Serial console of s1' }).focus();
    await page.keyboard.type('operator');
    await page.keyboard.press('Enter');
    await expect.poll(() => screenOf(page)).toContain('s1 login: operator');
    expect(bmcs.serial(0).typed).toContain('operator\r');
    // Keys of the console of a terminal are not those of the page.
    await page.keyboard.press('Control+k');
    await page.keyboard.press('?');
    await expect.poll(() => bmcs.serial(0).typed).toContain('\u000b?');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('button', { name: 'Send break' }).click();
    await expect.poll(() => page.getByRole('log').textContent()).toContain('The break was sent.');
    await page.getByLabel('Send a key').selectOption('Ctrl W');
    // ipmi_sim sends a break on with what is typed next.
    await expect.poll(() => bmcs.serial(0).typed).toContain(`${telnetBreak}\u0017`);
    await page.keyboard.press('Control+Shift+X');
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await page.close();
  });

  it('lets one person type, and hands the keyboard over', async () => {
    const page = await sit(first, 's1');
    const other = await sit(first, 's1', 'you look on');
    await other.getByRole('button', { name: 'Ask for the keyboard' }).click();
    await expect.poll(() => page.getByRole('log').textContent()).toContain('asks for the keyboard');
    await page.getByRole('button', { name: /Give the keyboard to root/ }).click();
    await expect.poll(() => badges(other)).toEqual(['connected', 'you type']);
    await expect.poll(() => badges(page)).toEqual(['connected', 'you look on']);
    await page.getByRole('textbox', { name: 'Serial console of s1' }).focus();
    await page.keyboard.type('from who looks on');
    await other.getByRole('textbox', { name: 'Serial console of s1' }).focus();
    await other.keyboard.type('from who types');
    await expect.poll(() => bmcs.serial(0).typed).toContain('from who types');
    expect(bmcs.serial(0).typed).not.toContain('from who looks on');
    await other.getByRole('button', { name: 'Let others type' }).click();
    await page.getByRole('button', { name: 'Take the keyboard' }).click();
    await expect.poll(() => badges(page)).toEqual(['connected', 'you type']);
    await Promise.all([page.close(), other.close()]);
  });

  it('draws hostile bytes as text, and obeys none of them', async () => {
    const page = await sit(first, 's2');
    await page.evaluate(`navigator.clipboard.writeText('mine')`);
    const print = (text: string): void => bmcs.serial(1).print(text);
    print(`\u001b]0;owned\u0007\u001b]2;owned\u001b\\\u001b]52;c;${btoa('owned')}\u0007\u001b]52;c;?\u0007`);
    print('\u001b]10;#000000\u0007\u001b]11;#000000\u0007\u001b]4;1;#000000\u0007\u001b]4;1;?\u0007');
    print(
      `\u001b]8;;https://elsewhere.example/\u001b\\a link\u001b]8;;\u001b\\ https://elsewhere.example/ ${hostile}\r\n`,
    );
    print(
      '\u001b[c\u001b[>c\u001b[5n\u001b[6n\u001b[?6n\u001b[21t\u001b[?1$p\u001bP$qm\u001b\\\u001b[8;5;5t\u001b[3;0;0t',
    );
    print(
      '\u001b[38;2;1;2;3m\u001b[48;2;1;2;3mhidden?\u001b[0m \u001b[31mred\u001b[0m \u001b[8minvisible\u001b[0m\r\n',
    );
    print(`${'x'.repeat(60_000)}\u0000\u0001\u007f\u009b\u0085${'\u0301'.repeat(500)}\r\n`);
    for (let i = 0; i < 60; i++) print(`${String(i).padStart(5)} ${'\u001b[7m~\u001b[0m'.repeat(200)}\r\n`);
    print(`\u001b[2J\u001b[H${hostile} and the end\r\n`);
    await expect.poll(() => screenOf(page), { timeout: 180_000 }).toContain(`${hostile} and the end`);
    print(
      '\u001b]8;;https://elsewhere.example/\u001b\\click here\u001b]8;;\u001b\\ \u001b[38;2;9;9;9mdark\u001b[0m\r\n',
    );
    await expect.poll(() => screenOf(page)).toContain('click here dark');
    expect(await page.title()).toBe('muster');
    expect(await page.evaluate(`navigator.clipboard.readText()`)).toBe('mine');
    await page.getByText('click here').last().click({ force: true });
    expect(first.pages().map((each) => each.url())).not.toContain('https://elsewhere.example/');
    expect(await page.locator('.xterm a, .xterm img').count()).toBe(0);
    expect(await page.evaluate<unknown>('window.broken')).toBeUndefined();
    // Dark on dark is drawn so that one can read it.
    const style = await page.getByText('dark', { exact: true }).last().getAttribute('style');
    expect(style).toMatch(/^color: (?!rgb\(9, 9, 9\)|#090909)/);
    // Nobody has typed, so nothing was answered.
    expect(bmcs.serial(1).typed).toBe('');
    await page.getByRole('textbox', { name: 'Serial console of s2' }).focus();
    await page.keyboard.type('resize');
    print('\u001b[6n');
    await expect.poll(() => bmcs.serial(1).typed).toMatch(/resize.\[\d+;\d+R/s);
    await page.close();
  });

  it('has the log beside it, which can be searched', async () => {
    const page = await sit(first, 's2');
    const log = page.locator('section.card', { hasText: 'Log' });
    await log.getByLabel('Text to search for').fill('AND THE END');
    await expect
      .poll(async () => {
        await log.getByRole('button', { name: 'Search' }).click();
        return log.locator('li').allTextContents();
      })
      .toEqual([expect.stringContaining(`${hostile} and the end`)]);
    await log.getByLabel('Text to search for').fill('no machine ever printed this');
    await log.getByRole('button', { name: 'Search' }).click();
    await expect.poll(() => log.textContent()).toContain('No line has this text in this time.');
    await page.getByRole('button', { name: 'Keep open and log' }).click();
    await expect.poll(() => page.getByRole('button', { name: 'Keep no longer' }).count()).toBe(1);
    expect((await server.ok('GET', '/nodes/s2/attrs/consoleenabled')).s2).toEqual({ consoleenabled: '1' });
    await page.close();
  });

  it('says that the machine is away, and goes on when it is there again', async () => {
    const page = await sit(first, 's3');
    await bmcs.fault(2, { forget: true });
    await expect.poll(() => badges(page), { timeout: 60_000 }).toContain('not connected');
    await page.getByRole('button', { name: 'Connect now' }).click();
    await expect.poll(() => badges(page), { timeout: 60_000 }).toEqual(['connected', 'you type']);
    bmcs.serial(2).print('there again\r\n');
    await expect.poll(() => screenOf(page)).toContain('there again');
    await page.close();
  });

  it('says why there is no console', async () => {
    const page = await open(first, '/nodes/bare/console');
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('its attribute mgt is not set');
    await goTo(page, consoleAt(server.port, '/nodes/nosuch/console'));
    await expect.poll(() => page.getByRole('alert').first().textContent()).toContain('nosuch');
    await page.close();
  });

  it('is found by the name of the node', async () => {
    const page = await open(first);
    await page.getByRole('heading', { level: 1, name: /5 nodes/ }).waitFor();
    await page.keyboard.press('Control+k');
    const box = page.getByRole('combobox', { name: 'Page, node or action' });
    await box.fill('s4 cons');
    await expect.poll(() => page.locator('li[role=option][aria-selected=true]').textContent()).toBe('s4serial console');
    await box.press('Enter');
    await page.getByRole('heading', { level: 1, name: 's4 serial console' }).waitFor();
    await page.close();
  });
});

describe('who may', () => {
  it('look on only, looks on only, and at these nodes', async () => {
    await addUser(server, 'viewer');
    const rule = { name: 'viewer', rule: 'allow', noderange: 's1' };
    await server.ok('PUT', '/policy/8', { ...rule, noderange: 's1,s4', commands: 'lsdef,nodels,events' });
    await server.ok('PUT', '/policy/9', { ...rule, commands: 'rcons', parameters: '^view$' });
    const context = await browser.another();
    const page = await open(context);
    await signIn(page, 'viewer', passwordOf('viewer'));
    await page.getByRole('heading', { level: 1, name: /2 nodes/ }).waitFor();
    await goTo(page, consoleAt(server.port, '/nodes/s1/console'));
    await expect.poll(() => badges(page), { timeout: 30_000 }).toEqual(['connected', 'you look on']);
    expect(await page.locator('.page > header').textContent()).toContain('Your account may look on only');
    expect(await page.getByRole('button', { name: 'Take the keyboard' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Send break' }).isDisabled()).toBe(true);
    const before = bmcs.serial(0).typed;
    await page.getByRole('textbox', { name: 'Serial console of s1' }).focus();
    await page.keyboard.type('sneaky');
    bmcs.serial(0).print('still looking\r\n');
    await expect.poll(() => screenOf(page)).toContain('still looking');
    expect(bmcs.serial(0).typed).toBe(before);
    await expect.poll(() => page.getByText('may not run replaycons').count()).toBe(1);
    await goTo(page, consoleAt(server.port, '/nodes/s4/console'));
    await expect.poll(() => page.getByRole('alert').first().textContent()).toContain('may not run rcons on s4');
    await goTo(page, consoleAt(server.port, '/consoles'));
    await expect.poll(() => page.getByRole('alert').first().textContent()).toContain('may not run lsconsoles');
    await page.locator('#range').fill('s1,s4');
    await expect.poll(() => page.locator('.console-tile').count()).toBe(2);
    const tile = (node: string) => page.getByRole('region', { name: `Serial console of ${node}` });
    await expect.poll(() => tile('s1').textContent(), { timeout: 30_000 }).toContain('still looking');
    await expect.poll(() => tile('s4').textContent()).toContain('may not run rcons on s4');
    // Whose right ends is disconnected, and not let in again.
    await server.ok('DELETE', '/policy/9');
    await expect.poll(() => tile('s1').textContent(), { timeout: 30_000 }).toContain('may not run rcons on s1');
    await context.close();
  });

  it('not open one: a page of another origin, though the browser has a session', async () => {
    const own = await open(first, '/nothing');
    const attempt = `new Promise((resolve) => {
      const socket = new WebSocket('wss://127.0.0.1:${server.port}/muster/nodes/s4/console');
      socket.onopen = () => { socket.close(); resolve('open'); };
      socket.onerror = () => resolve('refused');
    })`;
    expect(await own.evaluate(attempt)).toBe('open');
    // To browsers it is the same site, so that they send the cookie along.
    const elsewhere = `https://127.0.0.1:${server.port === 9_443 ? 9_444 : 9_443}/`;
    await first.route(elsewhere, (route) => route.fulfill({ contentType: 'text/html', body: 'another page' }));
    const foreign = await first.newPage();
    await foreign.goto(elsewhere);
    expect(await foreign.evaluate(attempt)).toBe('refused');
    await Promise.all([own.close(), foreign.close()]);
  });
});

describe('all consoles', () => {
  it('are on one page: live, who has them, and what they printed', async () => {
    const empty = await open(first, '/consoles');
    await server.ok('PUT', '/services/console', { nodes: ['s2'], action: 'off' });
    await until(async () => (await server.ok('GET', '/consoles')).length === 0);
    await expect.poll(() => empty.locator('main').textContent(), { timeout: 30_000 }).toContain('No console is open.');
    await empty.close();
    const writer = await atConsole(server, '/nodes/s4/console');
    bmcs.serial(3).print(`kernel: ${hostile}\r\n`);
    const page = await open(first, '/consoles');
    const row = page.locator('table tr', { hasText: 's4' });
    await expect.poll(() => row.textContent(), { timeout: 30_000 }).toMatch(/^s4connected.*SOL 127\.206\.\S+root/);
    const tile = page.getByRole('region', { name: 'Serial console of s4' });
    await expect.poll(() => tile.textContent()).toContain(`kernel: ${hostile}`);
    expect(await tile.textContent()).toContain('root types');
    await page.locator('#range').fill('s[1-3]');
    await expect.poll(() => page.locator('.console-tile').count()).toBe(3);
    await page.locator('#range').fill('');
    const search = page.locator('section.card', { hasText: 'Search all logs' });
    await search.getByLabel('Text to search for').fill('kernel: <IMG');
    await expect
      .poll(async () => {
        await search.getByRole('button', { name: 'Search' }).click();
        return search.locator('.found').allTextContents();
      })
      .toEqual([expect.stringMatching(/^s4.*kernel: <img/)]);
    await page.close();
    await writer.leave();
  });

  it('and one have no barrier that axe calls serious, in either theme', async () => {
    const holder = await atConsole(server, '/nodes/s1/console');
    // Those of the tests before are closing.
    await until(async () => (await server.ok('GET', '/consoles')).length === 1);
    const page = await sit(first, 's1', 'you look on');
    bmcs.serial(0).print('\u001b[31mred\u001b[0m \u001b[1;34mblue\u001b[0m \u001b[90mgray\u001b[0m\r\nlogin: ');
    await expect.poll(() => screenOf(page)).toContain('login:');
    await expect.poll(() => page.getByText('Reading…').count()).toBe(0);
    expect(await barriers(page)).toEqual([]);
    await goTo(page, consoleAt(server.port, '/consoles'));
    await expect
      .poll(() => page.locator('.console-tile').allTextContents())
      .toEqual([expect.stringContaining('connected')]);
    expect(await barriers(page)).toEqual([]);
    await page.close();
    await holder.leave();
  });
});

describe('after a restart of the server', () => {
  it('goes on without a reload, and says that it waits meanwhile', async () => {
    const page = await sit(first, 's1');
    const { data, port } = server;
    await server.kill();
    await expect.poll(() => page.locator('main').textContent()).toContain('The next attempt is in');
    server = await startServer({ data, listen: [`127.0.0.1:${port}`], environment, config });
    // To the BMC the server that was killed still has the console.
    const takeOver = page.getByRole('button', { name: 'Take over' });
    await expect
      .poll(
        async () => {
          if ((await takeOver.count()) > 0) {
            await takeOver.click();
            await page.getByRole('dialog').getByRole('button', { name: 'Take over' }).click();
          }
          return badges(page);
        },
        { timeout: 90_000, interval: 1_000 },
      )
      .toEqual(['connected', 'you type']);
    bmcs.serial(0).print('after the restart\r\n');
    await expect.poll(() => screenOf(page)).toContain('after the restart');
    await page.close();
  });
});

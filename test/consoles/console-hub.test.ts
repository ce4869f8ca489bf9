import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { type SerialPort, startSerialPort } from './serial-port.ts';
import { accounts, type ConsoleWorld, startConsoles, type TestViewer } from './world.ts';

let port: SerialPort;
let world: ConsoleWorld;
let node: string;
let count = 0;

beforeAll(async () => {
  world = await startConsoles();
  await world.store.put(...accounts, ['policy', { priority: '2', name: 'ann', commands: 'rcons', rule: 'allow' }]);
});
afterAll(() => world.close());

/** A machine of its own for each test. */
beforeEach(async () => {
  port = await startSerialPort();
  node = `n${++count}`;
  await world.store.put(
    ['nodelist', { node }],
    ['nodehm', { node, mgt: 'ipmi', cons: 'wire', serialport: String(port.port) }],
  );
});
afterEach(() => port.stop().catch(() => {}));

const until = (holds: () => unknown): Promise<void> =>
  vi.waitFor(() => expect(holds()).toBeTruthy(), { timeout: 30_000, interval: 10 });

async function connected(...args: Parameters<ConsoleWorld['enter']>): Promise<TestViewer> {
  const viewer = await world.enter(...args);
  await until(() => viewer.state?.state === 'connected');
  return viewer;
}

it('shows two viewers the same bytes, and who comes later what came before', async () => {
  const [first, second] = [await connected(node), await connected(node, { user: 'ann', mayWrite: false })];
  expect(port.opened).toBe(1);
  port.print('Debian GNU/Linux\r\nlogin: ');
  await until(() => second.output.endsWith('login: ') && first.output === second.output);
  const third = await connected(node);
  await until(() => third.output === first.output);
  expect(third.state.viewers.map(({ user, writes }) => [user, writes])).toEqual([
    ['root', true],
    ['ann', false],
    ['root', false],
  ]);
});

it('closes the console when the last viewer leaves', async () => {
  const [first, second] = [await connected(node), await connected(node)];
  first.leave();
  await until(() => second.state.viewers.length === 1);
  expect(port.isOpen).toBe(true);
  second.leave();
  await until(() => !port.isOpen);
  expect(world.consoles.of(node)).toBeUndefined();
});

it('lets one viewer type, and hands the keyboard over', async () => {
  const [first, second, looker] = [
    await connected(node),
    await connected(node, { user: 'ann' }),
    await connected(node, { user: 'eve', mayWrite: false }),
  ];
  first.type('root\r');
  await until(() => port.typed === 'root\r' && looker.output.includes('root\r'));
  second.type('rm -rf /\r');
  looker.type('evil\r');
  await until(() => second.notices.length > 0 && looker.notices.length > 0);
  expect(second.notices).toEqual(['root is typing. Ask for the keyboard, or take it.']);
  expect(looker.notices).toEqual(['You may only look on.']);
  second.ask({ type: 'ask' });
  await until(() => first.notices.length === 1);
  expect(first.notices[0]).toBe('ann (viewer 2) asks for the keyboard. Give it, or go on.');
  first.ask({ type: 'give', to: 2 });
  await until(() => second.state.writes);
  expect(first.state.writes).toBe(false);
  second.type('ls\r');
  await until(() => port.typed === 'root\rls\r');
  first.ask({ type: 'take' });
  await until(() => first.state.writes && second.notices.includes('root has taken the keyboard. You look on.'));
  looker.ask({ type: 'take' });
  first.ask({ type: 'give', to: 3 });
  await until(() => first.notices.includes('Viewer 3 is not there, or may only look on.'));
  first.ask({ type: 'release' });
  await until(() => !first.state.writes);
  second.type('w\r');
  await until(() => second.state.writes && port.typed === 'root\rls\rw\r');
});

it('sends breaks of the one who types only', async () => {
  const [first, second] = [await connected(node), await connected(node, { user: 'ann' })];
  second.ask({ type: 'break' });
  first.ask({ type: 'break' });
  await until(() => first.notices.includes('The break was sent.'));
  await until(() => port.breaks === 1);
  expect(second.notices).toHaveLength(1);
});

it('holds up neither others nor the log for a slow viewer, and says what was cut', async () => {
  const [slow, quick] = [await connected(node), await connected(node)];
  slow.stall(true);
  const line = `${'x'.repeat(98)}\r\n`;
  for (let i = 1; i <= 100; i++) {
    port.print(line.repeat(100));
    await until(() => quick.bytes === i * 10_000);
  }
  const logged = await world.consoles.logs.texts(node, { since: 0, most: 100_000 }, new AbortController().signal);
  expect(logged.filter((text) => text.endsWith('xxx')).length).toBeGreaterThan(9_000);
  slow.stall(false);
  port.print('the end');
  await until(() => slow.output.endsWith('the end'));
  const cut = slow.messages.flatMap((message) => (message.type === 'cut' ? message.bytes : []));
  expect(cut.length).toBeGreaterThan(0);
  expect(slow.bytes + cut.reduce((sum, bytes) => sum + bytes, 0)).toBe(1_000_007);
});

it('bounds what is typed faster than the machine takes it', async () => {
  const viewer = await connected(node);
  port.deafen();
  for (let i = 0; i < 400 && !viewer.isPaused; i++) viewer.type('y'.repeat(65_536));
  await until(() => viewer.isPaused);
  expect(viewer.isPaused).toBe(true);
});

it('connects again when the machine is back, and sends nothing that was typed meanwhile', async () => {
  const viewer = await connected(node);
  await port.stop();
  await until(() => viewer.state.state === 'waiting');
  expect(viewer.state.message).toMatch(/^the connection was lost\. muster tries again in 1 s\.$/);
  viewer.type('reboot\r');
  await until(() => viewer.notices.includes('The console is not connected: what you type is not sent.'));
  await port.start();
  viewer.ask({ type: 'reconnect' });
  await until(() => viewer.state.state === 'connected');
  port.print('back\r\n');
  await until(() => viewer.output.includes('back'));
  expect(port.typed).toBe('');
  const log = (await world.consoles.logs.texts(node, { since: 0, most: 100 }, new AbortController().signal)).join('\n');
  expect(log).toMatch(
    /connected: port \d+\n.*-- not connected: the connection was lost\.\n(.*\n)*.*-- connected: port/,
  );
});

it('takes the console from another program only when it is asked to', async () => {
  const other = await connected(node);
  const elsewhere = await startConsoles();
  try {
    await elsewhere.store.put(
      ...accounts,
      ['nodelist', { node }],
      ['nodehm', { node, mgt: 'wire', serialport: String(port.port) }],
    );
    const viewer = await elsewhere.enter(node);
    await until(() => viewer.state?.state === 'waiting');
    expect(viewer.state.message).toContain('somebody else has the serial port');
    await elsewhere.store.put([
      'policy',
      { priority: '3', name: 'ann', commands: 'rcons', parameters: '^$', rule: 'allow' },
    ]);
    const ann = await elsewhere.enter(node, { user: 'ann' });
    ann.ask({ type: 'take' });
    ann.ask({ type: 'takeover' });
    await until(() => ann.notices.includes('The policy does not allow you to take the console over.'));
    viewer.ask({ type: 'take' });
    viewer.ask({ type: 'takeover' });
    await until(() => viewer.state.state === 'connected' && other.state.state === 'waiting');
    viewer.leave();
    ann.leave();
    await until(() => !port.isOpen || other.state.state === 'connected');
  } finally {
    await elsewhere.close();
  }
});

it('keeps the consoles of marked nodes open and logs them', async () => {
  await world.store.put(['nodehm', { node, consoleenabled: '1' }]);
  await until(() => port.isOpen);
  port.print('booting\r\n');
  await until(() => world.consoles.of(node)?.state === 'connected');
  const viewer = await connected(node);
  expect(viewer.output).toContain('booting');
  viewer.leave();
  await viewer.left;
  expect(port.isOpen).toBe(true);
  expect(world.consoles.of(node)).toMatchObject({ kept: true, viewers: [] });
  await world.store.put(['nodehm', { node, consoleondemand: 'yes' }]);
  await until(() => !port.isOpen);
});

it('reports trouble that a console prints, once', async () => {
  const viewer = await connected(node);
  await world.store.put(
    ['consolepattern', { name: 'fan', pattern: 'fan \\d+ failed' }],
    ['consolepattern', { name: 'oops', disable: '1' }],
  );
  for (let i = 0; i < 3; i++) {
    port.print(
      '[   12.3] Kernel panic - not syncing: \u001b[31mVFS\u001b[0m\r\nall is well\r\nfan 7 failed\r\nOops: 0002\r\n',
    );
  }
  port.print('end\r\n');
  await until(() => viewer.output.includes('end'));
  expect(world.reported.filter(([about]) => about === node)).toEqual([
    [
      node,
      'Its console printed "[   12.3] Kernel panic - not syncing: VFS" (kernel-panic). muster console --log shows more.',
    ],
    [node, 'Its console printed "fan 7 failed" (fan). muster console --log shows more.'],
  ]);
});

it('sends away who may not look on any more, and nobody else', async () => {
  const [root, ann] = [await connected(node), await connected(node, { user: 'ann' })];
  await world.store.put(['policy', { priority: '1.5', name: 'ann', noderange: node, rule: 'deny' }]);
  await until(() => ann.reason !== undefined);
  expect(ann.reason).toMatch(/^The policy does not allow you this any more/);
  expect(root.reason).toBeUndefined();
});

it('logs a machine that floods in bounds, says what is missing, and keeps the next one whole', async () => {
  const quiet = await startSerialPort();
  const large = await startConsoles({ logSize: 64 << 20 });
  try {
    await large.store.put(...accounts);
    const ports = [port.port, quiet.port];
    for (const [at, serialport] of ports.entries())
      await large.store.put(
        ['nodelist', { node: `m${at}` }],
        ['nodehm', { node: `m${at}`, mgt: 'ipmi', cons: 'wire', serialport: String(serialport) }],
      );
    const [flooded, calm] = [await large.enter('m0'), await large.enter('m1')];
    await until(() => [flooded, calm].every((viewer) => viewer.state?.state === 'connected'));
    const lines = 1 << 20;
    port.print('y\n'.repeat(lines));
    await until(() => flooded.bytes + flooded.cut === 2 * lines);
    quiet.print('a line\r\n');
    await until(() => calm.output.endsWith('a line\r\n'));
    flooded.leave();
    await until(() => !port.isOpen);
    const { lines: log } = await large.consoles.logs.read('m0', { most: 2 * lines });
    const notes = log.filter(({ isNote }) => isNote).map(({ text }) => text);
    const missing = notes.map((text) => Number(/^(\d+) bytes of output are missing/.exec(text)?.[1] ?? 0));
    const logged = log.filter(({ isNote, text }) => !isNote && text.startsWith('y')).length;
    expect(2 * logged + missing.reduce((sum, bytes) => sum + bytes, 0)).toBe(2 * lines);
    expect(logged).toBeLessThan(lines / 2);
    expect(notes).toContain('from here on output is missing: it came faster than it could be logged');
    const { lines: whole } = await large.consoles.logs.read('m1', { most: 10 });
    expect(whole.map(({ text }) => text)).toContain('a line');
  } finally {
    await large.close();
    await quiet.stop();
  }
});

it('bounds how often one user looks at a console, also who come at once', async () => {
  await world.enter(node);
  const viewers = await Promise.all(
    Array.from({ length: 40 }, () => world.enter(node, { user: 'ann' }).catch(() => {})),
  );
  const inside = viewers.filter((viewer) => viewer && viewer.reason === undefined);
  expect(inside.length).toBeGreaterThan(0);
  expect(inside.length).toBeLessThanOrEqual(16);
  expect(viewers.find((viewer) => viewer?.reason)?.reason ?? '16 times already').toContain('16 times already');
});

it('bounds how many consoles are open', async () => {
  const small = await startConsoles({ most: 1 });
  try {
    await small.store.put(
      ...accounts,
      ...[node, 'other'].flatMap((each) => [
        ['nodelist', { node: each }] as const,
        ['nodehm', { node: each, mgt: 'wire', serialport: String(port.port) }] as const,
      ]),
    );
    await small.enter(node);
    await expect(small.enter('other')).rejects.toThrow('which is the most (setting consoles.most)');
    await small.enter(node);
  } finally {
    await small.close();
  }
});

it('refuses at once what cannot be a console', async () => {
  await world.store.put(['nodehm', { node, cons: 'cyclades' }]);
  await expect(world.enter(node)).rejects.toThrow('cons is "cyclades", which is not one of wire');
});

it('tells viewers that the server stops', async () => {
  const viewer = await connected(node);
  await world.consoles.close();
  expect(viewer.reason).toBe('muster is shutting down. Connect again.');
  expect(port.isOpen).toBe(false);
});

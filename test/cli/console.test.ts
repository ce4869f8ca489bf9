import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../consoles/web-socket.ts';
import { environmentFor } from './command-line.ts';
import { define, labNodes } from '../hardware/nodes.ts';
import { atTerminal, ended, muster } from '../harness/muster-command.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';

let server: TestServer;
let bmcs: BmcLab;
let home: string;
const e = '\u0005';

beforeAll(async () => {
  home = temporaryDirectory();
  [server, bmcs] = await Promise.all([
    startServer({ environment: { MUSTER_IPMI_TIMEOUT: '5' } }),
    // What is typed is printed; a carriage return brings a hostile line.
    startBmcs({
      count: 3,
      prefix: '127.203',
      serial: (typed) => (typed.includes('\r') ? `\r\n\x1b]0;evil\x07\x1b[31mred\x1b[0m done\r\n` : typed),
    }),
  ]);
  await define(server, labNodes('c', 'ipmi', bmcs.addresses));
}, 300_000);
afterAll(async () => {
  await Promise.all([server?.stop(), bmcs?.stop()]);
  rmSync(home, { recursive: true, force: true });
});

const environment = () => ({ HOME: home, MUSTER_SOCKET: join(server.data, 'muster.sock') });
const run = (...words: string[]) => ended(muster, words, environment());
const isFree = (node: string) =>
  until(async () => (await server.ok('GET', `/nodes/${node}/console`))[node].state === 'closed');

/** Says whether the terminal is afterwards as it was before. */
const compared = (call: string): readonly string[] => [
  'sh',
  '-c',
  `stty -a > $HOME/before; ${call}; code=$?; stty -a > $HOME/after; cmp $HOME/before $HOME/after && echo same; exit $code`,
  'sh',
];
const terminated =
  '(until [ -s $HOME/pid ] && stty -a < /dev/tty | grep -q -e -icanon; do sleep 0.1; done; kill -TERM $(cat $HOME/pid)) & ' +
  `sh -c 'echo $$ > $HOME/pid; exec "$@"' sh "$@"`;

describe('a console at a terminal', { timeout: 300_000 }, () => {
  it('passes keys and output on, and leaves the terminal as it was', async () => {
    const { code, screen } = await atTerminal(
      ['console', 'c1'],
      environment(),
      [
        ['c1 is connected', 'who am i\u0003\r'],
        ['done', `${e}c?`],
        ['from a program outside', `${e}cw`],
        ['(you): root', `${e}cl0`],
        ['The break was sent.', `${e}cz`],
        ['no such key', `${e}c.`],
      ],
      { through: compared('"$@"') },
    );
    expect(screen).toContain('\u001b[31mred');
    expect([code, screen]).toEqual([0, expect.stringMatching(/The console was left\.\][^]*same/)]);
    expect(bmcs.serial(0).typed).toContain('who am i\u0003\r');
    await isFree('c1');
  });

  it('leaves the terminal as it was when the process is terminated', async () => {
    const { code, screen } = await atTerminal(['rcons', 'c1'], environment(), [], { through: compared(terminated) });
    expect([code, screen]).toEqual([143, expect.stringContaining('same')]);
    await isFree('c1');
  });

  it('leaves the terminal as it was when the server ends it', async () => {
    const ending = atTerminal(['console', 'c3'], environment(), [['c3 is connected', 'x']], {
      through: compared('"$@"'),
    });
    await until(() => bmcs.serial(2).typed.includes('x'));
    await server.ok('DELETE', '/nodes/c3');
    const { code, screen } = await ending;
    expect([code, screen]).toEqual([1, expect.stringMatching(/The (policy|node)[^]*same/)]);
  });

  it('only looks on with -s, and is for one node', async () => {
    const { screen } = await atTerminal(['rcons', 'c1', '-s'], environment(), [
      ['You look on.', 'x'],
      ['You may only look on.', `${e}c.`],
    ]);
    expect(screen).toContain('The console was left.');
    for (const [words, said] of [
      [['c1,c2'], 'A console is of one node, and c1,c2 has 2. Name one.'],
      [['c1', 'sn1'], 'There is no host to choose'],
      [['c1', '-f', '-s'], 'takes nothing over'],
      [['nosuch'], 'Error: Invalid nodes and/or groups in noderange: nosuch'],
    ] as const) {
      const { code, stdout, stderr } = await run('rcons', ...words);
      expect([words, code, stdout + stderr]).toEqual([words, 1, expect.stringContaining(said)]);
    }
  });

  it('shows several beside each other', async () => {
    const { code, screen } = await atTerminal(['consoles', 'c1,c2'], environment(), [['-- c2 (connected)', 'q']]);
    expect(code).toBe(0);
    expect(screen).toContain('-- c1 (');
    expect(screen.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
  });

  it('shows no control sequences of machines in logs', async () => {
    const { screen } = await atTerminal(['console', '--log', 'c1'], environment());
    expect(screen).toContain('red done');
    expect(screen).not.toContain('\u001b');
    expect(screen).not.toContain('evil');
  });
});

describe('without a terminal', { timeout: 300_000 }, () => {
  it('types what is piped in', async () => {
    const { code } = await ended(muster, ['console', 'c2'], environment(), 'piped in');
    expect(code).toBe(0);
    await until(() => bmcs.serial(1).typed.includes('piped in'));
    await isFree('c2');
  });

  it('marks nodes, lists consoles, and shows their states as xCAT does', async () => {
    expect(await run('makegocons', 'c1,c2')).toEqual({ code: 0, stdout: 'c1: Created\nc2: Created\n', stderr: '' });
    await until(
      async () =>
        (await server.ok('GET', '/consoles')).filter(({ state }: { state: string }) => state === 'connected').length ===
        2,
    );
    expect((await run('makegocons', '-q')).stdout).toMatch(
      /^NODE +SERVER +STATE\nc1 +\S+ +connected\nc2 +\S+ +connected\n$/,
    );
    expect((await run('consoles')).stdout).toMatch(
      /^c1: connected since \S+, by SOL 127\.203\.\S+, kept and logged\nc2: /,
    );
    expect(await run('makeconservercf', '-d', 'c1,c2')).toEqual({
      code: 0,
      stdout: 'c1: Deleted\nc2: Deleted\n',
      stderr: '',
    });
    await isFree('c1');
    expect((await run('consoles', 'c1')).stdout).toBe('c1: closed, on demand\n');
    expect((await run('lsdef', 'c1', '-i', 'consoleenabled', '-c')).stdout).toBe('c1: consoleenabled=\n');
  });

  it('marks nodes for an account that may do this and not see definitions', async () => {
    const token = await addUser(server, 'cora');
    await server.ok('PUT', '/policy/7', { name: 'cora', commands: 'makeconservercf', noderange: 'c2', rule: 'allow' });
    const own = { ...environmentFor(server, home), MUSTER_TOKEN: token };
    expect(await ended(muster, ['makegocons', 'c2'], own)).toEqual({ code: 0, stdout: 'c2: Created\n', stderr: '' });
    expect(await ended(muster, ['makegocons', '-d', 'c2'], own)).toMatchObject({ code: 0, stdout: 'c2: Deleted\n' });
    const refused = await ended(muster, ['makegocons', 'c1'], own);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('may not run makeconservercf')]);
    await server.ok('DELETE', '/policy/7');
    await isFree('c2');
  });

  it('searches logs and says where it found nothing', async () => {
    const found = await run('console', '--search', 'RED DONE', 'c1', '--since', '1d');
    expect([found.code, found.stdout]).toEqual([0, expect.stringMatching(/^c1: \S+ red done\n/)]);
    const all = await run('console', '--search', 'red done');
    expect(all.stdout).toMatch(/^c1: \S+ red done\n/);
    expect(await run('console', '--search', 'nowhere')).toMatchObject({
      code: 1,
      stderr: 'muster console: No line has this text.\n',
    });
    expect((await run('replaycons', 'c1', '--lines', '1')).stdout.split('\n')).toHaveLength(2);
  });

  it.each([
    [['console'], 'Name a node.'],
    [['console', 'c1', '--since', '1h'], '--since and --lines need --log or --search.'],
    [['console', 'c1', '--view', '--force'], 'takes nothing over'],
    [['console', '--log', 'c1', '--view'], 'leave them out'],
    [['console', '--log', 'c1', '--since', 'yesterday'], 'is not a time'],
    [['console', '--log', 'c1', '--lines', '0'], 'give a number'],
    [['replaycons', 'c1', '9600'], 'has no speed here'],
    [['makegocons'], 'Name the nodes'],
    [['makegocons', '-C'], 'keeps no console configuration'],
    [['makeconservercf', '-t', 'host', 'c1'], 'the policy decides'],
    [['wcons', '-t', '2', 'c1'], 'arranges them by itself'],
  ])('refuses %j', async (words, said) => {
    const { code, stdout, stderr } = await run(...words);
    expect([code, stdout + stderr]).toEqual([
      expect.toSatisfy((each: number) => each > 0),
      expect.stringContaining(said),
    ]);
  });
});

import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands/index.ts';
import { commonTable } from '../../src/cli/common-options.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { runHere } from './replay/run.ts';

let server: TestServer;
let door: Server;
let env: Record<string, string>;
/** The requests that came, as `METHOD PATH`. */
let requests: string[] = [];

/** A socket before that of the server, where all requests are seen. */
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1-n3', { groups: 'all', mgt: 'ipmi', bmc: '127.0.0.1' });
  const socket = join(server.data, 'door.sock');
  door = createServer((caller) => {
    const inside = connect(join(server.data, 'muster.sock'));
    caller.on('data', (bytes) => {
      requests.push(
        ...bytes
          .toString('latin1')
          .matchAll(/^([A-Z]+ \/\S*) HTTP\/1\.1\r$/gm)
          .map(([, line]) => line!),
      );
    });
    for (const [from, to] of [
      [caller, inside],
      [inside, caller],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await once(door.listen(socket), 'listening');
  env = { HOME: server.data, TMPDIR: server.data, MUSTER_SOCKET: socket };
});
afterAll(async () => {
  door.close();
  await server.stop();
});
beforeEach(() => (requests = []));

const run = (...argv: string[]) => runHere({ argv, stdin: '', env });

/** The server is asked who it is where the reference system names it: `Error: [mn]: ...`. */
const onlyName = (each: string): boolean => each === 'GET /muster/definitions';

/** How a call ended: what was said, and which requests were sent. */
async function outcomeOf(argv: readonly string[]) {
  const { code, stdout, stderr } = await run(...argv);
  return { argv, fails: code !== 0, said: stdout + stderr, sent: requests.filter((each) => !onlyName(each)) };
}

const refusal = (argv: readonly string[], named: string) => ({
  argv,
  fails: true,
  said: expect.stringContaining(named),
  sent: [],
});

const names = Object.keys(commands);
/** Commands of the reference system that muster has no use for answer with what to use instead, whatever follows. */
const isAbsent = async (name: string): Promise<boolean> =>
  (await commands[name]!.load()).usage.startsWith(`${name} does nothing here.`);

/** What follows belongs to another command. */
const carriers = ['xdsh', 'psh', 'image'];

describe('every command refuses before anything is done, and names', () => {
  it.each(names)('an option that it does not have: %s', async (name) => {
    const { options } = await commands[name]!.load();
    const known = [...Object.keys(options), ...Object.keys(commonTable), 'h', '?', 'v'].flatMap((each) =>
      each.split('|'),
    );
    const letter = ['j', 'J', 'y', 'Y', 'Z', 'G', 'W', '0'].find((each) => !known.includes(each))!;
    for (const option of ['--nosuchoption', `-${letter}`]) {
      const named = (await isAbsent(name)) ? `There is no ${name}.` : option;
      const calls = [
        [name, option],
        [name, option, 'n1', 'n2'],
        ...(carriers.includes(name) ? [] : [[name, 'n1', option]]),
      ];
      for (const argv of calls) expect(await outcomeOf(argv)).toEqual(refusal(argv, named));
    }
  });

  /** As recorded of the reference system: they look at the first words only. */
  const lenient = ['noderm', 'rpower', 'rinv'];

  it.each(names)('a word too many: %s', async (name) => {
    const { operands } = await commands[name]!.load();
    if ((await isAbsent(name)) || lenient.includes(name) || !Number.isFinite(operands)) return;
    const words = Array.from({ length: operands }, (_, index) => `n${index + 1}`);
    const argv = [name, ...words, 'surplus'];
    expect(await outcomeOf(argv)).toEqual(refusal(argv, 'surplus'));
  });

  it.each(names)('an option of one value that is given twice: %s', async (name) => {
    if (await isAbsent(name)) return;
    const { parsed, common } = await commands[name]!.load();
    const own = Object.entries(parsed).flatMap(([written, row]) => {
      const { kind, refused } = typeof row === 'string' ? { kind: row, refused: undefined } : row;
      return kind === 'value' || kind === 'optional' ? written.split('|').map((each) => [each, refused] as const) : [];
    });
    for (const [option, refused] of [...own, ...(common.includes('format') ? [['format', undefined] as const] : [])]) {
      const dashed = option.length > 1 ? `--${option}` : `-${option}`;
      const argv = [name, dashed, 'json', dashed, 'csv'];
      const sentence = refused === undefined ? `${dashed} was given twice; give it once.` : 'is not supported here';
      expect(await outcomeOf(argv)).toEqual(refusal(argv, sentence));
    }
  });
});

describe('a command that takes any number of words refuses those that mean nothing', () => {
  it.each([
    ['rpower', 'n1', 'off', 'surplus'],
    ['rvitals', 'n1', 'temp', 'surplus'],
    ['rspconfig', 'n1', 'ip', 'surplus'],
    ['renergy', 'n1', 'cappingstatus=on', 'surplus'],
    ['mkdef', 'n9', 'surplus', 'groups=all'],
    ['chdef', 'n1', 'surplus', 'rack=r1'],
    ['chdef', '-o', 'n1', 'surplus', 'rack=r1'],
    ['rmdef', 'n1', 'surplus'],
    ['rmdef', 'n1', 'rack=surplus'],
    ['rmdef', '-o', 'n1', 'surplus'],
    ['lsdef', 'n1', 'surplus'],
    ['nodels', 'n1', 'surplus'],
    ['nodeadd', 'n9', 'groups=all', 'surplus'],
    ['nodech', 'n1', 'nodepos.rack=r1', 'surplus'],
    ['nodegrpch', 'all', 'nodepos.rack=r1', 'surplus'],
    ['tabch', 'node=n1', 'nodepos.rack=r1', 'surplus'],
    ['chtab', 'node=n1', 'nodepos.rack=r1', 'surplus'],
    ['makenetworks', 'surplus'],
    ['makeroutes', 'surplus'],
    ['copycds', '/nosuch.iso', '-surplus'],
    ['updatenode', 'n1', '-F', 'surplus'],
    ['updatenode', 'n1', 'surplus=1'],
    ['nodeset', 'n1', 'osimage=', 'surplus'],
    ['nodeset', 'n1', 'shell', 'surplus'],
    ['rmvm', 'n1', 'surplus'],
    ['reventlog', 'n1', 'clear', 'surplus'],
  ])('%s', async (...argv) => {
    const before = (await server.call('GET', '/nodes/n1')).headers['x-muster-revision'];
    const { code, stdout, stderr } = await run(...argv);
    expect([code === 0, stdout + stderr]).toEqual([false, expect.stringContaining('surplus')]);
    expect(requests.filter((each) => !each.startsWith('GET '))).toEqual([]);
    expect((await server.call('GET', '/nodes/n1')).headers['x-muster-revision']).toBe(before);
  });
});

describe('an option that is nearly one', () => {
  it.each([
    [['rpower', 'n1', 'off', '--dryrunn'], 'rpower has no option --dryrunn. Did you mean --dryrun?'],
    [['changes', '--tabel', 'nodelist'], 'muster changes has no option --tabel. Did you mean --table?'],
    [['rinstall', 'n1', '--noupdateinitd'], 'Did you mean --noupdateinitrd?'],
  ])('%j is told so', async (argv, sentence) => {
    expect(await outcomeOf(argv)).toEqual(refusal(argv, sentence));
  });
});

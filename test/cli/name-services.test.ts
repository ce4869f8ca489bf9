import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { runHere } from './replay/run.ts';

let server: TestServer;
let env: Record<string, string>;
let file: string;
const others = '127.0.0.1 localhost\n10.9.0.1 printer\n';
beforeAll(async () => {
  server = await startServer();
  file = join(server.data, 'hosts');
  env = { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') };
  await server.ok('PUT', '/globalconf/attrs/domain', { domain: 'c.com' });
  // There is no group all: to the server it is a group as any other.
  for (const node of ['n1', 'n2'])
    await server.ok('POST', `/nodes/${node}`, { groups: 'lone', ip: `10.0.0.${node[1]}` });
});
afterAll(() => server.stop());
beforeEach(() => writeFileSync(file, others));

const run = async (...argv: string[]) => {
  const { code, stdout, stderr } = await runHere({ argv, stdin: '', env });
  return [code, stdout + stderr];
};
const hosts = (): string => readFileSync(file, 'utf8');
const runsOf = async (command: string): Promise<number> =>
  ((await server.ok('GET', `/runs?command=${command}`)) as unknown[]).length;

describe('a service and nodes in one call', () => {
  it.each(['makehosts', 'makedhcp', 'makedns'])('%s -n refuses unknown nodes before it does anything', async (name) => {
    const before = await runsOf(name);
    expect(await run(name, '-n', 'nosuch')).toEqual([1, 'Error: Invalid nodes and/or groups in noderange: nosuch\n']);
    // What was refused by its nodes has no run.
    expect(await runsOf(name)).toBe(before);
    expect(hosts()).toBe(others);
  });

  it('makehosts -n refuses an empty word', async () => {
    expect(await run('makehosts', '-n', '')).toEqual([1, expect.stringContaining('An empty word ("") names nothing')]);
    expect(hosts()).toBe(others);
  });
});

describe('all nodes are those of any group', () => {
  it('makehosts -n NODE keeps the lines of no other', async () => {
    await run('makehosts');
    expect(await run('makehosts', '-n', 'n1')).toEqual([0, '']);
    expect(hosts()).toBe('127.0.0.1 localhost\n10.0.0.1 n1 n1.c.com \n');
  });

  it.each([
    ['makedhcp', '-a'],
    ['makedhcp', '-d', '-a'],
  ])('%s %s', async (...argv) => {
    const [code, said] = await run(...argv);
    expect([code, said]).toEqual([0, expect.not.stringContaining('Invalid nodes')]);
  });
});

import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { type SnmpLab, startSwitch } from '../lab/snmp.ts';
import { runHere } from './replay/run.ts';

let server: TestServer;
const labs: SnmpLab[] = [];
let env: Record<string, string>;
beforeAll(async () => {
  const common = { port: 161, community: 'hush', seen: { '02:00:00:00:00:01': 'swp1' } };
  const itself = { name: 'TOR1.cluster.test', mac: '02:bc:00:00:00:01', ports: 48 };
  const hears = [
    { port: 'swp48', name: 'Spine1.cluster.test', mac: '02:bc:00:00:00:02', isBridge: true, address: '127.148.0.9' },
    { port: 'swp47', name: 'TOR1', mac: '02:bc:00:00:00:01', isBridge: true, address: '127.148.0.1' },
    { port: 'swp46', name: '', mac: '02:bc:00:00:00:03', isBridge: true },
    { port: 'swp1', name: 'n1', mac: '02:00:00:00:00:01', isBridge: false, address: '127.148.1.1' },
  ];
  labs.push(await startSwitch({ ...common, address: '127.148.0.1', itself, hears }));
  // It answers, and has no bridge.
  labs.push(await startSwitch({ ...common, address: '127.148.0.2', seen: {} }));
  server = await startServer();
  env = { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') };
});
afterAll(async () => {
  await server?.stop();
  for (const lab of labs) await lab.stop();
});

const run = (...argv: string[]) => runHere({ argv, stdin: '', env });
const range = ['--range', '127.148.0.1-127.148.0.3'];

it('finds nobody whose community it does not know', async () => {
  expect((await run('switchdiscover', ...range)).stdout).toContain('No switches were found.\n');
});

it('finds switches by SNMP, and writes stanzas that mkdef reads', async () => {
  await server.ok('PUT', '/globalconf/attrs/snmpc', { snmpc: 'hush' });
  const { code, stdout } = await run('switchdiscover', ...range);
  expect([code, stdout.split('\n')]).toEqual([
    0,
    [
      'Discovering switches using snmp for 127.148.0.1-127.148.0.3.',
      '127.148.0.1  TOR1.cluster.test  02:bc:00:00:00:01  48 ports  a switch of the lab',
      '',
    ],
  ]);
  const stanzas = (await run('switchdiscover', ...range, '-z')).stdout;
  expect(await runHere({ argv: ['mkdef', '-z'], stdin: stanzas, env })).toMatchObject({ code: 0 });
  expect((await run('lsdef', 'tor1', '-i', 'ip,mgt,nodetype', '-c')).stdout).toBe(
    'tor1: ip=127.148.0.1\ntor1: mgt=switch\ntor1: nodetype=switch\n',
  );
});

it('finds the switches that others hear by LLDP, each once, and no nodes', async () => {
  const both = ['--range', '127.148.0.1-127.148.0.2'];
  const spine =
    '127.148.0.9  Spine1.cluster.test  02:bc:00:00:00:02  heard by 127.148.0.1 port swp48  a neighbour of the lab';
  const nameless = 'N/A  N/A  02:bc:00:00:00:03  heard by 127.148.0.1 port swp46  a neighbour of the lab';
  const { code, stdout, stderr } = await run('switchdiscover', ...both, '-s', 'snmp,lldp');
  expect([code, stderr, stdout.trimEnd().split('\n')]).toEqual([
    0,
    '',
    [
      'Discovering switches using snmp for 127.148.0.1-127.148.0.2.',
      'Discovering switches using lldp for 127.148.0.1-127.148.0.2.',
      '127.148.0.1  TOR1.cluster.test  02:bc:00:00:00:01  48 ports  a switch of the lab',
      spine,
      nameless,
    ],
  ]);
  const stanzas = (await run('switchdiscover', ...both, '-s', 'lldp', '-z')).stdout;
  expect(stanzas).toContain('spine1:\n\tobjtype=node\n\tgroups=switch\n\tip=127.148.0.9\n\tmac=02:bc:00:00:00:02\n');
  expect(stanzas).toContain('switch-02-bc-00-00-00-03:\n');
});

it('refuses what it does not do, by name', async () => {
  expect(await run('switchdiscover', ...range, '--setup')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--setup is not supported here'),
  });
  expect(await run('switchdiscover', ...range, '-s', 'nmap')).toMatchObject({ code: 1 });
  expect(await run('switchdiscover', '-s', 'snmp')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--range'),
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';

const count = 200;
const patience = 600_000;

let lab: LightLab;
let muster: TestServer;
let busy: ChildProcess[] = [];

beforeAll(async () => {
  lab = await startLightBmcs({ count, prefix: '127.109' });
  // The simulated BMCs suffer as much as muster does.
  muster = await startServer({ environment: { MUSTER_IPMI_TIMEOUT: '120' } });
  const { username, password } = labAccounts.administrator;
  const login = { bmcusername: username, bmcpassword: password };
  const nodes = lab.addresses.map((bmc, index) => [`n${index + 1}`, { groups: 'all', mgt: 'ipmi', bmc, ...login }]);
  await muster.ok('PUT', '/nodes', Object.fromEntries(nodes));
  // All of them take as much of every core as muster can get.
  busy = Array.from({ length: 3 * availableParallelism() }, () => spawn('sh', ['-c', 'while :; do :; done']));
}, patience);

afterAll(async () => {
  for (const child of busy) child.kill('SIGKILL');
  await muster?.stop();
  await lab?.stop();
});

it.each([
  ['power', 'power', /^(on|off)$/],
  ['vitals', 'Inlet Temp', /^\d+/],
  ['inventory', 'BMC Firmware', /./],
])(
  '%s of many BMCs is told of every one while this machine is busy with other things',
  async (what, label, value) => {
    const told: Record<string, Record<string, string>> = await muster.ok('GET', `/nodes/all/${what}`);
    const known = Object.values(told).filter((labels) => value.test(labels[label] ?? ''));
    expect(known).toHaveLength(count);
  },
  patience,
);

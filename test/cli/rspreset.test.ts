import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { define, labNodes } from '../hardware/nodes.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { runHere } from './replay/run.ts';

let server: TestServer;
let lab: RedfishLab;
beforeAll(async () => {
  [server, lab] = await Promise.all([startServer(), startRedfish({ count: 1, prefix: '127.62', kinds: ['plain'] })]);
  await define(server, labNodes('r', 'redfish', lab.addresses));
}, 300_000);
afterAll(() => Promise.all([server?.stop(), lab?.stop()]));

const run = (...argv: string[]) =>
  runHere({ argv, stdin: '', env: { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') } });

it('restarts the BMC and leaves the power of the node as it is', async () => {
  const { power } = await lab.state(0);
  expect(await run('rpower', 'r1', 'bmcstate')).toEqual({ code: 0, stdout: 'r1: BMC Ready\n', stderr: '' });
  expect(await run('rspreset', 'r1', '--dry-run')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('dry run'),
  });
  expect((await lab.state(0)).resets).toEqual([]);
  expect(await run('rspreset', 'r1')).toEqual({ code: 0, stdout: 'r1: BMC reboot\n', stderr: '' });
  expect(await lab.state(0)).toMatchObject({ power, resets: ['Manager'] });
});

it('says what has been set where nothing can be shown', async () => {
  expect(await run('rspconfig', 'r1', 'username=viewer', 'password=viewpw2')).toEqual({
    code: 0,
    stdout: 'r1: Set username, password succeeded.\n',
    stderr: '',
  });
  expect(await run('rspconfig', 'r1', 'hostname=bmc9')).toMatchObject({ code: 0, stdout: 'r1: BMC Hostname: bmc9\n' });
  expect(await run('renergy', 'r1', 'cappingvalue=300')).toMatchObject({
    code: 0,
    stdout: 'r1: Set cappingvalue succeeded.\n',
  });
});

it('shows the newest entries of the event log', async () => {
  for (const message of ['First.', 'Second.', 'Third.']) await lab.log(0, message);
  const { stdout } = await run('reventlog', 'r1', '2');
  expect(stdout.split('\n').map((line) => line.split(' ').at(-1))).toEqual(['Second.', 'Third.', '']);
  expect((await run('reventlog', 'r1', '1', '-s')).stdout).toMatch(/^r1: .* Third\.\n$/);
  expect(await run('reventlog', 'r1', '0')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/from 1 on, or all/),
  });
});

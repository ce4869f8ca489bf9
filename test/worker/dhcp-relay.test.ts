import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DhcpDuty, dutiesOf } from '../../src/bus/index.ts';
import { parseMark } from '../../src/names/daemons/supervised-process.ts';
import { isAlive, type LabChild, said, startChild } from '../lab/child.ts';
import { makeWire, type Wire } from '../lab/dhcp.ts';
import { connectNamespaces, makeNamespace, type Namespace } from '../lab/netns.ts';
import { mac, machineWith, node, openSetting, type Setting } from '../names/dhcp/setting.ts';
import type { DriverOptions } from './duties-driver.ts';

const directory = mkdtempSync(join(tmpdir(), 'muster-relay-'));
const duties = join(directory, 'duties');
let main: Namespace;
/** Its server end is the service node: nodes are behind it. */
let wire: Wire;
let setting: Setting;
let worker: LabChild;
let started = 0;

beforeAll(async () => {
  main = makeNamespace();
  wire = makeWire(['10.78.0.2/16']);
  connectNamespaces(
    { namespace: main, interface: 'up0', addresses: ['10.77.0.1/24'] },
    { namespace: wire.server, interface: 'up1', addresses: ['10.77.0.2/24'] },
  );
  main.run('ip', 'route', 'add', '10.78.0.0/16', 'via', '10.77.0.2');
  setting = await openSetting(machineWith('up0', ['10.77.0.1']), { prefix: main.command('env') });
  await setting.store.put(
    ['site', { key: 'master', value: '10.77.0.1' }],
    ['networks', { netname: 'mgmt', net: '10.77.0.0', mask: '255.255.255.0' }],
    ['networks', { netname: 'rack', net: '10.78.0.0', mask: '255.255.0.0', dynamicrange: '10.78.9.1-10.78.9.9' }],
    ...node('n1', '10.78.1.1', mac(1)),
  );
  await setting.configure();
  await setting.reserve('n1');
});
afterAll(async () => {
  await worker?.stop();
  await setting?.close();
  wire?.remove();
  main?.remove();
  rmSync(directory, { recursive: true, force: true });
});

function startWorker(nic: string, wanted: DhcpDuty | null = { servers: ['10.77.0.1'] }): LabChild {
  const [duty] = dutiesOf({ dhcp: wanted, syslog: null }, 1);
  const options: DriverOptions = { settings: { dhcpInterfaces: [nic] }, directory: duties, duty: duty! };
  const driver = join(import.meta.dirname, 'duties-driver.ts');
  const [program, ...args] = wire.server.command(process.execPath, driver, JSON.stringify(options));
  return startChild(program, args, { directory, logFile: join(directory, `worker${++started}`) });
}

const relayProcess = (): number => parseMark(readFileSync(join(duties, 'dhcrelay.process'), 'utf8'))!.pid;

async function killed(): Promise<void> {
  worker.process.kill('SIGKILL');
  await expect.poll(() => worker.process.signalCode).toBe('SIGKILL');
}

test('a worker says that its interface is missing, and relays nothing', async () => {
  worker = startWorker('none0');
  await said(worker, '"problems":["It relays no DHCP requests: this machine has no interface none0');
  expect(await wire.ask(mac(1), { tries: 1 })).toBeUndefined();
  await worker.stop();
});

test('nodes behind a worker get their addresses from the server', async () => {
  worker = startWorker(wire.serverNic);
  await said(worker, '"serves":["dhcp"]');
  expect(await wire.ask(mac(1))).toMatchObject({ ip: '10.78.1.1', hostname: 'n1', siaddr: '10.77.0.1' });
  expect((await wire.ask(mac(2)))?.['ip']).toMatch(/^10\.78\.9\./);
});

test('a relay outlives a kill of its worker, and the next worker takes it over', async () => {
  const pid = relayProcess();
  await killed();
  expect(await wire.ask(mac(1))).toMatchObject({ ip: '10.78.1.1' });
  worker = startWorker(wire.serverNic);
  await said(worker, '"serves":["dhcp"]');
  expect(relayProcess()).toBe(pid);
  await worker.stop();
  expect(isAlive(pid)).toBe(false);
});

test('a relay that is wanted no more ends, also one that an earlier worker has left', async () => {
  worker = startWorker(wire.serverNic);
  await said(worker, '"serves":["dhcp"]');
  const pid = relayProcess();
  await killed();
  worker = startWorker(wire.serverNic, null);
  await said(worker, '"serves":[],"problems":[]');
  expect(isAlive(pid)).toBe(false);
});

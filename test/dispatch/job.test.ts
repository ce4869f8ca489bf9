import { fork } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Scope, ServiceName } from '../../src/commands/command.ts';
import { nodestat } from '../../src/commands/nodestat.ts';
import type { AnyPerNode, FinishScope, Plan } from '../../src/commands/per-node.ts';
import { rpower } from '../../src/commands/rpower.ts';
import { updatenode } from '../../src/commands/updatenode.ts';
import { xdcp } from '../../src/commands/xdcp.ts';
import { xdsh } from '../../src/commands/xdsh.ts';
import { AddressGuard } from '../../src/core/address-guard.ts';
import { type NodeResult, shownResult } from '../../src/core/results.ts';
import { Draft } from '../../src/database/draft.ts';
import { jobOf } from '../../src/dispatch/job.ts';
import { Devices } from '../../src/drivers/devices.ts';
import { Governor } from '../../src/drivers/governor.ts';
import { Hardware } from '../../src/drivers/hardware.ts';
import { makeDrivers } from '../../src/drivers/registry.ts';
import { knownNodes } from '../../src/objects/cluster.ts';
import { newKeyPair } from '../../src/protocols/ssh/host-keys.ts';
import { Hosts } from '../../src/names/hosts/hosts.ts';
import { NodeProbes } from '../../src/nodes/node-probes.ts';
import { openRemoteNodes, Remote, type RemoteSettings } from '../../src/nodes/remote/remote.ts';
import { readShellRequest } from '../../src/nodes/remote/shell-request.ts';
import { ServiceProcessorTrust } from '../../src/drivers/bmc/certificate-trust.ts';
import { SshHostKeys, type SshKeys } from '../../src/nodes/ssh-keys.ts';
import type { ServiceSettings } from '../../src/worker/services.ts';
import { filesDriver } from '../drivers/files/index.ts';
import { memoryStore, nodeResultsOf, scratchDirectory, testOrigin, type TestStore } from '../harness/store.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { type RootLab, startRoots } from '../lab/roots.ts';
import type { Message, Order } from './worker.ts';

const port = 2611;
const data = scratchDirectory();
const keyPair = newKeyPair('muster');
const keys: SshKeys = { ...keyPair, privateKeyFile: '' };
const settings: RemoteSettings = {
  transport: 'ssh2',
  sshConfig: undefined,
  port,
  hostKeys: 'first-use',
  fanOut: 16,
  connectSeconds: 5,
  commandSeconds: 60,
  keepSeconds: 5,
  outputLimit: 1 << 20,
  clientBytes: 1 << 20,
  sources: [join(data, 'files')],
  networks: undefined,
  postscripts: join(data, 'scripts'),
};

let cluster: TestStore;
let roots: RootLab;
let bmcs: LightLab;
let services: RedfishLab;
let close: () => Promise<void>;

/** n1 and n2 are there with BMC and Redfish, vm is a file, dead has nothing behind its address, bare has no attributes. */
const range = 'n1,n2,vm,dead,bare';

beforeAll(async () => {
  [cluster, roots, bmcs, services] = await Promise.all([
    memoryStore(),
    startRoots({ count: 2, prefix: '127.143', port }),
    startLightBmcs({ count: 1, prefix: '127.144' }),
    startRedfish({ count: 1, prefix: '127.145', kinds: ['plain'] }),
  ]);
  roots.authorize(keys.publicKey);
  for (const name of ['files/tree', 'scripts', 'tools']) mkdirSync(join(data, name), { recursive: true });
  writeFileSync(join(data, 'files/tree/a'), 'content of a');
  writeFileSync(join(data, 'files/tree/always'), '#!/bin/sh\necho always\n', { mode: 0o755 });
  writeFileSync(join(data, 'files/list'), `${tree} -> (n1,dead) /srv/tree\nEXECUTEALWAYS:\n${tree}/always\n`);
  writeFileSync(join(data, 'scripts/hello'), '#!/bin/sh\necho "hello $NODE $1"\n', { mode: 0o755 });
  // Everything on loopback answers pings, so here those whose address ends in 9 are not asked.
  writeFileSync(join(data, 'tools/fping'), "#!/bin/sh\ngrep -v '9$'\nexit 1\n", { mode: 0o755 });
  vi.stubEnv('PATH', `${join(data, 'tools')}:${process.env['PATH']}`);
  writeFileSync(join(data, 'hosts'), '');
  const { username, password } = labAccounts.administrator;
  await cluster.put(
    ...range.split(',').map((node) => ['nodelist', { node, groups: 'all' }] as const),
    ['nodehm', { node: 'n1', mgt: 'ipmi' }],
    ['nodehm', { node: 'n2', mgt: 'redfish' }],
    ['nodehm', { node: 'vm', mgt: 'files' }],
    ['nodehm', { node: 'dead', mgt: 'redfish' }],
    ['ipmi', { node: 'n1', bmc: bmcs.addresses[0]!, username, password }],
    ['ipmi', { node: 'n2', bmc: services.addresses[0]!, username, password }],
    ['ipmi', { node: 'dead', bmc: '127.144.9.9', username, password: 'of-the-dead' }],
    ['vm', { node: 'vm', host: 'box', storage: data }],
    ['hosts', { node: 'n1', ip: roots.addresses[0]! }],
    ['hosts', { node: 'n2', ip: roots.addresses[1]! }],
    ['hosts', { node: 'dead', ip: '127.143.9.9' }],
    ['hosts', { node: 'vm', ip: '224.0.0.1' }],
    ['nodetype', { node: 'all', provmethod: 'img', arch: 'x86_64' }],
    ['osimage', { imagename: 'img', osvers: 'debian12', provmethod: 'install', synclists: join(data, 'files/list') }],
    ['monsetting', { name: 'xcatmon', key: 'apps', value: 'sshd' }],
    ['monsetting', { name: 'xcatmon', key: 'sshd', value: `port=${port}` }],
  );
  const trust = new ServiceProcessorTrust(cluster.store, undefined);
  const drivers = new Map([...makeDrivers({ trust, powerTimeout: 10_000 }), ['files', filesDriver()] as const]);
  const hosts = new Hosts({ hostsFile: join(data, 'hosts'), lookup: false }, data);
  const workerServices = {
    devices: new Devices(drivers, new Governor({ quarantine: 0 })),
    remote: openRemoteNodes(settings, keys, new SshHostKeys(cluster.store, 'first-use')),
    probes: new NodeProbes(new AddressGuard(undefined, 'node')),
  };
  Object.assign(cluster.services, {
    hosts,
    hardware: new Hardware(drivers, cluster.box),
    remote: new Remote(settings, { data, hosts, keys, box: cluster.box }),
    workerServices,
  });
  close = async () => void (await Promise.all([workerServices.devices.close(), workerServices.remote.close()]));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await close?.();
  await Promise.all([cluster?.close(), roots?.stop(), bmcs?.stop(), services?.stop()]);
  rmSync(data, { recursive: true });
});

/** Results as clients see them, in the order of names. */
const shown = (results: readonly NodeResult[]): object[] =>
  (JSON.parse(JSON.stringify(results.map((result) => shownResult(result)))) as { node: string }[]).toSorted((a, b) =>
    a.node < b.node ? -1 : 1,
  );

const here = async <Args>(command: AnyPerNode<Args>, args: Args): Promise<NodeResult[]> =>
  nodeResultsOf(await cluster.run(command, args));

const hardware = { powerTimeout: 10 } as ServiceSettings['hardware'];
const workerSettings: ServiceSettings = { hardware, remote: settings };

/** The jobs that were sent, as text. */
const sent: string[] = [];

/** Has a job done by a process of its own and keeps the effects. */
async function* workElsewhere(order: Order): AsyncIterable<readonly NodeResult<unknown>[]> {
  const child = fork(join(import.meta.dirname, 'worker.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  sent.push(order.job);
  child.send(order);
  const ended = Promise.withResolvers<void>();
  child.once('exit', () => ended.resolve());
  const messages: Message[] = [];
  child.on('message', (message: Message) => messages.push(message));
  await ended.promise;
  if (!messages.some((message) => 'done' in message)) throw new Error('The worker has died.');
  for (const message of messages) {
    if ('effect' in message) await cluster.services.effects.apply(message.node, message.effect, testOrigin);
    else if ('result' in message) yield [message.result];
  }
  await cluster.services.effects.flush();
}

async function elsewhere<Args extends { readonly range: string }>(
  command: AnyPerNode<Args>,
  args: Args,
): Promise<NodeResult[]> {
  const snapshot = cluster.current;
  const nodes = knownNodes(snapshot, args.range, {});
  const caller = { user: 'root', groups: [], client: '127.0.0.1', addresses: ['127.0.0.1'], hasFullRights: () => true };
  const scope: Scope<ServiceName> = Object.assign(Object.create(cluster.services), {
    caller,
    selection: { nodes, objects: nodes },
  });
  async function* again(
    some: readonly string[],
    plan: Plan<unknown, unknown>,
  ): AsyncIterable<readonly NodeResult<unknown>[]> {
    const { job, failed } = await jobOf(command, 'root', some, plan);
    yield failed;
    yield* workElsewhere({ settings: workerSettings, privateKey: keys.privateKey, job: JSON.stringify(job) });
  }
  const results = again(nodes, command.prepare(snapshot, args, scope));
  const finishing: FinishScope<unknown, unknown, unknown, ServiceName> = Object.assign(Object.create(scope), {
    snapshot,
    again,
  });
  const finished = command.finish?.(results, args, finishing) ?? (results as AsyncIterable<readonly NodeResult[]>);
  return (await Array.fromAsync(finished)).flat();
}

const shell = readShellRequest({ command: 'echo out; echo err >&2; exit 1', raw: '-z' });
const tree = join(data, 'files/tree');

type Case<Args = never> = [title: string, command: AnyPerNode<Args>, args: Args, sample: unknown];
const one = <Args>(...each: Case<Args>): Case => each as unknown as Case;

describe('a job gives the same results in a process that has nothing else:', () => {
  test.each([
    one('the power state', rpower, { range, action: 'stat' }, { node: 'n2', value: { power: 'off' } }),
    one('a power action', rpower, { range, action: 'on' }, { node: 'vm', value: { power: 'on' } }),
    one(
      'a power action that there is not',
      rpower,
      { range, action: 'wake' },
      { node: 'n1', error: expect.stringContaining('IPMI has no power action "wake"') },
    ),
    one(
      'commands',
      xdsh,
      { range, shell, failsOnErrorOutput: false },
      {
        node: 'n1',
        error: 'the command ended with exit code 1.',
        output: { stdout: 'out\n', stderr: 'err\n', code: 1, notes: ['Remote_command_rc = 1'] },
      },
    ),
    one('files', xdcp, { range, sources: [tree], target: '/srv/copies' }, { node: 'n2', value: [] }),
    one(
      'updates',
      updatenode,
      { range, files: true, software: false, scripts: ['hello there'] },
      {
        node: 'n1',
        value: [
          'File synchronization has completed.',
          'always',
          'postscript start..: hello there',
          'hello n1 there',
          'postscript end....: hello there exited with code 0',
          'Running of postscripts has completed.',
        ],
      },
    ),
    one('looks', nodestat, { range, monitored: true }, { node: 'n2', value: { nodestat: 'sshd' } }),
    one(
      'looks at nodes, and at the power of those that are away',
      nodestat,
      { range, monitored: true, power: true },
      { node: 'dead', value: { nodestat: expect.stringMatching(/^noping\(nothing listens at 127\.144\.9\.9/) } },
    ),
  ])('%s', async (_title, command, args, sample) => {
    const own = shown(await here(command, args));
    expect(own).toHaveLength(5);
    expect(own).toContainEqual(sample);
    expect(shown(await elsewhere(command, args))).toEqual(own);
  });
});

test('what work finds and brings about elsewhere is kept here', async () => {
  await cluster.store.change(testOrigin, (head) => {
    const draft = new Draft(head, cluster.services.seal);
    for (const table of ['sshhostkey', 'spcert'])
      for (const { node } of head.rows(table).values()) draft.remove(table, node!);
    return draft.changes();
  });
  await cluster.put(...['n1', 'n2'].map((node) => ['nodelist', { node, status: '', updatestatus: '' }] as const));
  await elsewhere(rpower, { range, action: 'off' });
  await elsewhere(rpower, { range, action: 'on' });
  await elsewhere(updatenode, { range, files: false, software: false, scripts: ['hello'] });
  expect(cluster.rows('spcert').map(({ node }) => node)).toEqual(['n2']);
  expect(cluster.rows('sshhostkey').map(({ node }) => node)).toEqual(['n1', 'n2']);
  expect(cluster.current.get('nodelist', 'n1')).toMatchObject({ status: 'powering-on', updatestatus: 'synced' });
  expect(cluster.current.get('nodelist', 'dead')).toMatchObject({ updatestatus: 'failed' });
});

test('a job holds the secrets of its own targets and no others', async () => {
  sent.length = 0;
  await elsewhere(rpower, { range: 'n1', action: 'stat' });
  await elsewhere(xdsh, { range, shell, failsOnErrorOutput: false });
  const { password } = labAccounts.administrator;
  expect(sent.map((job) => [job.includes(password), job.includes('of-the-dead')])).toEqual([
    [true, false],
    [false, false],
  ]);
});

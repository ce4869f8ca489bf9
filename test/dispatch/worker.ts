import type { AnyPerNode, WorkerServices } from '../../src/commands/per-node.ts';
import { nodestat } from '../../src/commands/nodestat.ts';
import { rpower } from '../../src/commands/rpower.ts';
import { updatenode } from '../../src/commands/updatenode.ts';
import { xdcp } from '../../src/commands/xdcp.ts';
import { xdsh } from '../../src/commands/xdsh.ts';
import { AddressGuard } from '../../src/core/address-guard.ts';
import type { Effect } from '../../src/core/effects.ts';
import type { NodeResult } from '../../src/core/results.ts';
import { type Job, planOf } from '../../src/dispatch/job.ts';
import { workOn } from '../../src/dispatch/work.ts';
import { Devices, type DeviceTarget } from '../../src/drivers/devices.ts';
import { Governor } from '../../src/drivers/governor.ts';
import { makeDrivers } from '../../src/drivers/registry.ts';
import { NodeProbes } from '../../src/nodes/node-probes.ts';
import { LocalFiles } from '../../src/nodes/remote/local-files.ts';
import { openRemoteNodes, type RemoteSettings } from '../../src/nodes/remote/remote.ts';
import type { RemoteTarget } from '../../src/nodes/remote/targets.ts';
import type { SshKeys } from '../../src/nodes/ssh-keys.ts';
import { filesDriver } from '../drivers/files/index.ts';

/** What a process without a database is told. */
export interface Order {
  readonly settings: RemoteSettings;
  readonly keys: SshKeys;
  /** A job as JSON text. */
  readonly job: string;
}

/** What it says. */
export type Message =
  | { readonly node: string; readonly effect: Effect }
  | { readonly result: NodeResult<unknown> }
  | { readonly done: true };

const commands: readonly AnyPerNode<never>[] = [rpower, xdsh, xdcp, updatenode, nodestat];

const send = (message: Message): void => void process.send!(message);

/** Keys and certificates by name: those that targets bring, and those that are seen here first. */
function memoryTrust(told: (node: string, value: string) => Effect) {
  const known = new Map<string, string>();
  return {
    add: (name: string, value: string | undefined) => value !== undefined && known.set(name, value),
    known: (name: string) => known.get(name),
    async learn(node: string, value: string) {
      if (known.has(node)) return;
      known.set(node, value);
      send({ node, effect: told(node, value) });
    },
    howToForget: (name: string) => `DELETE /tables/sshhostkey/rows/node=${name}.`,
    howToLearn: () => '',
  };
}

async function carryOut({ settings, keys, job: text }: Order): Promise<void> {
  const job = JSON.parse(text) as Job;
  const hostKeys = memoryTrust((_node, key) => ({ kind: 'host-key', key }));
  const certificates = memoryTrust((_node, fingerprint) => ({ kind: 'certificate', fingerprint }));
  for (const [node, target] of Object.entries(job.targets)) {
    const { access } = target as DeviceTarget & { readonly access?: { readonly certificate?: string } };
    certificates.add(node, access?.certificate);
    const to = ((target as { readonly to?: RemoteTarget }).to ?? target) as RemoteTarget;
    hostKeys.add(node, to.hostKey);
  }
  const drivers = new Map([
    ...makeDrivers({ trust: certificates, powerTimeout: 10_000 }),
    ['files', filesDriver()] as const,
  ]);
  const workerServices: WorkerServices = {
    devices: new Devices(drivers, new Governor()),
    remote: openRemoteNodes(settings, keys, {
      ...hostKeys,
      known: (node) => [hostKeys.known(node)].filter((key) => key !== undefined),
      policy: 'first-use',
    }),
    probes: new NodeProbes(new AddressGuard(undefined, 'node')),
  };
  const files = new LocalFiles();
  const command = commands.find(({ name }) => name === job.command)!;
  const results = workOn(command, job.user, Object.keys(job.targets), planOf(job), {
    workerServices,
    files,
    signal: new AbortController().signal,
    report(node, effect) {
      send({ node, effect });
      return undefined;
    },
  });
  for await (const batch of results) for (const result of batch) send({ result });
  await Promise.all([workerServices.devices.close(), workerServices.remote.close(), files.close()]);
  process.send!({ done: true } satisfies Message, () => process.disconnect());
}

process.once('message', (order: Order) => void carryOut(order));

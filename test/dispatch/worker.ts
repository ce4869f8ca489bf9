import { nodestat } from '../../src/commands/nodestat.ts';
import type { AnyPerNode } from '../../src/commands/per-node.ts';
import { rpower } from '../../src/commands/rpower.ts';
import { updatenode } from '../../src/commands/updatenode.ts';
import { xdcp } from '../../src/commands/xdcp.ts';
import { xdsh } from '../../src/commands/xdsh.ts';
import type { Effect } from '../../src/core/effects.ts';
import type { NodeResult } from '../../src/core/results.ts';
import { type Job, planOf } from '../../src/dispatch/job.ts';
import { workOn } from '../../src/dispatch/work.ts';
import { Devices } from '../../src/drivers/devices.ts';
import { Governor } from '../../src/drivers/governor.ts';
import { makeDrivers } from '../../src/drivers/registry.ts';
import { LocalFiles } from '../../src/nodes/remote/local-files.ts';
import { OwnServices, type ServiceSettings } from '../../src/worker/services.ts';
import { filesDriver } from '../drivers/files/index.ts';

/** What a process without a database is told. */
export interface Order {
  readonly settings: ServiceSettings;
  readonly privateKey: string;
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

/** Does a job with what workers do theirs with, and with a driver that only tests have. */
async function carryOut({ settings, privateKey, job: text }: Order): Promise<void> {
  const job = JSON.parse(text) as Job;
  const services = new OwnServices(settings, ({ powerTimeout }, trust) => {
    const drivers = makeDrivers({ trust, powerTimeout: powerTimeout * 1_000 });
    return new Devices(new Map([...drivers, ['files', filesDriver()] as const]), new Governor());
  });
  const nodes = Object.keys(job.targets);
  for (const node of nodes) services.watch(node, (effect) => send({ node, effect }));
  const targets = Object.fromEntries(nodes.map((node) => [node, services.bring(node, job.targets[node])]));
  const files = new LocalFiles();
  const command = commands.find(({ name }) => name === job.command)!;
  const results = workOn(command, job.user, nodes, planOf({ ...job, targets }), {
    workerServices: services.for({ ssh: { privateKey, hostKeys: 'first-use' } }),
    files,
    signal: new AbortController().signal,
    report(node, effect) {
      send({ node, effect });
      return undefined;
    },
  });
  for await (const batch of results) for (const result of batch) send({ result });
  await Promise.all([services.close(), files.close()]);
  process.send!({ done: true } satisfies Message, () => process.disconnect());
}

process.once('message', (order: Order) => void carryOut(order));

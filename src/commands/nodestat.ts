import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { type IpKind, ipKind, ipText, parseIp } from '../core/ip.ts';
import type { NodeResult } from '../core/results.ts';
import type { DeviceTarget } from '../drivers/index.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import {
  type Application,
  applicationsOf,
  applicationStatus,
  monitoredApplications,
  usualApplications,
} from '../nodes/index.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { deviceAddress, perNode, type Plan, type Task, useDevice } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  update: Type.Optional(Type.Boolean({ description: 'writes what was seen to status and appstatus' })),
  power: Type.Optional(
    Type.Boolean({ description: 'asks the hardware of nodes that do not answer whether they are on' }),
  ),
  monitored: Type.Optional(Type.Boolean({ description: 'looks for the applications that table monsetting names' })),
});

/** Nodes looked at together: few enough to wait for in memory, enough to share processes and round trips. */
const atOnce = 20_000;

interface Shared {
  readonly update: boolean;
}

/** What is looked at: the node itself, or at second glance its hardware. */
type Target = Look | { readonly power: DeviceTarget };

interface Look {
  /** Undefined: none is known. */
  readonly address: string | undefined;
  /** What the node boots next, if that is known. */
  readonly boots: string;
  readonly applications: readonly Application[];
}

/** What is shown of a node, and what is kept of it where anything is. */
interface State {
  readonly state: string;
  readonly status?: string;
}

const away = { state: 'noping', status: 'unreachable' };

export const nodestat = perNode({
  name: 'nodestat',
  args,
  uses: ['hardware', 'hosts'],
  line: ({ update, power, monitored }) => [
    ...(update ? ['-u'] : []),
    ...(power ? ['-p'] : []),
    ...(monitored ? ['-m'] : []),
  ],
  select: selectNodes,
  prepare(snapshot, { update = false, monitored }, { hosts }): Plan<Shared, Target> {
    const applications = applicationsOf(monitored ? monitoredApplications(snapshot) : usualApplications);
    const reader = effectiveReader(snapshot);
    const resolve = hosts.resolve();
    return {
      shared: { update },
      async target(node) {
        // Always a number: names are looked up here and nowhere else.
        const given = nodeAttribute(reader, node, 'ip') || node;
        const ip = parseIp(given) ?? (await resolve(given));
        // Others, or this machine, would answer for the node.
        if (ip && !ownKinds.includes(ipKind(ip)))
          throw new Fault('invalid', `its address ${ipText(ip)} cannot be that of a node.`);
        const boots = nodeAttribute(reader, node, 'currstate') ?? '';
        return { address: ip && ipText(ip), boots, applications: applications(node) };
      },
      width: atOnce,
      burst: atOnce,
    };
  },
  sentTo: (target: Target) =>
    'power' in target ? deviceAddress(target.power) : target.address === undefined ? {} : { address: target.address },
  onWorkers: {
    effects: ['sighting', 'certificate', 'progress'],
    mayReport: ({ kind }, { update }: Shared) => kind !== 'sighting' || update,
    takes: (target: Target) => !('power' in target && target.power.staysHere),
    howToLook: (node) => `Ask again with GET /nodes/${node}/nodestat.`,
  },
  async work({ update }: Shared, target: Target, task): Promise<NodeResult<State>> {
    const { node } = task;
    if ('power' in target)
      return useDevice(target.power, 'power', task, async (power) => ({ state: await power.state(task.signal) }));
    const { address, applications } = target;
    if (address === undefined)
      return { node, value: { state: `Please make sure ${node} exists in /etc/hosts or DNS or hosts table` } };
    const { alive, applications: running } = await task.probes.look(address, applications, task.signal);
    const seen = alive ? await stateOf(address, target.boots, running, task) : away;
    if (update && !task.signal.aborted)
      task.report({ kind: 'sighting', status: seen.status, applications: applicationStatus(applications, running) });
    return { node, value: seen };
  },
  async *finish(
    results,
    { power, update = false },
    { hardware, snapshot, again },
  ): AsyncIterable<readonly NodeResult[]> {
    const off: string[] = [];
    for await (const batch of results) {
      yield batch.flatMap((result): NodeResult | [] => {
        if (!('value' in result)) return result;
        const { node, value } = result;
        if (!power || value.status !== away.status) return { node, value: { nodestat: value.state } };
        off.push(node);
        return [];
      });
    }
    if (off.length === 0) return;
    const targets = hardware.targets(snapshot, 'nodestat', 'power');
    const plan = { shared: { update }, target: async (node: string) => ({ power: await targets(node) }) };
    for await (const batch of again(off, plan)) {
      yield batch.map((result) => {
        const powerState = 'value' in result ? result.value.state : 'error' in result ? result.error : '';
        return { node: result.node, value: { nodestat: `${away.state}(${powerState})` } };
      });
    }
  },
});

/** Addresses that belong to one machine. */
const ownKinds: readonly IpKind[] = ['host', 'loopback', 'link-local'];

async function stateOf(
  address: string,
  boots: string,
  running: readonly string[],
  { probes, signal }: Task,
): Promise<Required<State>> {
  const alive = 'alive';
  if (running.length > 0) return { state: running.join(','), status: alive };
  const installing = boots.startsWith('install') ? await probes.installer(address, signal) : undefined;
  if (installing !== undefined) return { state: installing, status: 'installing' };
  return { state: `ping ${boots}`.trim(), status: alive };
}

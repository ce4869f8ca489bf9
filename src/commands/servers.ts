import { Type } from 'typebox';
import type { Service } from '../bus/index.ts';
import { cachedBy } from '../core/cache.ts';
import { Fault } from '../core/errors.ts';
import type { KnownServer } from '../database/servers.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { reservationsOf } from '../names/index.ts';
import { assignedNodes } from '../nodes/index.ts';
import { type EffectiveReader, effectiveReader } from '../objects/effective.ts';
import { interfacesOf } from '../objects/host-interfaces.ts';
import { managementNode } from '../objects/networks.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { act, everyNode, noArguments, noLine, nothing, query } from './command.ts';

/** The servers of this database and the workers on service nodes: what they are, how busy they are, and what is wrong with them. */
export const lsservers = query({
  name: 'lsservers',
  args: noArguments,
  uses: ['workers', 'servers'],
  line: noLine,
  select: () => everyNode,
  async run(snapshot, _args, { workers, servers }) {
    const assigned = assignedNodes(workers, snapshot);
    const { servers: known, lost, gap } = await servers.listAll();
    const own = known.map((server, index) => ({
      ...entryOf(server, 'connected'),
      jobs: server.jobs,
      nodes: server.nodes,
      // The one that is asked is the first: it works on what no worker does.
      ...(index === 0 && { assigned: assigned.get('') ?? 0, ...problemOf([workers?.problem, gap]) }),
    }));
    const gone = lost.map((server) => ({
      ...entryOf(server, 'gone'),
      jobs: 0,
      nodes: 0,
      problem: `It says nothing any more, and was not stopped: it was killed, it hangs, or it cannot reach the database. Look at its machine, and start it again. If it will not come back: DELETE /servers/${server.name}.`,
    }));
    const reader = effectiveReader(snapshot);
    const here = managementNode(snapshot);
    const others = (workers?.list() ?? []).map(({ name, version: theirs, host, isConnected, serves, ...entry }) => ({
      name,
      role: 'worker',
      state: isConnected ? 'connected' : 'gone',
      version: theirs,
      host,
      since: new Date(entry.since).toISOString(),
      heard: new Date(entry.heard).toISOString(),
      jobs: isConnected ? entry.jobs : 0,
      nodes: isConnected ? entry.nodes : 0,
      assigned: assigned.get(name) ?? 0,
      ...(isConnected && serves.length > 0 && { serves: [...serves] }),
      ...bootCount(reader, name),
      ...problemOf([
        entry.problem,
        isConnected && here.isMeantBy(name) ? ownName : undefined,
        isConnected ? bootProblem(reader, name, serves) : undefined,
      ]),
    }));
    return { shape: 'value', value: { servers: [...own, ...gone, ...others] } };
  },
});

/** Takes a server that will not come back from that list. */
export const rmserver = act({
  name: 'rmserver',
  args: Type.Object({ name: Type.String() }),
  uses: ['servers'],
  line: ({ name }) => [name],
  select: () => everyNode,
  async run(_snapshot, { name }, { servers }) {
    await servers.forget(name);
    return nothing;
  },
});

const entryOf = ({ name, version, since, listens, heard }: KnownServer, state: 'connected' | 'gone') => ({
  name,
  role: 'server',
  state,
  version,
  since,
  listens: [...listens],
  ...(heard !== undefined && { heard }),
});

const ownName =
  'It has the name of this server. In servicenode that name means the server, so the worker gets no work: start it with another name, and write that name into servicenode.';

/** Nodes by the address of the server that their reservations name. */
const bootServers = cachedBy((snapshot: Snapshot): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const [, reservations] of reservationsOf(snapshot).byNode) {
    const server = reservations.find(({ nextServer }) => nextServer !== undefined)?.nextServer;
    if (server !== undefined) counts.set(server, (counts.get(server) ?? 0) + 1);
  }
  return counts;
});

/** How many nodes boot from a service node, where it is to serve boot files. */
function bootCount(reader: EffectiveReader, name: string): { boots?: number } {
  if (nodeAttribute(reader, name, 'setuptftp') !== '1') return {};
  const counts = bootServers(reader.snapshot);
  const addresses = new Set(addressesOf(reader, name));
  return { boots: [...addresses].reduce((sum, address) => sum + (counts.get(address) ?? 0), 0) };
}

/** Throws nothing for a definition that is wrong, which is a problem of its own. */
function addressesOf(reader: EffectiveReader, name: string): string[] {
  try {
    return interfacesOf(reader, name).flatMap(({ ip }) => ip ?? []);
  } catch (error) {
    if (error instanceof Fault) return [];
    throw error;
  }
}

const problemOf = (sentences: readonly (string | undefined)[]): { problem?: string } => {
  const problem = sentences.filter((each) => each !== undefined).join(' ');
  return problem === '' ? {} : { problem };
};

/** Why nodes do not boot from a worker that is to serve boot files. */
function bootProblem(reader: EffectiveReader, name: string, serves: readonly Service[]): string | undefined {
  if (nodeAttribute(reader, name, 'setuptftp') !== '1') return undefined;
  if (!serves.includes('boot'))
    return `It serves no boot files, though setuptftp is 1: set boot.listen and boot.tftpListen in its configuration and restart it.`;
  try {
    if (interfacesOf(reader, name).some(({ ip }) => ip !== undefined)) return undefined;
  } catch (error) {
    if (error instanceof Fault) return `No node boots from it: ${error.message}`;
    throw error;
  }
  return `No node boots from it, because no address of it is known: PUT /nodes/${name} {"ip":"ADDRESS"}.`;
}

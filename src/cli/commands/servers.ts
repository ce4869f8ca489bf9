import { path } from '../client.ts';
import { musterCommand } from '../command.ts';
import { reading } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { oneLine } from '../output.ts';
import { inCommands } from '../remedies.ts';
import { localTime } from '../times.ts';

interface Server {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly version: string;
  readonly host?: string;
  readonly since: string;
  readonly heard?: string;
  readonly jobs: number;
  readonly nodes: number;
  /** Of servers only the one that was asked has it. */
  readonly assigned?: number;
  readonly listens?: readonly string[];
  readonly serves?: readonly string[];
  /** Nodes that boot from it. */
  readonly boots?: number;
  readonly problem?: string;
}

export const servers = musterCommand({
  usage: `Usage: muster servers
       muster servers forget NAME

Lists the servers of this database and the workers on service nodes: whether they are connected, their version, since when they run, how busy they
are, how many nodes they work on, what they serve to nodes, and what is wrong. --dry-run of a command shows which worker would do it for each node.

A server that was killed or lost stays in the list for a day; forget takes one from the list that will not come back.`,
  options: {},
  operands: [0, 2, 'Say forget and the name of the server.'],
  common: reading,
  async run(invocation, { operands: [what, name], common: { format } }) {
    if (what !== undefined) {
      if (what !== 'forget') throw new UsageError(`There is no "muster servers ${oneLine(what)}"; there is forget.`);
      if (name === undefined) throw new UsageError('Say forget and the name of the server.');
      await invocation.client.call('DELETE', path('servers', name));
      return 0;
    }
    const { servers: found } = (await invocation.client.get('/servers')) as { readonly servers: readonly Server[] };
    if (format) return writeData(invocation, format, found);
    for (const server of found) {
      await invocation.stdout.line(lineOf(server));
      if (server.problem !== undefined) await invocation.stdout.line(`  ${oneLine(inCommands(server.problem))}`);
    }
    return 0;
  },
});

function lineOf(server: Server): string {
  const { name, role, state, version, host, listens, since, heard, jobs, nodes, assigned, serves, boots } = server;
  const place = listens ? ` at ${listens.join(', ')}` : host === undefined || host === name ? '' : ` on ${host}`;
  const times = `since ${localTime(since)}${heard === undefined || state === 'connected' ? '' : `, last heard of ${localTime(heard)}`}`;
  const work = `${jobs} under way on ${nodes} nodes${assigned === undefined ? '' : `, works for ${assigned} nodes`}`;
  const served = serves === undefined ? '' : `, serves ${serves.join(', ')}`;
  const booting = boots === undefined ? '' : `, ${boots} nodes boot from it`;
  return `${name}  ${role}  ${state}  muster ${version}${place}  ${times}  ${work}${served}${booting}`;
}

import { path } from '../client.ts';
import { type Call, type Invocation, say, xcatCommand } from '../command.ts';
import { changing, reading } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { errorLine } from '../lines.ts';
import { flag, valued, verbose } from '../options.ts';
import type { Dump } from './table-files.ts';

/** A machine that has booted and is no node. */
interface Unmatched {
  readonly reason?: string;
  readonly mac?: string;
  readonly uuid?: string;
  readonly serial?: string;
  readonly model?: string;
  readonly arch?: string;
}

/** How machines became nodes, by the words of -t and those of the table discoverydata; of unknown ones it has none. */
const methods: Readonly<Record<string, string | undefined>> = {
  seq: 'order',
  switch: 'switch',
  manual: 'manual',
  profile: 'profile',
  blade: 'blade',
  undef: undefined,
};
const kinds = [...Object.keys(methods), 'all'];
const kindOption = valued('KIND', `by how they became nodes: ${kinds.join(', ')}`);

/** Machines without a UUID are known by the MAC address that they boot from. */
const keyOf = ({ uuid, mac = '' }: Unmatched): string => uuid ?? `mac-${mac.replaceAll(':', '')}`;

const unmatchedMachines = async ({ client }: Invocation): Promise<readonly Unmatched[]> =>
  ((await client.get('/discovery')) as { readonly unmatched: readonly Unmatched[] }).unmatched;

const discoveredRows = async ({ client }: Invocation): Promise<Dump['rows']> =>
  ((await client.get('/tables/discoverydata/dump')) as { readonly discoverydata: Dump }).discoverydata.rows;

export const nodediscoverls = xcatCommand({
  usage: `Usage: nodediscoverls [-l]
       nodediscoverls -t KIND [-l]
       nodediscoverls -u UUID [-l]

  Lists machines that have booted and are not a node, and the reason. With -t or -u it lists those that became nodes too.`,
  options: {
    't|type': kindOption,
    'u|uuid': valued('UUID', 'only this machine'),
    l: flag('show everything that they reported'),
    V: verbose['verbose|V']!,
  },
  operands: 0,
  common: reading,
  async run(invocation, call) {
    const kind = kindOf(call);
    if (kind !== undefined || call.has('u')) return listByKind(invocation, call, kind ?? 'all');
    const { stdout } = invocation;
    const unmatched = await unmatchedMachines(invocation);
    if (call.common.format) return writeData(invocation, call.common.format, unmatched);
    stdout.line(`Discovered ${unmatched.length} node.`);
    for (const machine of unmatched)
      await stdout.line(
        call.flag('l')
          ? JSON.stringify(machine, null, 2)
          : (['mac', 'uuid', 'serial', 'model', 'reason'] as const).map((name) => machine[name] ?? '-').join('  '),
      );
    return 0;
  },
});

function kindOf(call: Call): string | undefined {
  const kind = call.value('t');
  if (kind !== undefined && !kinds.includes(kind))
    throw new UsageError(`-t is one of ${kinds.join(', ')}, not "${kind}".`);
  if (kind !== undefined && call.has('u')) throw new UsageError('Use -t or -u, not both.');
  return kind;
}

type Machine = Readonly<Record<string, string | undefined>>;

const isOfKind = ({ method = '' }: Machine, kind: string): boolean =>
  kind === 'all' || (methods[kind] !== undefined && method.split(',').includes(methods[kind]));

const isNamed = (uuid: string | undefined, machine: Machine): boolean =>
  uuid === undefined || machine['uuid']?.toLowerCase() === uuid.toLowerCase();

async function listByKind(invocation: Invocation, call: Call, kind: string): Promise<number> {
  const { stdout } = invocation;
  const unmatched = (await unmatchedMachines(invocation)).map((machine): Machine => {
    const { serial, model, arch, reason, mac } = machine;
    return { uuid: keyOf(machine), node: 'undef', method: 'undef', mtm: model, serial, arch, nichwaddr: mac, reason };
  });
  const found = [
    ...(kind === 'undef' ? [] : (await discoveredRows(invocation)).filter((row) => isOfKind(row, kind))),
    ...(kind === 'undef' || kind === 'all' ? unmatched : []),
  ].filter((machine) => isNamed(call.value('u'), machine));
  if (call.common.format) return writeData(invocation, call.common.format, found);
  stdout.line(`Discovered ${found.length} node.`);
  if (found.length > 0 && !call.flag('l')) await stdout.line(rowOf(['UUID', 'NODE', 'METHOD', 'MTM', 'SERIAL']));
  for (const machine of found) for (const line of linesOf(machine, call.flag('l'))) await stdout.line(line);
  return 0;
}

const widths = [40, 20, 15, 10, 8];
const rowOf = (cells: readonly string[]): string =>
  cells
    .map((cell, at) => cell.padEnd(widths[at]!))
    .join('')
    .trimEnd();

function linesOf(machine: Machine, isLong: boolean): string[] {
  const { uuid = '', node = '', mtm = '', serial = '', ...others } = machine;
  // The word that scripts know.
  const method = (machine['method'] ?? '').replace(/^order$/, 'sequential');
  if (!isLong) return [rowOf([uuid, node, method, mtm, serial])];
  const attributes = Object.entries({ node, ...others, method, mtm, serial });
  return [
    `Object uuid: ${uuid}`,
    ...attributes.flatMap(([name, value]) => (value === undefined || value === '' ? [] : `   ${name}=${value}`)),
  ];
}

export const nodediscoverdef = xcatCommand({
  usage: `Usage: nodediscoverdef -u UUID -n NODE
       nodediscoverdef -r -u UUID
       nodediscoverdef -r -t KIND

  Makes a machine that nodediscoverls lists a node that is defined, or removes records of machines that became nodes. Such a node keeps
  its machine.`,
  options: {
    'u|uuid': valued('UUID', 'the machine, as nodediscoverls -t all names it'),
    'n|node': valued('NODE', 'the node that it becomes'),
    'r|remove': flag('remove records'),
    't|type': kindOption,
  },
  operands: 0,
  bare: 1,
  common: changing,
  run(invocation, call) {
    const [uuid, node, kind] = [call.value('u'), call.value('n'), kindOf(call)];
    if (call.flag('r') && node === undefined && (uuid !== undefined || kind !== undefined))
      return removeRecords(invocation, uuid, kind ?? 'all');
    if (!call.flag('r') && uuid !== undefined && node !== undefined && kind === undefined)
      return defineMachine(invocation, uuid, node);
    return say(invocation, nodediscoverdef.usage, 1);
  },
});

/** It repeats who it is twice a minute, and then boots as the node that has its MAC address. */
async function defineMachine(invocation: Invocation, uuid: string, node: string): Promise<number> {
  const { client, stdout, stderr } = invocation;
  const refuse = (text: string): number => {
    stderr.line(errorLine(text, client.server));
    return 1;
  };
  const machine = (await unmatchedMachines(invocation)).find((each) => isNamed(uuid, { uuid: keyOf(each) }));
  if (!machine)
    return refuse(
      `No machine with the UUID ${uuid} waits to become a node. nodediscoverls -t undef lists those that do.`,
    );
  const at = path('nodes', node, 'attrs', 'mac,mtm,serial');
  const found = (await client.get(at)) as Readonly<Record<string, Readonly<Record<string, string>>>>;
  const names = Object.keys(found);
  if (names.length !== 1) return refuse(`Name one node, not ${names.length}.`);
  const known = found[names[0]!]!;
  if (known['mac'])
    return refuse(
      `${node} is the machine with the MAC ${known['mac']} already. If the other takes its place, run chdef ${node} mac= first.`,
    );
  const { mac, model, serial } = machine;
  const facts = { mac, mtm: model, serial };
  const attributes = Object.fromEntries(
    Object.entries(facts).filter((pair): pair is [string, string] => Boolean(pair[1]) && !known[pair[0]]),
  );
  await client.call('PUT', path('nodes', node), { body: attributes });
  const record = {
    node,
    method: 'manual',
    discoverytime: new Date().toISOString(),
    nichwaddr: mac,
    mtm: model,
    serial,
    arch: machine.arch,
  };
  await client.call('PUT', path('tables', 'discoverydata', 'rows', `uuid=${keyOf(machine)}`), {
    body: Object.fromEntries(Object.entries(record).filter(([, value]) => Boolean(value))),
  });
  stdout.line(`Defined [${keyOf(machine)}] to node ${node}.`);
  return 0;
}

async function removeRecords(invocation: Invocation, uuid: string | undefined, kind: string): Promise<number> {
  const { client, stdout, stderr } = invocation;
  const rows = (await discoveredRows(invocation)).filter((row) => isNamed(uuid, row) && isOfKind(row, kind));
  if (uuid !== undefined && rows.length === 0) {
    stderr.line(errorLine(`There is no record of a machine with the UUID ${uuid}.`, client.server));
    return 1;
  }
  for (const { uuid: key = '' } of rows)
    await client.call('DELETE', path('tables', 'discoverydata', 'rows', `uuid=${key}`));
  stdout.line('Removing discovery entries finished.');
  return 0;
}

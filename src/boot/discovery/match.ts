import { isIP } from 'node:net';
import { canonicalAddress } from '../../access/addresses.ts';
import { normalMac } from '../../core/mac.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { tableNamed } from '../../database/tables.ts';
import { bareText, serialClaim, uuidClaim } from '../../objects/claims.ts';
import { type EffectiveReader, effectiveReader } from '../../objects/effective.ts';
import { macClaim, onlyKeeper } from '../../objects/kept-claims.ts';
import { NodeMarks } from '../../objects/node-marks.ts';
import { macsOf } from '../node-index.ts';
import { type Machine, meaningfulSerial, meaningfulUuid } from './machine.ts';
import { namesOfPort, portName, switchName } from './switches.ts';

/** Which node a machine is. */
export type Match =
  | { readonly kind: 'node'; readonly node: string; readonly by: readonly Fact[] }
  /** It may not be the node that it seems to be. */
  | { readonly kind: 'refused'; readonly sentence: string }
  | { readonly kind: 'none' };

/**
 * A machine is a node if facts of it name that node and no other, and nothing that is defined of the node contradicts it: a
 * node that has a machine keeps it, since what a machine says of itself costs nothing to say.
 */
export function match(machine: Machine, found: readonly Found[], identify: (node: string) => NodeIdentity): Match {
  const nodes = new Set(found.flatMap((one) => one.nodes));
  const [node] = nodes;
  if (node === undefined) return { kind: 'none' };
  if (nodes.size > 1)
    return {
      kind: 'refused',
      sentence: `It may be any of ${nodes.size} nodes: ${found.map(foundText).join('; ')}. Correct what is wrong in their definitions.`,
    };
  const objection = objectionTo(machine, node, found, identify(node));
  if (objection !== undefined) return { kind: 'refused', sentence: objection };
  return { kind: 'node', node, by: [...new Set(found.map(({ fact }) => fact))] };
}

const mostNamed = 4;

const foundText = ({ what, nodes }: Found): string => {
  const more = nodes.length > mostNamed ? ` and ${nodes.length - mostNamed} more` : '';
  return `${what} is that of ${nodes.slice(0, mostNamed).join(', ')}${more}`;
};

function objectionTo(
  { mac, macs, uuid, serial }: Machine,
  node: string,
  found: readonly Found[],
  identity: NodeIdentity,
): string | undefined {
  // It boots as this node anyway, and the node learns nothing from it.
  if (identity.macs.includes(mac)) return undefined;
  const because = `It is ${node} by ${found[0]!.what}`;
  const known = identity.macs.find((each) => macs.includes(each));
  if (known !== undefined)
    return `${because}, but has booted from ${mac}, which ${node} does not have: let it boot from ${known}, or change the attribute mac of ${node}.`;
  if (identity.macs.length > 0)
    return `${because}, but ${node} is the machine with the MAC ${identity.macs[0]} already. If this one takes its place, clear the attribute mac of ${node}.`;
  const other = (what: string, own: string, defined: string): string =>
    `${because}, but its ${what} is ${own} and that of ${node} ${defined}. Correct the definition of ${node}, or clear it.`;
  if (uuid !== undefined && identity.uuid !== undefined && !spellings(uuid).includes(identity.uuid))
    return other('UUID', uuid, identity.uuid);
  if (serial !== undefined && identity.serial !== undefined && bareText(serial) !== bareText(identity.serial))
    return other('serial number', serial, identity.serial);
  return undefined;
}

/** Whether a node waits for no machine in particular, so that any may be it. */
export const isFree = ({ macs, uuid, serial, ports }: NodeIdentity): boolean =>
  macs.length === 0 && uuid === undefined && serial === undefined && ports.length === 0;

/** By what a machine is known to be a node; the words are those of table `discoverydata`. */
type Fact = 'mac' | 'uuid' | 'serial' | 'bmc' | 'switch';

/** A fact of a machine, and the nodes that have the same by their definition. */
interface Found {
  readonly fact: Fact;
  /** As people call it: `the serial number SN1`. */
  readonly what: string;
  readonly nodes: readonly string[];
}

/** What is defined of a node that says which machine it is. */
export interface NodeIdentity {
  readonly macs: readonly string[];
  readonly uuid: string | undefined;
  readonly serial: string | undefined;
  readonly mtm: string;
  readonly bmc: readonly string[];
  readonly ports: readonly string[];
}

const vpdTable = tableNamed('vpd');
const switchTable = tableNamed('switch');
const processorTables = ['ipmi', 'openbmc'].map(tableNamed);

export function identityOf(reader: EffectiveReader, node: string): NodeIdentity {
  const { uuid = '', serial = '', mtm = '' } = reader.row(vpdTable, node) ?? {};
  const processors = processorTables.flatMap((table) => (reader.row(table, node)?.['bmc'] ?? '').split(','));
  return {
    macs: macsOf(reader, node),
    uuid: meaningfulUuid(uuid),
    serial: meaningfulSerial(serial),
    mtm,
    bmc: processors.flatMap((text) => (isIP(text) ? canonicalAddress(text) : [])),
    ports: reader
      .ownRows(switchTable, node)
      .flatMap(({ switch: name, port }) => (name && port ? portMark(switchName(name), portName(port)) : [])),
  };
}

const macMark = (mac: string): string => `mac ${mac}`;
const uuidMark = (uuid: string): string => `uuid ${uuid}`;
const serialMark = (serial: string): string => `serial ${bareText(serial)}`;
const bmcMark = (address: string): string => `bmc ${address}`;
const portMark = (name: string, port: string): string => `port ${name} ${port}`;

function* marksOf(reader: EffectiveReader, node: string): Iterable<string> {
  const { macs, uuid, serial, bmc, ports } = identityOf(reader, node);
  yield* macs.map(macMark);
  if (uuid !== undefined) yield uuidMark(uuid);
  if (serial !== undefined) yield serialMark(serial);
  yield* bmc.map(bmcMark);
  yield* ports;
}

/** Finds the nodes that a machine may be. */
export class KnownMachines {
  readonly #marks = new NodeMarks(marksOf);

  /** The one node that boots with this MAC address. */
  withMac(snapshot: Snapshot, mac: string): string | undefined {
    return onlyKeeper(snapshot, this.#marks.nodes(snapshot, macMark(mac)), macClaim(mac));
  }

  find(snapshot: Snapshot, machine: Machine): Found[] {
    const having = (...marks: string[]): string[] => [
      ...new Set(marks.flatMap((mark) => this.#marks.nodes(snapshot, mark))),
    ];
    const { macs, uuid, serial, bmc, neighbours } = machine;
    /** Who keeps it, if that is decided. */
    const decided = (nodes: readonly string[], claim: string): readonly string[] => {
      const keeper = onlyKeeper(snapshot, nodes, claim);
      return keeper === undefined ? nodes : [keeper];
    };
    const found: Found[] = macs.map((mac) => ({
      fact: 'mac',
      what: `the MAC ${mac}`,
      nodes: decided(having(macMark(mac)), macClaim(mac)),
    }));
    if (uuid !== undefined) {
      const nodes = having(...spellings(uuid).map(uuidMark));
      found.push({ fact: 'uuid', what: `the UUID ${uuid}`, nodes: decided(nodes, uuidClaim(uuid)) });
    }
    if (serial !== undefined) {
      const reader = effectiveReader(snapshot);
      const nodesOfModel = having(serialMark(serial)).filter((node) => isModel(identityOf(reader, node).mtm, machine));
      const nodes = decided(nodesOfModel, serialClaim(serial, identityOf(reader, nodesOfModel[0] ?? '').mtm));
      found.push({ fact: 'serial', what: `the serial number ${serial}`, nodes });
    }
    if (bmc !== undefined) found.push({ fact: 'bmc', what: `the BMC ${bmc}`, nodes: having(bmcMark(bmc)) });
    for (const { chassis, port } of neighbours) {
      const mac = normalMac(chassis);
      const names = mac === undefined ? [switchName(chassis)] : having(macMark(mac)).map(switchName);
      const marks = names.flatMap((name) => namesOfPort(port).map((each) => portMark(name, each)));
      found.push({ fact: 'switch', what: `the port ${port} of switch ${chassis}`, nodes: having(...marks) });
    }
    return found.filter(({ nodes }) => nodes.length > 0);
  }
}

/** Firmware disagrees on the order of the bytes of a UUID's first three parts. */
function spellings(uuid: string): string[] {
  const [a = '', b = '', c = '', ...rest] = uuid.split('-');
  const reversed = (part: string): string => part.match(/../g)!.reverse().join('');
  return [uuid, [reversed(a), reversed(b), reversed(c), ...rest].join('-')];
}

/** A node without a model takes any. */
function isModel(mtm: string, { manufacturer, model }: Machine): boolean {
  const wanted = bareText(mtm);
  return wanted === '' || [model, manufacturer + model].some((name) => bareText(name) === wanted);
}

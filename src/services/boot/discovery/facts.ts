import { canonicalAddress } from '../../../access/addresses.ts';
import { isIP } from 'node:net';
import type { Snapshot } from '../../../database/snapshot.ts';
import { tableNamed } from '../../../database/tables.ts';
import { bareText } from '../../../objects/claims.ts';
import { type EffectiveReader, effectiveReader } from '../../../objects/effective.ts';
import { NodeMarks } from '../../../objects/node-marks.ts';
import { normalMac } from '../../dhcp/reservations.ts';
import { macsOf } from '../node-macs.ts';
import type { Machine } from './machine.ts';
import { meaningfulSerial, meaningfulUuid } from './placeholders.ts';
import { namesOfPort, portName, switchName } from './switch-ports.ts';

/** By what a machine is known to be a node; the words are those of table `discoverydata`. */
export type Fact = 'mac' | 'uuid' | 'serial' | 'bmc' | 'switch';

/** A fact of a machine, and the nodes that have the same by their definition. */
export interface Found {
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
    const [node, ...others] = this.#marks.nodes(snapshot, macMark(mac));
    return others.length === 0 ? node : undefined;
  }

  find(snapshot: Snapshot, machine: Machine): Found[] {
    const having = (...marks: string[]): string[] => [
      ...new Set(marks.flatMap((mark) => this.#marks.nodes(snapshot, mark))),
    ];
    const { macs, uuid, serial, bmc, neighbours } = machine;
    const found: Found[] = macs.map((mac) => ({ fact: 'mac', what: `the MAC ${mac}`, nodes: having(macMark(mac)) }));
    if (uuid !== undefined)
      found.push({ fact: 'uuid', what: `the UUID ${uuid}`, nodes: having(...spellings(uuid).map(uuidMark)) });
    if (serial !== undefined) {
      const reader = effectiveReader(snapshot);
      const nodes = having(serialMark(serial)).filter((node) => isModel(identityOf(reader, node).mtm, machine));
      found.push({ fact: 'serial', what: `the serial number ${serial}`, nodes });
    }
    if (bmc !== undefined)
      found.push({ fact: 'bmc', what: `the service processor ${bmc}`, nodes: having(bmcMark(bmc)) });
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
export function spellings(uuid: string): string[] {
  const [a = '', b = '', c = '', ...rest] = uuid.split('-');
  const reversed = (part: string): string => part.match(/../g)!.reverse().join('');
  return [uuid, [reversed(a), reversed(b), reversed(c), ...rest].join('-')];
}

/** A node without a model takes any. */
function isModel(mtm: string, { manufacturer, model }: Machine): boolean {
  const wanted = bareText(mtm);
  return wanted === '' || [model, manufacturer + model].some((name) => bareText(name) === wanted);
}

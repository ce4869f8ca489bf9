import { isIP } from 'node:net';
import { domainStatistics, domainXml, statistics } from '../../protocols/libvirt/calls/domains.ts';
import type { Parameters } from '../../protocols/libvirt/wire.ts';
import { childElements, type Element, elementAt, readXml, textOf } from '../../protocols/libvirt/xml.ts';
import type { Inventory, InventoryKind, Labelled, Subnodes, Vitals, VitalsKind } from '../capabilities.ts';
import { devicesOf } from './machine-disks.ts';
import { type Machine, readMachine } from './machine.ts';
import { stateOf } from './power.ts';

interface InventoryLine {
  readonly label: string;
  readonly value: string;
  readonly kinds: readonly InventoryKind[];
}

/** Libvirt writes all sizes of memory in KiB. */
const sizeAt = (at: Element | undefined): string => `${Math.round(Number(textOf(at) ?? 0) / 1024)} MB`;

export function* inventoryLines(domain: Element): Generator<InventoryLine> {
  yield { label: 'UUID/GUID', value: textOf(elementAt(domain, 'uuid')) ?? '', kinds: ['uuid', 'guid', 'vpd'] };
  const os = elementAt(domain, 'os') ?? domain;
  const { arch = '', machine = '' } = elementAt(os, 'type')?.attributes ?? {};
  yield { label: 'System Model/MTM', value: `${machine} (${arch})`, kinds: ['model', 'vpd'] };
  yield* smbiosLines(domain);
  yield { label: 'Firmware', value: firmwareOf(os), kinds: ['firm'] };
  yield { label: 'CPUs', value: processors(elementAt(domain, 'vcpu')), kinds: ['cpu'] };
  const memory = elementAt(domain, 'memory');
  yield { label: 'Memory', value: sizeAt(elementAt(domain, 'currentMemory') ?? memory), kinds: ['dimm'] };
  yield { label: 'Maximum Memory', value: sizeAt(elementAt(domain, 'maxMemory') ?? memory), kinds: ['dimm'] };
  const devices = devicesOf(domain);
  for (const [index, module] of childElements(devices, 'memory').entries()) {
    const slot = elementAt(module, 'address')?.attributes['slot'] ?? index;
    const value = `${sizeAt(elementAt(module, 'target', 'size'))} (${module.attributes['model']})`;
    yield { label: `DIMM ${slot}`, value, kinds: ['dimm'] };
  }
  for (const disk of childElements(devices, 'disk')) {
    const target = elementAt(disk, 'target')?.attributes ?? {};
    const source = Object.entries(elementAt(disk, 'source')?.attributes ?? {}).find(([name]) => places.includes(name));
    const value = [source?.[1] ?? 'empty', target['bus'] && `(${target['bus']})`].filter(Boolean).join(' ');
    yield { label: `Disk ${target['dev'] ?? ''}`, value, kinds: ['hw'] };
  }
  for (const [index, nic] of childElements(devices, 'interface').entries()) {
    const source = elementAt(nic, 'source')?.attributes ?? {};
    const on = source['bridge'] ?? source['network'] ?? source['dev'];
    const mac = elementAt(nic, 'mac')?.attributes['address'] ?? '';
    yield {
      label: `Network adapter ${index + 1}`,
      value: on === undefined ? mac : `${mac} on ${on}`,
      kinds: ['hw', 'mac'],
    };
  }
  for (const { attributes } of childElements(devices, 'console')) {
    if (attributes['tty'] !== undefined) yield { label: 'Serial console', value: attributes['tty'], kinds: ['hw'] };
  }
  for (const { attributes } of childElements(devices, 'graphics')) yield displayLine(attributes);
  const passed = childElements(devices, 'hostdev').filter(({ attributes }) => attributes['type'] === 'pci');
  for (const [index, device] of passed.entries()) {
    const at = elementAt(device, 'source', 'address')?.attributes ?? {};
    const [segment, bus, slot, part] = ['domain', 'bus', 'slot', 'function'].map((name) =>
      at[name]?.replace(/^0x/, ''),
    );
    yield { label: `PCI device ${index + 1}`, value: `${segment}:${bus}:${slot}.${part}`, kinds: ['pci', 'hw'] };
  }
}

/** A machine that runs has a port. */
function displayLine({ type = '', listen = '', port = '-1' }: Element['attributes']): InventoryLine {
  const value = port === '-1' ? type : `${type} at ${isIP(listen) === 6 ? `[${listen}]` : listen}:${port}`;
  return { label: 'Display', value, kinds: ['hw'] };
}

/** A loader of its own is UEFI; it says whether what it boots has to be signed. */
function firmwareOf(os: Element): string {
  const loader = elementAt(os, 'loader');
  if (!loader && os.attributes['firmware'] !== 'efi') return 'BIOS';
  return loader?.attributes['secure'] === 'yes' ? 'UEFI with Secure Boot' : 'UEFI';
}

/** Attributes that say where a disk is. */
const places: readonly string[] = ['file', 'dev', 'volume', 'name'];

/** Those it has now; without a number of its own, all. */
const processors = (vcpu: Element | undefined): string => vcpu?.attributes['current'] ?? textOf(vcpu) ?? '';

export function kvmInventory(machine: Machine): Inventory {
  return {
    async read(kinds, signal): Promise<Labelled> {
      const xml = await readMachine(machine, signal, (connection, domain) =>
        domainXml(connection, domain, 'now', { signal }),
      );
      const wanted = [...inventoryLines(readXml(xml))].filter(
        (line) => kinds.length === 0 || line.kinds.some((kind) => kinds.includes(kind)),
      );
      return Object.fromEntries(wanted.map(({ label, value }) => [label, value]));
    },
  };
}

type SmbiosEntry = readonly [block: string, name: string, label: string, ...kinds: readonly InventoryKind[]];

const smbiosEntries: readonly SmbiosEntry[] = [
  ['system', 'manufacturer', 'System Manufacturer', 'vpd', 'hw'],
  ['system', 'product', 'System Description', 'vpd', 'hw'],
  ['system', 'serial', 'System Serial Number', 'serial', 'vpd', 'hw'],
  ['chassis', 'asset', 'System Asset Number', 'asset', 'hw'],
  ['chassis', 'serial', 'Chassis Serial Number', 'hw'],
  ['baseBoard', 'manufacturer', 'Board manufacturer', 'hw'],
  ['baseBoard', 'product', 'Board Description', 'hw'],
  ['baseBoard', 'serial', 'Board Serial Number', 'hw'],
];

/** What a definition has its machine report of itself, as firmware does. Most have nothing of the kind. */
function* smbiosLines(domain: Element): Generator<InventoryLine> {
  const all = childElements(domain, 'sysinfo').filter(({ attributes }) => attributes['type'] === 'smbios');
  for (const [block, name, label, ...kinds] of smbiosEntries) {
    const entries = all.flatMap((each) => childElements(each, block)).flatMap((each) => childElements(each, 'entry'));
    const value = textOf(entries.find(({ attributes }) => attributes['name'] === name));
    if (value) yield { label, value, kinds };
  }
}

interface VitalsLine {
  readonly label: string;
  readonly value: string;
  readonly kinds: readonly VitalsKind[];
}

const { state, cpu, balloon, vcpu, interface: nic, block } = statistics;
const wanted = state + cpu + balloon + vcpu + nic + block;

type Count = number | bigint;
const seconds = (nanoseconds: Count): string => `${(Number(nanoseconds) / 1e9).toFixed(2)} s`;
const megabytes = (kibibytes: Count): string => `${Math.round(Number(kibibytes) / 1024)} MB`;
const bytes = (count: Count): string => `${count} bytes`;
const plain = (count: Count): string => String(count);

/** A value that libvirt may report, as label, name and form. */
type Statistic = readonly [label: string, name: string, form: (value: Count) => string];

const ofMachine: readonly Statistic[] = [
  ['CPU Time', 'cpu.time', seconds],
  ['CPU Time User', 'cpu.user', seconds],
  ['CPU Time System', 'cpu.system', seconds],
  ['CPUs', 'vcpu.current', plain],
  ['Memory', 'balloon.current', megabytes],
  ['Memory Unused', 'balloon.unused', megabytes],
  ['Memory on Hypervisor', 'balloon.rss', megabytes],
];
const ofCpu: readonly Statistic[] = [['Time', 'time', seconds]];
const ofDisk: readonly Statistic[] = [
  ['Read', 'rd.bytes', bytes],
  ['Read Requests', 'rd.reqs', plain],
  ['Written', 'wr.bytes', bytes],
  ['Write Requests', 'wr.reqs', plain],
  ['Capacity', 'capacity', bytes],
  ['Allocation', 'allocation', bytes],
];
const ofNic: readonly Statistic[] = [
  ['Received', 'rx.bytes', bytes],
  ['Receive Errors', 'rx.errs', plain],
  ['Sent', 'tx.bytes', bytes],
  ['Send Errors', 'tx.errs', plain],
];

/** More parts than a machine has are no count. */
const mostParts = 4_096;

function* linesOf(values: Parameters): Generator<VitalsLine> {
  const reported = function* (list: readonly Statistic[], label = '', prefix = ''): Generator<VitalsLine> {
    for (const [name, key, form] of list) {
      const value = values.get(`${prefix}${key}`);
      if (typeof value === 'number' || typeof value === 'bigint') {
        yield { label: `${label}${name}`, value: form(value), kinds: [] };
      }
    }
  };
  const parts = function* (
    kind: string,
    count: string,
    label: string,
    list: readonly Statistic[],
  ): Generator<VitalsLine> {
    const number = Math.min(Number(values.get(`${kind}.${count}`) ?? 0), mostParts);
    for (let index = 0; index < number; index++) {
      const prefix = `${kind}.${index}.`;
      yield* reported(list, `${label} ${values.get(`${prefix}name`) ?? index} `, prefix);
    }
  };
  yield { label: 'Power Status', value: stateOf(Number(values.get('state.state'))), kinds: ['power', 'chassis'] };
  yield* reported(ofMachine);
  yield* parts('vcpu', 'maximum', 'CPU', ofCpu);
  yield* parts('block', 'count', 'Disk', ofDisk);
  yield* parts('net', 'count', 'Network', ofNic);
}

/** What libvirt counts of a machine. Of one that is off that is little; what it does not report is left out. */
export function kvmVitals(machine: Machine): Vitals {
  return {
    async read(kinds, signal): Promise<Labelled> {
      const [found] = await readMachine(machine, signal, (connection, domain) =>
        domainStatistics(connection, wanted, [domain], { signal }),
      );
      const lines = [...linesOf(found?.values ?? new Map())];
      const chosen = lines.filter((line) => kinds.length === 0 || line.kinds.some((kind) => kinds.includes(kind)));
      return Object.fromEntries(chosen.map(({ label, value }) => [label, value]));
    },
  };
}

/** The machines of a hypervisor, whoever has made them. */
export function kvmSubnodes({ access, hypervisors }: Machine): Subnodes {
  return {
    areMachines: true,
    async list(signal) {
      const host = access.host ?? access.node;
      const { connection } = await hypervisors.at(host, access.route, signal);
      const all = await domainStatistics(connection, statistics.state, [], { signal });
      const entries = all.map(({ domain, values }) => {
        const power = stateOf(Number(values.get('state.state')));
        return [domain.name, { mgt: 'kvm', nodetype: 'vm', vmhost: host, uuid: domain.uuid, power }] as const;
      });
      return Object.fromEntries(entries);
    },
  };
}

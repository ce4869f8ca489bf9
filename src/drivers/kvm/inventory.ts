import { isIP } from 'node:net';
import { domainXml } from '../../protocols/libvirt/calls/domains.ts';
import { childElements, type Element, elementAt, readXml, textOf } from '../../protocols/libvirt/xml.ts';
import type { Inventory, InventoryKind, Labelled } from '../capabilities.ts';
import { type Machine, readMachine } from './machine.ts';
import { devicesOf } from './machine-disks.ts';
import { smbiosLines } from './smbios.ts';

export interface InventoryLine {
  readonly label: string;
  readonly value: string;
  readonly kinds: readonly InventoryKind[];
}

/** Libvirt writes all sizes of memory in KiB. */
const megabytes = (at: Element | undefined): string => `${Math.round(Number(textOf(at) ?? 0) / 1024)} MB`;

export function* inventoryLines(domain: Element): Generator<InventoryLine> {
  yield { label: 'UUID/GUID', value: textOf(elementAt(domain, 'uuid')) ?? '', kinds: ['uuid', 'guid', 'vpd'] };
  const os = elementAt(domain, 'os') ?? domain;
  const { arch = '', machine = '' } = elementAt(os, 'type')?.attributes ?? {};
  yield { label: 'System Model/MTM', value: `${machine} (${arch})`, kinds: ['model', 'vpd'] };
  yield* smbiosLines(domain);
  yield { label: 'Firmware', value: firmwareOf(os), kinds: ['firm'] };
  yield { label: 'CPUs', value: processors(elementAt(domain, 'vcpu')), kinds: ['cpu'] };
  const memory = elementAt(domain, 'memory');
  yield { label: 'Memory', value: megabytes(elementAt(domain, 'currentMemory') ?? memory), kinds: ['dimm'] };
  yield { label: 'Maximum Memory', value: megabytes(elementAt(domain, 'maxMemory') ?? memory), kinds: ['dimm'] };
  const devices = devicesOf(domain);
  for (const [index, module] of childElements(devices, 'memory').entries()) {
    const slot = elementAt(module, 'address')?.attributes['slot'] ?? index;
    const value = `${megabytes(elementAt(module, 'target', 'size'))} (${module.attributes['model']})`;
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
    yield { label: `Network adapter ${index + 1}`, value: on === undefined ? mac : `${mac} on ${on}`, kinds: ['hw'] };
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

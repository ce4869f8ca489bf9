import { type Element, element } from '../../protocols/libvirt/xml.ts';
import { displayElements, type Firmware, type PciAddress } from './other-settings.ts';
import type { MachineSettings, NicSettings } from './machine-settings.ts';

/** What marks machines that muster has made. */
export const madeHere = 'muster:machine';
const namespace = 'urn:muster:machine';

export interface Disk {
  readonly path: string;
  readonly kind: 'file' | 'block';
  readonly format: 'qcow2' | 'raw';
  readonly device: string;
  readonly bus: string;
}

export interface Identity {
  readonly name: string;
  readonly uuid: string;
  /** One for each network adapter. */
  readonly macs: readonly string[];
}

export type Accelerator = 'kvm' | 'qemu';

/** The definition of a machine. All values are text in it: none can become an element. */
export function definitionOf(
  { name, uuid, macs }: Identity,
  settings: MachineSettings,
  disks: readonly Disk[],
  accelerator: Accelerator,
): Element {
  const { arch, machineType, firmware, memory, memoryNodes, cpus, cpuSet, cpuMode } = settings;
  const { bootOrder, nics, cache, passedDevices, clock, display } = settings;
  return element(
    'domain',
    { type: accelerator },
    element('name', {}, name),
    element('uuid', {}, uuid),
    element('metadata', {}, element(madeHere, { 'xmlns:muster': namespace })),
    element('memory', { unit: 'B' }, String(memory)),
    element('vcpu', { cpuset: cpuSet }, String(cpus)),
    memoryNodes === undefined
      ? undefined
      : element('numatune', {}, element('memory', { mode: 'strict', nodeset: memoryNodes })),
    element(
      'os',
      { firmware: firmware === 'bios' ? undefined : 'efi' },
      element('type', { arch, machine: machineType }, 'hvm'),
      firmwareOf(firmware),
      bootOrder.map((dev) => element('boot', { dev })),
    ),
    element('features', {}, hasAcpi(arch, firmware) ? element('acpi') : undefined),
    cpuMode === undefined ? undefined : element('cpu', { mode: cpuMode }),
    element('clock', { offset: clock }),
    element('on_poweroff', {}, 'destroy'),
    element('on_reboot', {}, 'restart'),
    element('on_crash', {}, 'destroy'),
    element(
      'devices',
      {},
      disks.map((disk) => diskOf(disk, cache)),
      nics.map((nic, index) => nicOf(nic, macs[index]!)),
      passedDevices.map(passedDevice),
      element('serial', { type: 'pty' }),
      element('console', { type: 'pty' }),
      display && displayElements(display),
    ),
  );
}

/** Without UEFI only these have it. */
const hasAcpi = (arch: string | undefined, firmware: Firmware): boolean =>
  firmware !== 'bios' || arch === undefined || arch === 'x86_64' || arch === 'x86';

/** Libvirt finds the firmware itself; it has to know whether what is booted must be signed, with keys that are known. */
function firmwareOf(firmware: Firmware): Element | undefined {
  if (firmware === 'bios') return undefined;
  const enabled = firmware === 'secureboot' ? 'yes' : 'no';
  const features = ['secure-boot', 'enrolled-keys'].map((name) => element('feature', { enabled, name }));
  return element('firmware', {}, features);
}

/** It is taken from the hypervisor when the machine starts, and given back when it stops. */
const passedDevice = (address: PciAddress): Element =>
  element(
    'hostdev',
    { mode: 'subsystem', type: 'pci', managed: 'yes' },
    element('source', {}, element('address', { ...address })),
  );

export const diskOf = ({ path, kind, format, device, bus }: Disk, cache: string): Element =>
  element(
    'disk',
    { type: kind, device: 'disk' },
    element('driver', { name: 'qemu', type: format, cache }),
    element('source', kind === 'file' ? { file: path } : { dev: path }),
    element('target', { dev: device, bus }),
  );

function nicOf({ kind, source, model }: NicSettings, mac: string): Element {
  const sources = {
    bridge: { bridge: source },
    network: { network: source },
    direct: { dev: source, mode: 'bridge' },
  } as const;
  return element(
    'interface',
    { type: kind },
    element('mac', { address: mac }),
    element('source', sources[kind]),
    element('model', { type: model }),
  );
}

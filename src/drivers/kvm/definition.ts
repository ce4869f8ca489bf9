import { type Element, element } from '../../protocols/libvirt/xml.ts';
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
  const { arch, machineType, memory, cpus, bootOrder, nics, cache, cpuMode } = settings;
  return element(
    'domain',
    { type: accelerator },
    element('name', {}, name),
    element('uuid', {}, uuid),
    element('metadata', {}, element(madeHere, { 'xmlns:muster': namespace })),
    element('memory', { unit: 'B' }, String(memory)),
    element('vcpu', {}, String(cpus)),
    element(
      'os',
      {},
      element('type', { arch, machine: machineType }, 'hvm'),
      bootOrder.map((dev) => element('boot', { dev })),
    ),
    element('features', {}, hasAcpi(arch) ? element('acpi') : undefined),
    cpuMode === undefined ? undefined : element('cpu', { mode: cpuMode }),
    element('clock', { offset: 'utc' }),
    element('on_poweroff', {}, 'destroy'),
    element('on_reboot', {}, 'restart'),
    element('on_crash', {}, 'destroy'),
    element(
      'devices',
      {},
      disks.map((disk) => diskOf(disk, cache)),
      nics.map((nic, index) => nicOf(nic, macs[index]!)),
      element('serial', { type: 'pty' }),
      element('console', { type: 'pty' }),
    ),
  );
}

/** Without UEFI only these have it. */
const hasAcpi = (arch: string | undefined): boolean => arch === undefined || arch === 'x86_64' || arch === 'x86';

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

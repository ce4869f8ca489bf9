import { Fault } from '../../core/errors.ts';
import { childElements, type Element, elementAt, textOf } from '../../protocols/libvirt/xml.ts';
import { tidyPath } from './device-paths.ts';
import { sourcesIn } from './disk-inventory.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** What a definition may consist of, and its devices: they need nothing of the hypervisor but what libvirt itself gives each machine. */
const plainParts = words(
  `name uuid genid title description metadata memory currentMemory maxMemory memoryBacking memtune numatune vcpu vcpus iothreads
  iothreadids defaultiothread cputune blkiotune resource os features cpu clock on_poweroff on_reboot on_crash on_lockfailure pm perf
  devices seclabel sysinfo`,
);
const plainDevices = words(
  `audio channel console controller disk emulator graphics hub input interface iommu memballoon panic redirdev rng serial sound tpm video
  vsock watchdog`,
);
const plainTypes: Readonly<Record<string, ReadonlySet<string>>> = {
  channel: words('pty null spicevmc qemu-vdagent dbus unix'),
  console: words('pty null'),
  disk: words('file block network volume'),
  input: words('mouse tablet keyboard'),
  interface: words('bridge network direct user'),
  redirdev: words('spicevmc'),
  serial: words('pty null'),
};
const emulators = /^\/usr\/(local\/)?(bin|lib|libexec)\/[\w.+-]*(qemu|kvm)[\w.+-]*$/;
const firmwareFiles = /^\/usr\/(local\/)?(share|lib)\//;
/** Where libvirt makes files of machines itself, and terminals. */
const madeByLibvirt = /^((\/var)?\/(lib|run)\/libvirt\/qemu\/|\/dev\/pts\/)/;
const randomness = /^\/dev\/(u?random|hwrng)$/;
/** Of the system: no disk of a machine is there. */
const systemFiles =
  /^\/(bin|boot|dev|etc|lib|lib32|lib64|proc|root|run|sbin|sys|usr)(\/|$)|^\/var\/(lib\/(muster|libvirt\/qemu)|log|run|spool)(\/|$)/;

/** Where a machine arrives. */
export interface Arrival {
  readonly host: string;
  /** The node itself is to have devices of its hypervisor. */
  readonly passesDevices: boolean;
}

/**
 * A machine is started at the target as its source defines it. Refuses what would reach from there into the target: its programs, files
 * and devices. So whoever controls one hypervisor does not control each to which a machine of it moves.
 */
export function refuseReaching(domain: Element, { host, passesDevices }: Arrival): void {
  const found = reachingPart(domain, passesDevices);
  if (found === undefined) return;
  throw new Fault('invalid', [
    `its definition has ${found}, and muster lets no machine bring that to ${host}.`,
    'Take it out of the definition, or move the machine with virsh if you trust it.',
  ]);
}

/** The first part that does, in words; undefined: there is none. */
export function reachingPart(domain: Element, passesDevices: boolean): string | undefined {
  const part = elements(domain).find(({ name }) => !plainParts.has(name));
  if (part) return `<${part.name}>`;
  const label = childElements(domain, 'seclabel').find(
    ({ attributes: { type } }) => type === 'none' || type === 'static',
  );
  if (label) return `<seclabel type='${label.attributes['type']}'>`;
  if (childElements(domain, 'sysinfo').some(({ attributes: { type } }) => type !== 'smbios'))
    return '<sysinfo> of files';
  const devices = childElements(domain, 'devices').flatMap(elements);
  return inSystem(domain) ?? devices.flatMap((each) => inDevice(each, passesDevices) ?? [])[0];
}

const elements = ({ children }: Element): readonly Element[] =>
  children.flatMap((child) => (typeof child === 'string' ? [] : [child]));

const within = (element: Element): readonly Element[] => [element, ...elements(element).flatMap(within)];

function inSystem(domain: Element): string | undefined {
  const parts = childElements(domain, 'os').flatMap(elements);
  const file = parts.find(({ name }) => ['kernel', 'initrd', 'dtb', 'acpi', 'shim', 'varstore'].includes(name));
  if (file) return `<${file.name}> in <os>`;
  const named = (name: string) => parts.filter((each) => each.name === name);
  for (const each of [
    ...named('loader').map(textOf),
    ...named('nvram').map(({ attributes }) => attributes['template']),
  ])
    if (each && !isOf(firmwareFiles, each)) return `the firmware ${each}`;
  for (const each of named('nvram').flatMap((nvram) => [textOf(nvram), elementAt(nvram, 'source')?.attributes['file']]))
    if (each && !isOf(madeByLibvirt, each)) return `the UEFI variables ${each}`;
  return undefined;
}

const isOf = (files: RegExp, path: string): boolean => files.test(tidyPath(path)) && !path.split('/').includes('..');

function inDevice(device: Element, passesDevices: boolean): string | undefined {
  const { name, attributes } = device;
  if (name === 'hostdev' && passesDevices) return undefined;
  if (!plainDevices.has(name)) return `<${name}>`;
  const types = plainTypes[name];
  const { type } = attributes;
  if (types && type !== undefined && !types.has(type)) return `<${name} type='${type}'>`;
  if (name === 'disk') return inDisk(device);
  if (name === 'emulator') return isOf(emulators, textOf(device) ?? '') ? undefined : `the emulator ${textOf(device)}`;
  for (const each of within(device)) {
    if (['script', 'downscript', 'log'].includes(each.name)) return `<${each.name}> in <${name}>`;
    const paths = [...Object.values(each.attributes), textOf(each) ?? ''].filter((value) => value.startsWith('/'));
    const foreign = paths.find((path) => !isOf(madeByLibvirt, path) && !(name === 'rng' && randomness.test(path)));
    if (foreign !== undefined) return `${foreign} in <${name}>`;
    if (
      each.name === 'backend' &&
      ['passthrough', 'egd', 'external'].includes(each.attributes['type'] ?? each.attributes['model'] ?? '')
    )
      return `<backend> in <${name}>`;
  }
  return undefined;
}

function inDisk(disk: Element): string | undefined {
  for (const { attributes } of sourcesIn(disk)) {
    const path = attributes['file'] ?? attributes['dev'] ?? attributes['dir'];
    if (path !== undefined && (systemFiles.test(tidyPath(path)) || path.split('/').includes('..')))
      return `the disk ${path}`;
  }
  return undefined;
}

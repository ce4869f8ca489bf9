import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { childElements, type Element, elementAt } from '../../protocols/libvirt/xml.ts';

/** A disk as a definition has it. */
export interface MachineDisk {
  readonly device: string;
  readonly bus: string;
  readonly path: string;
  readonly kind: 'file' | 'block';
  readonly format: string;
  readonly cache: string | undefined;
  readonly element: Element;
}

export const devicesOf = (domain: Element): Element => elementAt(domain, 'devices') ?? domain;

/** Disks that are files or devices of the hypervisor; drives and disks on the network are none. */
export function machineDisks(domain: Element): readonly MachineDisk[] {
  return childElements(devicesOf(domain), 'disk')
    .filter(({ attributes }) => (attributes['device'] ?? 'disk') === 'disk')
    .flatMap((disk) => {
      const { dev = '', bus = '' } = elementAt(disk, 'target')?.attributes ?? {};
      const { file, dev: node } = elementAt(disk, 'source')?.attributes ?? {};
      const { type = 'raw', cache } = elementAt(disk, 'driver')?.attributes ?? {};
      const path = file ?? node;
      if (path === undefined) return [];
      return {
        device: dev,
        bus,
        path,
        kind: file === undefined ? 'block' : 'file',
        format: type,
        cache,
        element: disk,
      };
    });
}

/** Where what is written to a disk goes as well. */
export const mirrorOf = ({ element: disk }: MachineDisk): string | undefined =>
  elementAt(disk, 'mirror', 'source')?.attributes['file'] ?? elementAt(disk, 'mirror')?.attributes['file'];

export function diskNamed(disks: readonly MachineDisk[], device: string): MachineDisk {
  const found = disks.find((disk) => disk.device === device);
  if (found) return found;
  const known = disks.length === 0 ? 'it has none' : `it has ${disks.map((disk) => disk.device).join(', ')}`;
  throw new Fault('invalid', `it has no disk "${device}"; ${known}.`);
}

const suffix = /^\.[hsv]d[a-z]\.(qcow2|raw)$/;

/** Made by muster for the node, as far as its name shows. */
export function isNamedFor(node: string, path: string): boolean {
  const file = posix.basename(path);
  return file.startsWith(node) && suffix.test(file.slice(node.length));
}
export const isMadeFor = (node: string, { kind, path }: Pick<MachineDisk, 'kind' | 'path'>): boolean =>
  kind === 'file' && isNamedFor(node, path);

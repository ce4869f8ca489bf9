import { Fault } from '../../core/errors.ts';
import { type Element, element } from '../../protocols/libvirt/xml.ts';

const firmwares = ['bios', 'uefi', 'secureboot'] as const;
export type Firmware = (typeof firmwares)[number];

export interface PciAddress {
  readonly domain: string;
  readonly bus: string;
  readonly slot: string;
  readonly function: string;
}

/** What the attribute vmothersetting says, checked. */
export interface OtherSettings {
  machine?: string;
  cpumode?: string;
  firmware?: Firmware;
  vcpupin?: string;
  membind?: string;
  devpassthrough?: readonly PciAddress[];
}

const typeShape = /^[A-Za-z0-9][\w.-]{0,62}$/;
/** `0-15,^8`: numbers, ranges, and what is left out of them. */
const setShape = /^\^?\d{1,5}(-\d{1,5})?(,\^?\d{1,5}(-\d{1,5})?){0,99}$/;
const pciShape = /^pci_([\da-f]{4})_([\da-f]{2})_([\da-f]{2})_([0-7])$/i;

/** How each setting is taken; false: its value is none. */
const takers: Readonly<Record<string, (found: OtherSettings, value: string) => boolean>> = {
  machine: (found, value) => typeShape.test(value) && Boolean((found.machine = value)),
  cpumode: (found, value) =>
    (value === 'host-model' || value === 'host-passthrough') && Boolean((found.cpumode = value)),
  firmware: (found, value) => Boolean((found.firmware = firmwares.find((known) => known === value)!)),
  vcpupin: (found, value) => setShape.test(value) && Boolean((found.vcpupin = value)),
  membind: (found, value) => setShape.test(value) && Boolean((found.membind = value)),
  devpassthrough(found, value) {
    const addresses = value.split(',').map((name) => pciShape.exec(name.trim()));
    if (addresses.includes(null)) return false;
    found.devpassthrough = addresses.map((match) => ({
      domain: `0x${match![1]}`,
      bus: `0x${match![2]}`,
      slot: `0x${match![3]}`,
      function: `0x${match![4]}`,
    }));
    return true;
  },
};

const offered =
  'machine:TYPE, cpumode:host-model or host-passthrough, firmware:bios, uefi or secureboot, vcpupin:0-3, membind:0, devpassthrough:pci_0000_01_00_0';

/** The attribute vmothersetting: settings with their values, joined by semicolons. */
export function otherSettings(text: string): OtherSettings {
  const found: OtherSettings = {};
  for (const item of text.split(';').flatMap((each) => each.trim() || [])) {
    const colon = item.indexOf(':');
    const name = item.slice(0, Math.max(colon, 0));
    const isTaken = Object.hasOwn(takers, name) && takers[name]!(found, item.slice(colon + 1).trim());
    if (!isTaken) {
      throw new Fault(
        'invalid',
        `its attribute vmothersetting, "${text}", is wrong: "${item}" is not known; use ${offered}.`,
      );
    }
  }
  return found;
}

/** A screen of the machine, and how it is looked at. The hypervisor's qemu.conf says at which address. */
export interface Display {
  readonly protocol: 'vnc' | 'spice';
  /** Of the graphics adapter; undefined: what libvirt thinks best. */
  readonly model: string | undefined;
  readonly password: string | undefined;
}

export const displayProtocols = ['vnc', 'spice'] as const;

/** Characters of a password that a protocol takes. */
const longest: Readonly<Record<Display['protocol'], number>> = { vnc: 8, spice: 60 };
const passwordShape = /^[\x20-\x7e]+$/;

/** There is one as soon as anything is said of it. */
export function displayOf(
  protocol: Display['protocol'] | undefined,
  model: string | undefined,
  password: string | undefined,
): Display | undefined {
  if ([protocol, model, password].every((each) => each === undefined)) return undefined;
  const display: Display = { protocol: protocol ?? 'vnc', model, password };
  const most = longest[display.protocol];
  // The password itself is in no sentence.
  if (password !== undefined && (password.length > most || !passwordShape.test(password))) {
    throw new Fault(
      'invalid',
      `its vidpassword in table vm does not suit ${display.protocol}, which takes 1 to ${most} ASCII characters.`,
    );
  }
  return display;
}

export const displayElements = ({ protocol, model, password }: Display): readonly Element[] => [
  element('graphics', { type: protocol, autoport: 'yes', passwd: password }),
  ...(model === undefined ? [] : [element('video', {}, element('model', { type: model }))]),
];

import { Fault } from '../../core/errors.ts';
import { type Element, element } from '../../protocols/libvirt/xml.ts';

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
      `its vidpassword in table vm is no password for ${display.protocol}, which takes 1 to ${most} characters of ASCII.`,
    );
  }
  return display;
}

export const displayElements = ({ protocol, model, password }: Display): readonly Element[] => [
  element('graphics', { type: protocol, autoport: 'yes', passwd: password }),
  ...(model === undefined ? [] : [element('video', {}, element('model', { type: model }))]),
];

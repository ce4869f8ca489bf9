import { Fault } from '../../../core/errors.ts';
import { parseIp } from '../../../core/ip.ts';
import { given, type Value } from './pieces.ts';

/** What the values that answer files are made of look like. */
const types = {
  name: /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/,
  timezone: /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/,
  locale: /^[A-Za-z]{1,8}(_[A-Z]{2})?(\.[A-Za-z0-9-]+)?(@[a-z]+)?$/,
  keyboard: /^[a-z][a-z0-9-]{0,31}$/,
  nic: /^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$/,
  mac: /^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$/,
  disk: /^\/dev\/[A-Za-z0-9][A-Za-z0-9._:+@/-]*$/,
} as const;

const shown: Readonly<Record<keyof typeof types | 'address', string>> = {
  name: 'a host or domain name',
  timezone: 'a time zone such as Europe/Vienna',
  locale: 'a locale such as en_US.UTF-8',
  keyboard: 'a keyboard layout such as us',
  nic: 'the name of a network interface',
  mac: 'a MAC address',
  disk: 'a disk such as /dev/sda',
  address: 'an IP address',
};

/** A value that must look like what it is used as. */
export function typed(text: string, type: keyof typeof shown, from: string): Value {
  const fits = type === 'address' ? parseIp(text) !== undefined : types[type].test(text) && !text.includes('..');
  if (fits) return given(text, from);
  throw new Fault('invalid', `${from} is ${JSON.stringify(text)}, which is not ${shown[type]}.`);
}

/** A name or an address of a host. */
export const hostValue = (text: string, from: string): Value =>
  typed(text, parseIp(text) === undefined ? 'name' : 'address', from);

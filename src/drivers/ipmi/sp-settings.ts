import { Fault } from '../../core/errors.ts';
import { maximumControllerId } from '../../protocols/ipmi/commands/dcmi.ts';
import {
  encodeArpInterval,
  encodeCommunity,
  encodeDestination,
  encodeIpv4,
  encodeTrapDestination,
  encodeVlan,
  isNetmask,
  type LanSetting,
  maximumArpInterval,
  maximumCommunity,
} from '../../protocols/ipmi/commands/lan.ts';
import { knownBitRates } from '../../protocols/ipmi/commands/sol-settings.ts';
import { limits } from '../../protocols/ipmi/commands/users.ts';
import { parseSwitch } from './energy.ts';

export interface AccountChange {
  readonly userId: number;
  readonly name: string | undefined;
  readonly password: string | undefined;
}

/** All that a call changes, checked and encoded before anything is sent. */
export interface SettingsPlan {
  readonly lan: readonly LanSetting[];
  /** The new address, or by DHCP. */
  readonly address: string | undefined;
  readonly alerting: boolean | undefined;
  readonly hostname: string | undefined;
  readonly solEnabled: boolean | undefined;
  readonly solBits: string | undefined;
  readonly account: AccountChange | undefined;
}

export const numberedDestination = /^snmpdest([1-9]|1[0-5])$/;

const accountNames = ['userid', 'username', 'password'];
const otherNames = ['ip', 'alert', 'hostname', 'solenabled', 'solbitrate', ...accountNames];

/** The names of what `SettingsPlan.lan` changes. */
export const lanNamesIn = (settings: Readonly<Record<string, string>>): readonly string[] =>
  Object.keys(settings).filter((name) => !otherNames.includes(name));

function wrong(name: string, value: string, want: string): Fault {
  return new Fault('invalid', `the value "${value}" of ${name} is not ${want}.`);
}

function ipv4(name: string, value: string): Buffer {
  const bytes = encodeIpv4(value);
  if (bytes === undefined) throw wrong(name, value, 'an IPv4 address');
  return bytes;
}

const isPrintable = (text: string) => /^[\x20-\x7e]+$/.test(text);

const lanEncoders: Readonly<Record<string, (name: string, value: string) => LanSetting>> = {
  netmask(name, value) {
    if (!isNetmask(value)) throw wrong(name, value, 'a netmask such as 255.255.255.0');
    return { parameter: 'netmask', value: ipv4(name, value) };
  },
  gateway: (name, value) => ({ parameter: 'gateway', value: ipv4(name, value) }),
  backupgateway: (name, value) => ({ parameter: 'backupGateway', value: ipv4(name, value) }),
  garp(name, value) {
    const seconds = Number(value);
    if (!/^\d+(\.\d)?$/.test(value) || seconds > maximumArpInterval) {
      throw wrong(name, value, `a number of seconds from 0 to ${maximumArpInterval}`);
    }
    return { parameter: 'arpInterval', value: encodeArpInterval(seconds) };
  },
  vlan(name, value) {
    if (/^(off|disable|disabled|0)$/i.test(value)) return { parameter: 'vlan', value: encodeVlan(undefined) };
    const id = Number(value);
    if (!/^\d{1,4}$/.test(value) || id > 4094) throw wrong(name, value, 'a number from 1 to 4094, or off');
    return { parameter: 'vlan', value: encodeVlan(id) };
  },
  community(name, value) {
    if (!isPrintable(value) || value.length > maximumCommunity) {
      throw new Fault('invalid', `the value of ${name} is not a text of 1 to ${maximumCommunity} ASCII characters.`);
    }
    return { parameter: 'community', value: encodeCommunity(value) };
  },
};

function destination(name: string, value: string): readonly LanSetting[] {
  const number = Number(numberedDestination.exec(name)?.[1] ?? 1);
  return [
    { parameter: 'destinationType', value: encodeTrapDestination(number) },
    { parameter: 'destination', value: encodeDestination(number, ipv4(name, value)) },
  ];
}

function lanSettings(settings: Readonly<Record<string, string>>): LanSetting[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (name === 'snmpdest' || numberedDestination.test(name)) return destination(name, value);
    const encode = Object.hasOwn(lanEncoders, name) ? lanEncoders[name] : undefined;
    return encode === undefined ? [] : [encode(name, value)];
  });
}

function account(settings: Readonly<Record<string, string>>): AccountChange | undefined {
  if (!accountNames.some((name) => Object.hasOwn(settings, name))) return undefined;
  const { userid = '', username, password } = settings;
  const userId = Number(userid);
  if (!/^\d{1,2}$/.test(userid) || userId < 1 || userId > limits.userId) {
    throw new Fault(
      'invalid',
      `give userid, the number of the account from 1 to ${limits.userId}, together with username and password.`,
    );
  }
  if (username === undefined && password === undefined) {
    throw new Fault('invalid', 'give username, password or both together with userid.');
  }
  if (username !== undefined && (!isPrintable(username) || username.length > limits.name)) {
    throw wrong('username', username, `a name of 1 to ${limits.name} ASCII characters`);
  }
  if (password !== undefined && (password === '' || Buffer.byteLength(password) > limits.password)) {
    throw new Fault('invalid', `the password must have 1 to ${limits.password} bytes.`);
  }
  return { userId, name: username, password };
}

function hostname(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(value) && value.length <= maximumControllerId) return value;
  throw wrong('hostname', value, `a host name of at most ${maximumControllerId} characters`);
}

function bitRate(value: string | undefined): string | undefined {
  if (value === undefined || knownBitRates.includes(value)) return value;
  throw wrong('solbitrate', value, `one of ${knownBitRates.join(', ')}`);
}

export function planSettings(settings: Readonly<Record<string, string>>): SettingsPlan {
  const names = ['snmpdest', ...Object.keys(lanEncoders), ...otherNames];
  const unknown = Object.keys(settings).find((name) => !names.includes(name) && !numberedDestination.test(name));
  if (unknown !== undefined) {
    const list = names.toSorted().join(', ');
    throw new Fault('invalid', `"${unknown}" cannot be set on an IPMI BMC; known: ${list}, snmpdest<n>.`);
  }
  const { ip, alert, solenabled, solbitrate } = settings;
  if (ip !== undefined && ip !== 'dhcp') ipv4('ip', ip);
  return {
    lan: lanSettings(settings),
    address: ip,
    alerting: alert === undefined ? undefined : parseSwitch(alert),
    hostname: hostname(settings['hostname']),
    solEnabled: solenabled === undefined ? undefined : parseSwitch(solenabled),
    solBits: bitRate(solbitrate),
    account: account(settings),
  };
}

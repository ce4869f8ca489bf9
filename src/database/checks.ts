import { isIP, isIPv4, isIPv6 } from 'node:net';
import { Fault } from '../core/errors.ts';
import { eventKinds } from '../core/event-kinds.ts';
import { checkHostAddress, noProcessorPort, processorPort } from '../core/host-address.ts';
import { maskBits } from '../core/ip.ts';
import { compilePattern } from '../core/patterns.ts';
import type { Row, Table } from './tables.ts';

/** Says what is wrong with a value, or nothing. */
type Check = (value: string) => string | undefined;

export const maximumValueLength = 65_536;

// The reference system stores any text. What would later break a daemon's configuration or a file is refused here instead.
const address: Check = (value) => (isIP(value) ? undefined : 'is not an IP address');
const addressOrWord: Check = (value) =>
  isIP(value) || value === '<xcatmaster>' ? undefined : 'is neither an IP address nor <xcatmaster>';
const network: Check = (value) => (isIP(value) ? undefined : 'is not a network address');
const host: Check = (value) => {
  if (isIP(value) || value === '<xcatmaster>') return undefined;
  if (checkHostAddress(value))
    return 'looks like an IPv4 address and is none: write four decimal numbers from 0 to 255 without leading zeros, such as 10.0.0.7';
  return /^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,253}[A-Za-z0-9_])?$/.test(value)
    ? undefined
    : 'is neither an address nor a host name';
};
const processor: Check = (value) => firstBad(value.split(','), host);
const port: Check = (value) => (processorPort(value) === false ? noProcessorPort : undefined);
const mask: Check = (value) => {
  if (isIPv4(value)) return maskBits(value, 4) === undefined ? 'is not a network mask' : undefined;
  if (isIPv6(value)) return undefined;
  const prefix = /^\/(\d{1,3})$/.exec(value);
  return prefix && Number(prefix[1]) <= 128 ? undefined : 'is neither a network mask nor a prefix length such as /64';
};
const macs: Check = (value) => {
  for (const part of value.split('|')) {
    const mac = part.split('!', 1)[0]!;
    if (!/^([0-9a-f]{2}(:[0-9a-f]{2}){5,19}|[0-9a-f]{12})$/i.test(mac))
      return part === value ? 'is not a MAC address' : `has no MAC address in "${part}"`;
  }
  return undefined;
};
const bytes: Check = (value) =>
  /^\d{2,5}$/.test(value) && Number(value) >= 68 && Number(value) <= 65_535
    ? undefined
    : 'is not a number of bytes from 68 to 65535';
const dottedNumber: Check = (value) =>
  /^\d+(\.\d+)*$/.test(value) ? undefined : 'is not a priority: give a number such as 4 or 4.2';

const hookUrl: Check = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return 'is not a URL that begins with https:// or http://';
  return url.username !== '' || url.password !== '' ? 'must not hold a user name or a password' : undefined;
};
const programName: Check = (value) =>
  /^[A-Za-z0-9][\w.-]{0,63}$/.test(value) ? undefined : 'is not the name of a program: a file name without directories';
const kindList: Check = (value) =>
  firstBad(
    value.split(',').map((each) => each.trim()),
    (each) => ((eventKinds as readonly string[]).includes(each) ? undefined : `may hold ${eventKinds.join(', ')}`),
  );

const linePattern: Check = (value) => {
  try {
    compilePattern(value, 'consolepattern.pattern');
    return undefined;
  } catch (error) {
    return `cannot be used: ${(error as Error).message.replace(/\.$/, '')}`;
  }
};

const checks: Readonly<Record<string, Check>> = {
  'consolepattern.pattern': linePattern,
  'hooks.url': hookUrl,
  'hooks.command': programName,
  'hooks.kinds': kindList,
  'hosts.ip': address,
  'ipmi.bmc': processor,
  'ipmi.bmcport': port,
  'openbmc.bmc': host,
  'mac.mac': macs,
  'networks.net': network,
  'networks.mask': mask,
  'networks.gateway': addressOrWord,
  'networks.tftpserver': host,
  'networks.dhcpserver': host,
  'networks.mtu': bytes,
  'routes.net': network,
  'routes.mask': mask,
  'policy.priority': dottedNumber,
};

function firstBad(values: readonly string[], check: Check): string | undefined {
  for (const value of values) {
    const problem = check(value);
    if (problem) return problem;
  }
  return undefined;
}

/** A value that is computed per node; what it gives them is checked where nodes are known (objects/pattern-check.ts). */
const isPattern = (value: string): boolean =>
  (value.length > 1 && value.startsWith('|') && value.endsWith('|')) || /^\/[^/]*\/[^/]*\/$/.test(value);

// eslint-disable-next-line no-control-regex -- finding control characters is the point
const control = /[\u0000-\u001f\u007f]/;
const loneSurrogate = /\p{Surrogate}/u;

function textProblem(value: string): string | undefined {
  if (control.test(value)) return 'the value holds a control character; give one line of text';
  if (loneSurrogate.test(value)) return 'the value is not valid Unicode text';
  return value.length > maximumValueLength ? `the value is longer than ${maximumValueLength} characters` : undefined;
}

export function checkText(value: string, where: string): void {
  const problem = textProblem(value);
  if (problem) throw new Fault('invalid', `${where}: ${problem}.`);
}

function ownProblem(table: Table, column: string, value: string): string | undefined {
  if (table.nodeColumn !== undefined && (isPattern(value) || value.endsWith('+=NEXTRECORD'))) return undefined;
  return formProblem(table, column, value);
}

/** Whether the values of the column must have a form. */
export const hasForm = (table: Table, column: string): boolean => Object.hasOwn(checks, `${table.name}.${column}`);

/** What is wrong with the form of a value that is no pattern. */
export function formProblem(table: Table, column: string, value: string): string | undefined {
  const problem = checks[`${table.name}.${column}`]?.(value);
  return problem && `"${value}" ${problem}`;
}

export function checkValue(table: Table, column: string, value: string, row: Row): void {
  if (value === '') return;
  const problem = textProblem(value) ?? ownProblem(table, column, value);
  if (!problem) return;
  const keys = table.keys.flatMap((key) => row[key] || []).join(',');
  throw new Fault('invalid', `${table.name}.${column}${keys && ` of ${keys}`}: ${problem}.`);
}

import type { IpmiLink } from '../link.ts';
import { ask } from './ask.ts';
import { atLeast, byteAt } from './bytes.ts';

/** IPMI 2.0 sections 22.26 to 22.30: user commands. */
const app = 0x06;
const commands = { setAccess: 0x43, getAccess: 0x44, setName: 0x45, getName: 0x46, setPassword: 0x47 };
const passwordOperations = { enable: 1, set: 2 };
const twentyBytePassword = 0x80;
/** Change the bits, IPMI messaging and link authentication on. */
const messagingEnabled = 0xb0;

export const limits = { name: 16, password: 20, userId: 63 };
export const privileges = { user: 2, administrator: 4 };

function padded(text: string, length: number): Buffer {
  const data = Buffer.alloc(length);
  data.write(text, 'utf8');
  return data;
}

export interface UserAccess {
  readonly messaging: boolean;
  readonly privilege: number;
}

export function decodeUserAccess(data: Buffer): UserAccess {
  atLeast(data, 4, 'Get User Access');
  return { messaging: (byteAt(data, 3) & 0x10) !== 0, privilege: byteAt(data, 3) & 0x0f };
}

export async function getUserAccess(
  link: IpmiLink,
  channel: number,
  user: number,
  signal: AbortSignal,
): Promise<UserAccess> {
  const data = Buffer.of(channel, user);
  const request = { netfn: app, command: commands.getAccess, data, privilege: 'operator' } as const;
  return decodeUserAccess(await ask(link, request, `to show the access of user ${user}`, signal));
}

/** Changes something of a user; `what` follows "refused". */
async function change(
  link: IpmiLink,
  command: number,
  data: Buffer,
  what: string,
  signal: AbortSignal,
  own?: Readonly<Record<number, string>>,
): Promise<void> {
  await ask(link, { netfn: app, command, data, privilege: 'administrator' }, what, signal, own);
}

export function setUserAccess(
  link: IpmiLink,
  channel: number,
  user: number,
  privilege: number,
  signal: AbortSignal,
): Promise<void> {
  const data = Buffer.of(messagingEnabled | channel, user, privilege, 0);
  return change(link, commands.setAccess, data, `the access of user ${user}`, signal);
}

export function decodeUserName(data: Buffer): string {
  const end = data.indexOf(0);
  return data.subarray(0, end < 0 ? limits.name : Math.min(end, limits.name)).toString('utf8');
}

export async function getUserName(link: IpmiLink, user: number, signal: AbortSignal): Promise<string> {
  const request = { netfn: app, command: commands.getName, data: Buffer.of(user), privilege: 'operator' } as const;
  return decodeUserName(await ask(link, request, `to show the name of user ${user}`, signal));
}

export function setUserName(link: IpmiLink, user: number, name: string, signal: AbortSignal): Promise<void> {
  const data = Buffer.concat([Buffer.of(user), padded(name, limits.name)]);
  return change(link, commands.setName, data, `the name of user ${user}`, signal);
}

export function enableUser(link: IpmiLink, user: number, signal: AbortSignal): Promise<void> {
  const data = Buffer.concat([Buffer.of(user, passwordOperations.enable), Buffer.alloc(16)]);
  return change(link, commands.setPassword, data, `to enable user ${user}`, signal);
}

export function setUserPassword(link: IpmiLink, user: number, password: string, signal: AbortSignal): Promise<void> {
  const head = Buffer.of(user | twentyBytePassword, passwordOperations.set);
  const data = Buffer.concat([head, padded(password, limits.password)]);
  const own = { 0x80: 'it does not accept this password' };
  return change(link, commands.setPassword, data, `the password of user ${user}`, signal, own);
}

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
export const privileges = { none: 0x0f, callback: 1, user: 2, operator: 3, administrator: 4 };

function padded(text: string, length: number): Buffer {
  const data = Buffer.alloc(length);
  data.write(text, 'utf8');
  return data;
}

export interface UserAccess {
  readonly maximumUsers: number;
  readonly messaging: boolean;
  readonly privilege: number;
}

export function decodeUserAccess(data: Buffer): UserAccess {
  atLeast(data, 4, 'Get User Access');
  return {
    maximumUsers: byteAt(data, 0) & 0x3f,
    messaging: (byteAt(data, 3) & 0x10) !== 0,
    privilege: byteAt(data, 3) & 0x0f,
  };
}

export async function getUserAccess(
  link: IpmiLink,
  channel: number,
  user: number,
  signal: AbortSignal,
): Promise<UserAccess> {
  const data = Buffer.of(channel, user);
  const request = { netfn: app, command: commands.getAccess, data, privilege: 'operator' } as const;
  return decodeUserAccess(await ask(link, request, `to tell the access of user ${user}`, signal));
}

export async function setUserAccess(
  link: IpmiLink,
  channel: number,
  user: number,
  privilege: number,
  signal: AbortSignal,
): Promise<void> {
  const data = Buffer.of(messagingEnabled | channel, user, privilege, 0);
  const request = { netfn: app, command: commands.setAccess, data, privilege: 'administrator' } as const;
  await ask(link, request, `the access of user ${user}`, signal);
}

export function decodeUserName(data: Buffer): string {
  const end = data.indexOf(0);
  return data.subarray(0, end < 0 ? limits.name : Math.min(end, limits.name)).toString('utf8');
}

export async function getUserName(link: IpmiLink, user: number, signal: AbortSignal): Promise<string> {
  const request = { netfn: app, command: commands.getName, data: Buffer.of(user), privilege: 'operator' } as const;
  return decodeUserName(await ask(link, request, `to tell the name of user ${user}`, signal));
}

export async function setUserName(link: IpmiLink, user: number, name: string, signal: AbortSignal): Promise<void> {
  const data = Buffer.concat([Buffer.of(user), padded(name, limits.name)]);
  const request = { netfn: app, command: commands.setName, data, privilege: 'administrator' } as const;
  await ask(link, request, `the name of user ${user}`, signal);
}

export async function enableUser(link: IpmiLink, user: number, signal: AbortSignal): Promise<void> {
  const data = Buffer.concat([Buffer.of(user, passwordOperations.enable), Buffer.alloc(16)]);
  const request = { netfn: app, command: commands.setPassword, data, privilege: 'administrator' } as const;
  await ask(link, request, `to enable user ${user}`, signal);
}

export async function setUserPassword(
  link: IpmiLink,
  user: number,
  password: string,
  signal: AbortSignal,
): Promise<void> {
  const data = Buffer.concat([
    Buffer.of(user | twentyBytePassword, passwordOperations.set),
    padded(password, limits.password),
  ]);
  const request = { netfn: app, command: commands.setPassword, data, privilege: 'administrator' } as const;
  await ask(link, request, `the password of user ${user}`, signal, { 0x80: 'it does not accept this password' });
}

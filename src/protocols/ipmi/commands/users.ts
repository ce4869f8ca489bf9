import type { IpmiLink } from '../link.ts';
import { ask, completion, refusal, send } from './ask.ts';
import { atLeast, byteAt } from './bytes.ts';

/** IPMI 2.0 sections 22.26 to 22.30: user commands. */
const app = 0x06;
const commands = { setAccess: 0x43, getAccess: 0x44, setName: 0x45, getName: 0x46, setPassword: 0x47 };
const passwordOperations = { disable: 0, enable: 1, set: 2 };
const twentyBytePassword = 0x80;
/** Change the bits, IPMI messaging and link authentication on. */
const messagingEnabled = 0xb0;

export const limits = { name: 16, password: 20, userId: 63 };
/** What every BMC keeps of a password; not all that take 20 bytes compare more. */
export const safePassword = 16;
export const privileges = { user: 2, operator: 3, administrator: 4, none: 15 };
/** How hardware answers that knows passwords of 16 bytes only. */
const wantsShorter: ReadonlySet<number> = new Set([0xc7, completion.tooLong, 0xcc]);

function padded(text: string, length: number): Buffer {
  const data = Buffer.alloc(length);
  data.write(text, 'utf8');
  return data;
}

export interface UserAccess {
  readonly messaging: boolean;
  readonly privilege: number;
  /** Undefined: older hardware does not say it. */
  readonly enabled: boolean | undefined;
  /** Users that the channel has room for. */
  readonly places: number;
}

export function decodeUserAccess(data: Buffer): UserAccess {
  atLeast(data, 4, 'Get User Access');
  const status = byteAt(data, 1) >> 6;
  return {
    messaging: (byteAt(data, 3) & 0x10) !== 0,
    privilege: byteAt(data, 3) & 0x0f,
    enabled: status === 1 ? true : status === 2 ? false : undefined,
    places: Math.min(byteAt(data, 0) & 0x3f, limits.userId),
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

const nameRequest = (user: number) =>
  ({ netfn: app, command: commands.getName, data: Buffer.of(user), privilege: 'operator' }) as const;

export async function getUserName(link: IpmiLink, user: number, signal: AbortSignal): Promise<string> {
  return decodeUserName(await ask(link, nameRequest(user), `to show the name of user ${user}`, signal));
}

/** Some hardware refuses to show the name of a place where nobody is. */
export async function findUserName(link: IpmiLink, user: number, signal: AbortSignal): Promise<string> {
  const { code, data } = await send(link, nameRequest(user), signal);
  if (code === completion.ok) return decodeUserName(data);
  if (code === completion.lacksPrivilege) throw refusal(`to show the name of user ${user}`, code);
  return '';
}

export function setUserName(link: IpmiLink, user: number, name: string, signal: AbortSignal): Promise<void> {
  const data = Buffer.concat([Buffer.of(user), padded(name, limits.name)]);
  return change(link, commands.setName, data, `the name of user ${user}`, signal);
}

export function enableUser(link: IpmiLink, user: number, signal: AbortSignal): Promise<void> {
  const data = Buffer.concat([Buffer.of(user, passwordOperations.enable), Buffer.alloc(16)]);
  return change(link, commands.setPassword, data, `to enable user ${user}`, signal);
}

export function disableUser(link: IpmiLink, user: number, signal: AbortSignal): Promise<void> {
  const data = Buffer.concat([Buffer.of(user, passwordOperations.disable), Buffer.alloc(16)]);
  return change(link, commands.setPassword, data, `to disable user ${user}`, signal);
}

export async function setUserPassword(
  link: IpmiLink,
  user: number,
  password: string,
  signal: AbortSignal,
): Promise<void> {
  const what = `the password of user ${user}`;
  const own = { 0x80: 'it does not accept this password' };
  const request = (length: number, mark: number) => {
    const data = Buffer.concat([Buffer.of(user | mark, passwordOperations.set), padded(password, length)]);
    return { netfn: app, command: commands.setPassword, data, privilege: 'administrator' } as const;
  };
  const { code } = await send(link, request(limits.password, twentyBytePassword), signal);
  if (code === completion.ok) return;
  const isShort = Buffer.byteLength(password) <= safePassword;
  if (!isShort || !wantsShorter.has(code)) throw refusal(what, code, own);
  await ask(link, request(safePassword, 0), what, signal, own);
}

import { Fault } from '../../../core/errors.ts';
import type { IpmiLink, IpmiResponse } from '../link.ts';
import { completion, refusal, send } from './ask.ts';
import { atLeast, byteAt } from './bytes.ts';
import { getUserName } from './users.ts';

/** IPMI 2.0 section 24: payloads, of which only serial over LAN is used, in its first instance. */
const app = 0x06;
const commands = { getSession: 0x3d, activate: 0x48, deactivate: 0x49, instance: 0x4b };
const serial = [1, 1] as const;
/** Table 24-2: encrypted, authenticated, alerts of the serial port are put off meanwhile. */
const encrypted = 0xc4;

/** Table 24-2 and 24-4. */
export const payloadCodes = {
  active: 0x80,
  disabled: 0x81,
  limit: 0x82,
  noEncryption: 0x83,
  onlyEncrypted: 0x84,
  alreadyInactive: 0x80,
} as const;

/** Undefined: it is in use, or as many as the BMC allows are. Else how long a packet to the BMC may be. */
export async function activateSerial(link: IpmiLink, signal: AbortSignal): Promise<number | undefined> {
  const data = Uint8Array.of(...serial, encrypted, 0, 0, 0);
  const { code, data: answer } = await send(link, { netfn: app, command: commands.activate, data }, signal);
  if (code === payloadCodes.active || code === payloadCodes.limit) return undefined;
  if (code !== completion.ok) throw noConsole(code);
  return atLeast(answer, 6, 'Activate Payload').readUInt16LE(4);
}

/** Takes it from whoever has it. */
export async function deactivateSerial(link: IpmiLink, signal: AbortSignal): Promise<void> {
  const data = Uint8Array.of(...serial, 0, 0, 0, 0);
  const { code } = await send(link, { netfn: app, command: commands.deactivate, data }, signal);
  if (code === completion.ok || code === payloadCodes.alreadyInactive) return;
  throw code === payloadCodes.disabled ? noConsole(code) : refusal('to end the console of another user', code);
}

/** The session that has the console, 0 if none; undefined if the BMC does not say. */
export async function serialSession(link: IpmiLink, signal: AbortSignal): Promise<number | undefined> {
  const request = { netfn: app, command: commands.instance, data: Uint8Array.of(...serial) };
  const { code, data } = await send(link, request, signal);
  return code === completion.ok && data.length >= 4 ? data.readUInt32LE(0) : undefined;
}

/** IPMI 2.0 22.20. */
const bySessionId = 0xff;
const at = { handle: 0, user: 3, address: 6 } as const;

/** Whose session it is, in words; undefined if the BMC does not say. */
export async function sessionUser(link: IpmiLink, id: number, signal: AbortSignal): Promise<string | undefined> {
  const data = Buffer.alloc(5, bySessionId);
  data.writeUInt32LE(id, 1);
  const { code, data: info } = await send(link, { netfn: app, command: commands.getSession, data }, signal);
  if (code !== completion.ok || byteAt(info, at.handle) === 0 || info.length <= at.user) return undefined;
  const name = await nameOf(link, byteAt(info, at.user) & 0x3f, signal);
  const address = info.subarray(at.address, at.address + 4);
  const from = address.length === 4 && address.some(Boolean) ? ` from ${address.join('.')}` : '';
  return `the user ${name}${from}`;
}

async function nameOf(link: IpmiLink, user: number, signal: AbortSignal): Promise<string> {
  try {
    const name = printable(await getUserName(link, user, signal));
    return name === '' ? `number ${user}` : `"${name}"`;
  } catch (error) {
    if (!(error instanceof Fault) || signal.aborted) throw error;
    return `number ${user}`;
  }
}

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '');

/** The Fault for a code of Activate Payload. */
function noConsole(code: IpmiResponse['code']): Fault {
  const own = {
    [completion.unknownCommand]: 'it has no serial over LAN',
    [payloadCodes.disabled]: 'serial over LAN is disabled in its settings: set solenabled=on with rspconfig',
    [payloadCodes.noEncryption]: 'it cannot encrypt it, and muster opens no console without encryption',
    [payloadCodes.onlyEncrypted]: 'it wants it encrypted, and does not recognize that it is',
    [completion.lacksPrivilege]: 'the account may not use it; give it the privilege administrator, or payload access',
  };
  return refusal('the serial console', code, own);
}

import { Fault } from '../../core/errors.ts';
import { pause } from '../../protocols/ipmi/commands/ask.ts';
import { byteAt } from '../../protocols/ipmi/commands/bytes.ts';
import { setControllerId } from '../../protocols/ipmi/commands/dcmi-controller.ts';
import { getLanParameter, lanChannel, moveLanAddress, setLanParameters } from '../../protocols/ipmi/commands/lan.ts';
import { decodeIpv4, encodeIpv4 } from '../../protocols/ipmi/commands/lan-values.ts';
import { setAlerting } from '../../protocols/ipmi/commands/pef.ts';
import {
  enableUser,
  getUserAccess,
  getUserName,
  privileges,
  setUserAccess,
  setUserName,
  setUserPassword,
} from '../../protocols/ipmi/commands/users.ts';
import type { Bmc } from './bmc.ts';
import { type AccountChange, planSettings } from './sp-settings.ts';

const addressSources = { static: 1, dhcp: 2 };
const addressPoll = 1000;

/** A name, a password, enabled, and able to log in: with the privilege it has, or as administrator if it has none. */
async function changeAccount(bmc: Bmc, channel: number, account: AccountChange, signal: AbortSignal): Promise<void> {
  const { userId, name, password } = account;
  // Some hardware refuses a name that is already the name.
  if (name !== undefined && (await getUserName(bmc.link, userId, signal)) !== name) {
    await setUserName(bmc.link, userId, name, signal);
  }
  if (password !== undefined) await setUserPassword(bmc.link, userId, password, signal);
  const access = await getUserAccess(bmc.link, channel, userId, signal);
  const usable = access.privilege >= privileges.user && access.privilege <= privileges.administrator;
  if (!usable || !access.messaging) {
    const privilege = usable ? access.privilege : privileges.administrator;
    await setUserAccess(bmc.link, channel, userId, privilege, signal);
  }
  await enableUser(bmc.link, userId, signal);
}

async function setSource(bmc: Bmc, channel: number, source: number, signal: AbortSignal): Promise<void> {
  const now = await getLanParameter(bmc.link, channel, 'source', signal);
  if (now !== undefined && (byteAt(now, 0) & 0x0f) === source) return;
  await setLanParameters(bmc.link, channel, [{ parameter: 'source', value: Buffer.of(source) }], signal);
}

/** Moves the service processor and waits until it answers at its new place. */
async function move(bmc: Bmc, channel: number, address: string, signal: AbortSignal): Promise<void> {
  const bytes = encodeIpv4(address);
  if (bytes === undefined) {
    await setSource(bmc, channel, addressSources.dhcp, signal);
    return;
  }
  const now = await getLanParameter(bmc.link, channel, 'address', signal);
  await setSource(bmc, channel, addressSources.static, signal);
  if (now !== undefined && decodeIpv4(now) === address) return;
  await moveLanAddress(bmc.link, channel, bytes, signal);
  const end = performance.now() + bmc.times.addressDeadline;
  while (!(await bmc.answersAt(address, signal))) {
    if (performance.now() > end) {
      throw new Fault('deadline', [
        `its service processor was told to use the address ${address} but does not answer there.`,
        `It may still answer at ${bmc.access.address}.`,
      ]);
    }
    await pause(addressPoll, signal);
  }
}

/** The address comes last: after it the way to the service processor may be another one. */
export async function setSettings(
  bmc: Bmc,
  settings: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const plan = planSettings(settings);
  const channel = await lanChannel(bmc.link, signal);
  if (plan.lan.length > 0) await setLanParameters(bmc.link, channel, plan.lan, signal);
  if (plan.alerting !== undefined) await setAlerting(bmc.link, channel, plan.alerting, signal);
  if (plan.hostname !== undefined) await setControllerId(bmc.link, plan.hostname, signal);
  if (plan.account !== undefined) await changeAccount(bmc, channel, plan.account, signal);
  if (plan.address !== undefined) await move(bmc, channel, plan.address, signal);
}

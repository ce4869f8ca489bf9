import { Fault } from '../../core/errors.ts';
import { lanChannel } from '../../protocols/ipmi/commands/lan.ts';
import {
  disableUser,
  enableUser,
  findUserName,
  getUserAccess,
  limits,
  privileges,
  setUserAccess,
  setUserName,
  setUserPassword,
} from '../../protocols/ipmi/commands/users.ts';
import {
  accountNamed,
  type AccountRole,
  type Accounts,
  type BmcAccount,
  type NewAccount,
  noRoom,
  refuseTaken,
  verifyAccount,
} from '../accounts.ts';
import type { IpmiLink } from '../../protocols/ipmi/link.ts';
import type { Bmc } from './bmc.ts';

const levels: Readonly<Record<AccountRole, number>> = {
  administrator: privileges.administrator,
  operator: privileges.operator,
  readonly: privileges.user,
};

/** IPMI 2.0 table 22-28; what hardware shows of places that have none. */
const roles: Readonly<Record<number, string>> = {
  0: 'none',
  1: 'callback',
  [privileges.user]: 'readonly',
  [privileges.operator]: 'operator',
  [privileges.administrator]: 'administrator',
  5: 'oem',
  [privileges.none]: 'none',
};

/** User 1 is the one without a name. */
const firstUser = 2;

interface User extends BmcAccount {
  readonly number: number;
}

/** Users of the channel that is used to reach the BMC: IPMI gives them rights channel by channel. */
/** All places, those where nobody is with an empty name. */
export async function ipmiUsers(link: IpmiLink, channel: number, signal: AbortSignal): Promise<readonly User[]> {
  const found: User[] = [];
  const { places } = await getUserAccess(link, channel, 1, signal);
  for (let number = 1; number <= places; number++) {
    const { privilege, messaging, enabled } = await getUserAccess(link, channel, number, signal);
    const name = (await findUserName(link, number, signal)).trim();
    found.push({
      number,
      id: String(number),
      name,
      role: messaging ? (roles[privilege] ?? `level ${privilege}`) : 'none',
      enabled,
      locked: false,
      mustChangePassword: false,
    });
  }
  return found;
}

export function ipmiAccounts(bmc: Bmc, letsIn: Accounts['letsIn'], linkBy: (password: string) => IpmiLink): Accounts {
  const { link, access } = bmc;

  const users = (channel: number, signal: AbortSignal) => ipmiUsers(link, channel, signal);

  const list = async (signal: AbortSignal): Promise<readonly User[]> =>
    (await users(await lanChannel(link, signal), signal)).filter(({ name }) => name !== '');

  const accounts: Accounts = {
    own: access.username,
    list,
    letsIn,
    async add(account, signal) {
      checkName(account.name);
      checkPassword(account.password);
      const channel = await lanChannel(link, signal);
      const known = await users(channel, signal);
      refuseTaken(known, account.name);
      const free = known.find(({ name, number }) => name === '' && number >= firstUser);
      if (!free) throw noRoom(known.length);
      await make(bmc, channel, free.number, account, signal);
      await verifyAccount(accounts, account.name, { ...account, enabled: true }, signal);
    },
    async change(name, { password, role, enabled }, signal) {
      if (password !== undefined) checkPassword(password);
      const channel = await lanChannel(link, signal);
      const { number, role: before } = accountNamed(await users(channel, signal), name);
      // What makes it weaker goes before what makes it stronger.
      if (enabled === false) await disableUser(link, number, signal);
      if (password !== undefined) await setUserPassword(link, number, password, signal);
      if (role !== undefined && role !== before) await setUserAccess(link, channel, number, levels[role], signal);
      if (enabled === true) await enableUser(link, number, signal);
      await verifyAccount(accounts, name, { password, role, enabled }, signal);
    },
    async remove(name, signal) {
      const channel = await lanChannel(link, signal);
      const { number } = accountNamed(await users(channel, signal), name);
      await clear(bmc, channel, number, signal);
      if ((await list(signal)).some((account) => account.name === name))
        throw new Fault(
          'invalid',
          `its BMC does not give up the name "${name}"; the account is disabled and has no rights over the network.`,
        );
    },
    async passwordLength(signal) {
      // Asked so that nothing is sent to a BMC that is silent, or that does not show the account.
      await numberOf(link, access.username, signal);
      return { least: 1, most: limits.password };
    },
    async setOwnPassword(password, signal, by) {
      const used = by === undefined ? link : linkBy(by);
      const number = await numberOf(used, access.username, signal);
      await setUserPassword(used, number, password ?? access.password, signal);
    },
  };
  return accounts;
}

async function numberOf(link: IpmiLink, wanted: string, signal: AbortSignal): Promise<number> {
  const { places } = await getUserAccess(link, await lanChannel(link, signal), 1, signal);
  for (let number = 1; number <= places; number++)
    if ((await findUserName(link, number, signal)) === wanted) return number;
  throw new Fault('invalid', `its BMC does not show the account "${wanted}", by which muster reaches it.`);
}

/** An account that could not be made whole is not left for somebody to use. */
export async function make(
  bmc: Bmc,
  channel: number,
  number: number,
  { name, password, role }: NewAccount,
  signal: AbortSignal,
): Promise<void> {
  const { link } = bmc;
  await setUserName(link, number, name, signal);
  try {
    await setUserPassword(link, number, password, signal);
    await setUserAccess(link, channel, number, levels[role], signal);
    await enableUser(link, number, signal);
  } catch (error) {
    if (!(error instanceof Fault) || signal.aborted) throw error;
    try {
      await clear(bmc, channel, number, signal);
    } catch (left) {
      if (!(left instanceof Fault)) throw left;
      throw new Fault(error.kind, [
        ...error.sentences,
        `The account "${name}", which is not complete, could not be removed: ${left.message}`,
      ]);
    }
    throw error;
  }
}

/** Nobody gets in by the place any more, even if the hardware keeps the name. */
async function clear({ link }: Bmc, channel: number, number: number, signal: AbortSignal): Promise<void> {
  await disableUser(link, number, signal);
  await setUserAccess(link, channel, number, privileges.none, signal);
  await setUserName(link, number, '', signal);
}

const printable = /^[\x21-\x7e]+$/;

function checkName(name: string): void {
  if (printable.test(name) && name.length <= limits.name) return;
  throw new Fault(
    'invalid',
    `"${name}" is not a user name for IPMI: 1 to ${limits.name} ASCII characters without blanks.`,
  );
}

function checkPassword(password: string): void {
  const length = Buffer.byteLength(password);
  if (length >= 1 && length <= limits.password) return;
  throw new Fault('invalid', `a password for IPMI has 1 to ${limits.password} bytes, and this one has ${length}.`);
}

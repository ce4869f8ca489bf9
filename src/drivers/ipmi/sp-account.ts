import { Fault } from '../../core/errors.ts';
import {
  enableUser,
  findUserName,
  getUserAccess,
  privileges,
  setUserAccess,
  setUserName,
  setUserPassword,
} from '../../protocols/ipmi/commands/users.ts';
import { ownChanged, type AccountRole, refuseMoveOfOwn } from '../accounts.ts';
import { sayingWhatIsDone } from '../bmc/kept-settings.ts';
import { make } from './accounts.ts';
import type { Bmc } from './bmc.ts';
import type { AccountChange } from './sp-settings.ts';

/** An account as it is before the change. */
export interface AccountBefore {
  /** Empty where nobody is. */
  readonly name: string;
}

/** Asked before anything of a call is sent: a Fault says why the account cannot be changed like this. */
export async function checkAccount(
  { link, access }: Bmc,
  channel: number,
  { userId, name, password }: AccountChange,
  moves: boolean,
  signal: AbortSignal,
): Promise<AccountBefore> {
  const { places } = await getUserAccess(link, channel, 1, signal);
  if (userId > places)
    throw new Fault('invalid', `its BMC has room for the userids 1 to ${places}; there is no ${userId}.`);
  const before = await findUserName(link, userId, signal);
  // Half of an account would be an administrator without a password, or one without a name.
  if (before.trim() === '' && (name === undefined || password === undefined))
    throw new Fault('invalid', `its BMC has nobody at userid ${userId} yet: give username and password, both.`);
  if (name !== undefined && name !== before)
    for (let other = 1; other <= places; other++)
      if (other !== userId && (await findUserName(link, other, signal)) === name)
        throw new Fault('invalid', `its BMC has an account "${name}" already, with the userid ${other}.`);
  if (moves && before === access.username) refuseMoveOfOwn();
  return { name: before };
}

/** Levels of the channel that are kept for a new account; any other becomes that of an administrator. */
const roles: Readonly<Record<number, AccountRole>> = {
  [privileges.user]: 'readonly',
  [privileges.operator]: 'operator',
};

/**
 * A name, a password, enabled, and able to log in: with the privilege it has, or as administrator if it has none. Resolves with what the
 * user has to do now, if anything.
 */
export async function changeAccount(
  bmc: Bmc,
  channel: number,
  { userId, name, password }: AccountChange,
  before: AccountBefore,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { link, access } = bmc;
  const { privilege, messaging } = await getUserAccess(link, channel, userId, signal);
  const role = roles[privilege] ?? 'administrator';
  if (before.name.trim() === '') {
    await make(bmc, channel, userId, { name: name!, password: password!, role }, signal);
    return undefined;
  }
  const done: string[] = [];
  // Some hardware refuses a name that is already the name.
  const renames = name !== undefined && name !== before.name;
  if (renames) await setUserName(link, userId, name, signal);
  if (password !== undefined) {
    try {
      await setUserPassword(link, userId, password, signal);
    } catch (error) {
      if (!renames || !(error instanceof Fault) || signal.aborted) throw error;
      throw await renamedBack(error);
    }
    done.push('password');
  }
  if (renames) done.push('username');
  await sayingWhatIsDone(done, async () => {
    const usable = privilege >= privileges.user && privilege <= privileges.administrator;
    if (!usable || !messaging)
      await setUserAccess(link, channel, userId, usable ? privilege : privileges.administrator, signal);
    await enableUser(link, userId, signal);
  });
  if (before.name !== access.username) return undefined;
  return ownChanged({ name: renames, password: password !== undefined && password !== access.password });

  /** All of an account or nothing of it: its name as it was, or what is left to do. */
  async function renamedBack(error: Fault): Promise<Fault> {
    try {
      await setUserName(link, userId, before.name, signal);
      return error;
    } catch (left) {
      if (!(left instanceof Fault)) throw left;
      const renamed = `The account "${before.name}" is called "${name}" now and could not be renamed back: ${left.message}`;
      return new Fault(error.kind, [...error.sentences, renamed]);
    }
  }
}

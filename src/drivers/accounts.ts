import { Fault } from '../core/errors.ts';

/** What an account of a BMC may do, by the words that muster has for it; a BMC may have others, which are shown as it calls them. */
export const accountRoles = ['administrator', 'operator', 'readonly'] as const;
export type AccountRole = (typeof accountRoles)[number];

export interface BmcAccount {
  /** What the BMC calls its place. */
  readonly id: string;
  readonly name: string;
  /** One of `accountRoles`, `none`, or the BMC's own word. */
  readonly role: string;
  /** Undefined: the BMC does not say it. */
  readonly enabled: boolean | undefined;
  /** After too many wrong passwords. */
  readonly locked: boolean;
  readonly mustChangePassword: boolean;
}

export interface NewAccount {
  readonly name: string;
  readonly password: string;
  readonly role: AccountRole;
}

/** Members that are absent stay as they are. */
export interface AccountChange {
  readonly password?: string | undefined;
  readonly role?: AccountRole | undefined;
  readonly enabled?: boolean | undefined;
}

/** How long a password may be. */
export interface PasswordLength {
  readonly least: number;
  readonly most: number;
}

/** The accounts of a BMC. What was changed is read back, and a Fault says what the BMC did not keep. */
export interface Accounts {
  /** The name of the account that muster uses itself. */
  readonly own: string;
  /** Those that have a name, in the order of the BMC. */
  list(signal: AbortSignal): Promise<readonly BmcAccount[]>;
  /** Makes one and enables it. A name that is taken is a Fault. What fails leaves no account behind that could be used. */
  add(account: NewAccount, signal: AbortSignal): Promise<void>;
  /** Of an account that exists. */
  change(name: string, change: AccountChange, signal: AbortSignal): Promise<void>;
  /** Resolves when it is there no longer. */
  remove(name: string, signal: AbortSignal): Promise<void>;
  passwordLength(signal: AbortSignal): Promise<PasswordLength>;
  /**
   * Has the BMC give the own account another password, and asks nothing afterwards: what it has kept, `letsIn` shows. Undefined: the one
   * that muster knows, again. `by`: logs in with this one for that, instead of the one that muster knows.
   */
  setOwnPassword(password: string | undefined, signal: AbortSignal, by?: string): Promise<void>;
  /** Whether it lets the account in, by a new login; a Fault if that cannot be known. Undefined: with the password that muster knows. */
  letsIn(name: string, password: string | undefined, signal: AbortSignal): Promise<boolean>;
}

/** The account of this name; a Fault names those that there are. */
export function accountNamed<T extends Pick<BmcAccount, 'name'>>(accounts: readonly T[], name: string): T {
  const [found, ...others] = accounts.filter((account) => account.name === name);
  if (others.length > 0) throw new Fault('invalid', `its BMC has ${others.length + 1} accounts named "${name}".`);
  if (found) return found;
  const names = accounts.flatMap((account) => account.name || []).slice(0, 32);
  throw new Fault('invalid', `its BMC has no account "${name}"; it has ${names.join(', ') || 'none'}.`);
}

export function refuseTaken(accounts: readonly Pick<BmcAccount, 'name'>[], name: string): void {
  if (accounts.some((account) => account.name === name))
    throw new Fault(
      'invalid',
      `its BMC has an account "${name}" already; PUT /nodes/NODE/sp/accounts/${name} changes it.`,
    );
}

export const noRoom = (count: number): Fault =>
  new Fault('invalid', `its BMC has no room for another account: all ${count} places are taken. Remove one first.`);

/** What a BMC has not kept of what was asked for. */
export function notKept(found: BmcAccount, { role, enabled }: AccountChange): string | undefined {
  if (role !== undefined && found.role !== role)
    return `its BMC accepted the role ${role} for "${found.name}" but did not keep it: it is ${found.role}.`;
  if (enabled !== undefined && found.enabled === !enabled)
    return `its BMC was asked to ${enabled ? 'enable' : 'disable'} "${found.name}", but it is ${found.enabled ? 'enabled' : 'disabled'}.`;
  return undefined;
}

/** Sees that the account is as it was asked for, and that its password is right. */
export async function verifyAccount(
  accounts: Pick<Accounts, 'list' | 'letsIn'>,
  name: string,
  change: AccountChange,
  signal: AbortSignal,
): Promise<void> {
  const found = accountNamed(await accounts.list(signal), name);
  const problem = notKept(found, change);
  if (problem !== undefined) throw new Fault('invalid', problem);
  if (change.password === undefined || found.enabled === false || found.locked) return;
  if (await accounts.letsIn(name, change.password, signal)) return;
  throw new Fault(
    'invalid',
    `its BMC accepted the password of "${name}" but does not let it in with it. Set another password, with at most 16 letters and digits.`,
  );
}

/** What has to be done when the account that muster uses has been changed: from now on the BMC refuses what the node's attributes say. */
export function ownChanged(changed: { readonly name: boolean; readonly password: boolean }): string | undefined {
  const attributes = [...(changed.name ? ['bmcusername'] : []), ...(changed.password ? ['bmcpassword'] : [])];
  if (attributes.length === 0) return undefined;
  return `This is the account used to reach it: set ${attributes.join(' and ')} of the node to the new value.`;
}

/** The account that is used to reach a BMC is not changed in the call that moves the BMC: whether it has moved could not be seen. */
export function refuseMoveOfOwn(): never {
  throw new Fault(
    'invalid',
    'this is the account used to reach it: set ip in one call and the account in another. Nothing was changed.',
  );
}

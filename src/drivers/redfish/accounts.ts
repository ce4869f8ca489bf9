import { Fault } from '../../core/errors.ts';
import { RedfishClient, Refusal, type Resource } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { at, flagAt, linkAt, numberAt, textAt, textsAt } from '../../protocols/redfish/json.ts';
import { rootMember } from '../../protocols/redfish/node-resources.ts';
import {
  type AccountChange,
  accountNamed,
  type AccountRole,
  type Accounts,
  type BmcAccount,
  type NewAccount,
  noRoom,
  refuseTaken,
  verifyAccount,
} from '../accounts.ts';
import type { Target } from './target.ts';

/** DSP0266 "Assigned privileges": what the standard roles are called. */
const roleIds: Readonly<Record<AccountRole, string>> = {
  administrator: 'Administrator',
  operator: 'Operator',
  readonly: 'ReadOnly',
};
const roleWords = new Map([
  ...Object.entries(roleIds).map(([word, id]) => [id.toLowerCase(), word] as const),
  ...['none', 'noaccess', 'no access', ''].map((id) => [id, 'none'] as const),
]);

/** What services have that say nothing: passwords that IPMI of the same BMC takes too. */
const usualLength = { least: 8, most: 16 };
/** Longer ones are not sent, whatever a service says. */
const longest = 64;
/** Places where nobody is that are tried for a new account. */
const mostTried = 3;

export interface Found extends BmcAccount {
  readonly resource: Resource;
}

export interface Place {
  readonly service: Resource;
  readonly collection: string;
  /** Also places where nobody is, whose name is empty. */
  readonly all: readonly Found[];
}

export async function placesOf(service: Target['service'], signal: AbortSignal): Promise<Place> {
  const accountService = await rootMember(service, 'AccountService', signal);
  const collection = linkAt(accountService?.body, 'Accounts');
  if (!accountService || collection === undefined) throw new Fault('invalid', 'its BMC does not show its accounts.');
  const all = await memberResources(service, collection, signal);
  return { service: accountService, collection, all: all.map(described) };
}

/** Also places where nobody is, whose name is empty. */
export const redfishAllAccounts = async (target: Target, signal: AbortSignal): Promise<readonly BmcAccount[]> =>
  (await placesOf(target.service, signal)).all;

export function redfishAccounts(target: Target): Accounts {
  const { service, access } = target;

  const places = (signal: AbortSignal, used = service): Promise<Place> => placesOf(used, signal);
  const named = async (signal: AbortSignal): Promise<readonly Found[]> =>
    (await places(signal)).all.filter(({ name }) => name !== '');

  const accounts: Accounts = {
    own: access.username,
    list: named,
    letsIn: (name, password = access.password, signal) => logsIn(target, name, password, signal),
    async add(account, signal) {
      const found = await places(signal);
      refuseTaken(found.all, account.name);
      checkLength(found.service, account.password);
      await make(target, found, account, signal);
      await verifyAccount(accounts, account.name, { ...account, enabled: true }, signal);
    },
    async change(name, change, signal) {
      const found = await places(signal);
      const { resource } = accountNamed(found.all, name);
      if (change.password !== undefined) checkLength(found.service, change.password);
      await service.patch(resource, membersOf(resource, change), signal);
      await verifyAccount(accounts, name, change, signal);
    },
    async remove(name, signal) {
      const { resource } = accountNamed(await named(signal), name);
      await clear(target, resource, signal);
      if ((await named(signal)).some((account) => account.name === name))
        throw new Fault('invalid', `its BMC accepted that "${name}" is removed, but still has the account.`);
    },
    passwordLength: async (signal) => lengthOf((await places(signal)).service),
    async setOwnPassword(password = access.password, signal, by) {
      const used = by === undefined ? service : target.client.service({ ...service.endpoint, password: by });
      const { resource } = accountNamed((await places(signal, used)).all, access.username);
      await used.patch(resource, { Password: password }, signal);
    },
  };
  return accounts;
}

function described(resource: Resource): Found {
  const { body, path } = resource;
  const role = textAt(body, 'RoleId') ?? '';
  return {
    resource,
    id: textAt(body, 'Id') ?? path,
    name: textAt(body, 'UserName') ?? '',
    role: roleWords.get(role.toLowerCase()) ?? role,
    enabled: flagAt(body, 'Enabled') ?? true,
    locked: flagAt(body, 'Locked') === true,
    mustChangePassword: flagAt(body, 'PasswordChangeRequired') === true,
  };
}

/** The members of a change as a service takes them, which may have its own words for roles. */
function membersOf({ body }: Resource, { password, role, enabled }: AccountChange): Record<string, unknown> {
  return {
    ...(password === undefined ? {} : { Password: password }),
    ...(role === undefined ? {} : { RoleId: roleId(body, role) }),
    ...(enabled === undefined ? {} : { Enabled: enabled }),
  };
}

function roleId(body: unknown, role: AccountRole): string {
  const listed = textsAt(body, 'RoleId@Redfish.AllowableValues');
  const wanted = roleIds[role];
  const same = listed.find((id) => id.toLowerCase() === wanted.toLowerCase());
  if (listed.length === 0 || same !== undefined) return same ?? wanted;
  throw new Fault('invalid', `its BMC has no role ${role}; it has ${listed.slice(0, 20).join(', ')}.`);
}

/** Where all places are there from the beginning, one where nobody is gets the account; else the collection does. */
export async function make(
  target: Target,
  { collection, all }: Place,
  account: NewAccount,
  signal: AbortSignal,
): Promise<void> {
  const { service } = target;
  const members = (body: unknown) => ({
    UserName: account.name,
    Password: account.password,
    RoleId: roleId(body, account.role),
    Enabled: true,
  });
  const empty = all.filter(({ name }) => name === '');
  if (empty.length === 0) {
    const [known] = all;
    // iLO has a description of the account under this name, which it demands.
    const loginName = at(known?.resource.body, 'Oem', 'Hpe', 'LoginName') !== undefined;
    const more = loginName ? { Oem: { Hpe: { LoginName: account.name } } } : {};
    try {
      await service.act(collection, { ...members(known?.resource.body), ...more }, signal);
    } catch (error) {
      if (error instanceof Refusal && error.status === 405) throw noRoom(all.length);
      throw error;
    }
    return;
  }
  // The first place is kept for the service itself by some.
  const [first, ...others] = empty;
  for (const [tried, { resource }] of [...others, first!].entries()) {
    try {
      await service.patch(resource, members(resource.body), signal);
      return;
    } catch (error) {
      if (!(error instanceof Refusal && error.ofRequest)) throw error;
      // It may be the name, the password or the role that is refused: what was kept of them must not stay.
      const left = await service.get(resource.path, signal);
      if ((textAt(left.body, 'UserName') ?? '') !== '') {
        await clear(target, left, signal);
        throw error;
      }
      if (tried + 1 >= Math.min(mostTried, empty.length)) throw error;
    }
  }
}

/** Where places stay, the one of the account becomes one where nobody is. */
async function clear({ service }: Target, resource: Resource, signal: AbortSignal): Promise<void> {
  try {
    await service.remove(resource, signal);
    return;
  } catch (error) {
    if (!(error instanceof Refusal && (error.status === 405 || error.status === 501))) throw error;
  }
  // Before the name is gone, so that a service which keeps it keeps a harmless account.
  await service.patch(resource, { Enabled: false }, signal);
  await service.patch(await service.get(resource.path, signal), { UserName: '' }, signal);
}

function lengthOf({ body }: Resource): { least: number; most: number } {
  const least = numberAt(body, 'MinPasswordLength') ?? usualLength.least;
  const most = numberAt(body, 'MaxPasswordLength') ?? usualLength.most;
  // Zero is what services say that have no bound.
  return {
    least: Math.max(1, Math.floor(least)),
    most: most >= 1 ? Math.min(longest, Math.floor(most)) : usualLength.most,
  };
}

/** Only where the service says it. */
export function checkLength({ body }: Resource, password: string): void {
  const least = numberAt(body, 'MinPasswordLength') ?? 0;
  const most = numberAt(body, 'MaxPasswordLength') || Number.POSITIVE_INFINITY;
  if (password.length >= least && password.length <= most) return;
  const bounds = most === Number.POSITIVE_INFINITY ? `at least ${least}` : `${least} to ${most}`;
  throw new Fault('invalid', `its BMC wants a password of ${bounds} characters, and this one has ${password.length}.`);
}

/** What a service says to an account that it has let in, and that may not see this. */
const letIn = ['PasswordChangeRequired', 'InsufficientPrivilege'];

/** By a session of its own: one that is open says nothing of the password. */
async function logsIn(
  { service, trust }: Target,
  username: string,
  password: string,
  signal: AbortSignal,
): Promise<boolean> {
  const client = new RedfishClient({ trust });
  try {
    const login = client.service({ ...service.endpoint, username, password });
    const root = await login.root(signal);
    const path = linkAt(root.body, 'AccountService') ?? linkAt(root.body, 'Managers') ?? linkAt(root.body, 'Systems');
    if (path === undefined)
      throw new Fault('garbled', 'its Redfish service shows nothing by which a login could be tried.');
    await login.get(path, signal);
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.status === 401) return false;
    if (error.status === 403 && error.keys.some((key) => letIn.includes(key))) return true;
    throw error;
  } finally {
    await client.close();
  }
}

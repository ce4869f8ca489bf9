import { accountWays } from '../account-ways.ts';
import type { Account, Bmc } from '../bmc.ts';
import {
  collection,
  done,
  failure,
  type Json,
  link,
  notInList,
  type Reply,
  root,
  unknownMember,
  unknownMembers,
  textOf,
} from '../resource.ts';
import { forgetSessions } from './sessions.ts';

const service = `${root}/AccountService`;
const accounts = `${service}/Accounts`;
const roles = ['Administrator', 'Operator', 'ReadOnly'];

const waysOf = ({ kind }: Bmc) => accountWays[kind];

/** Where the name is the id, as with OpenBMC, an account cannot be found by its number. */
const pathOf = (bmc: Bmc, { id, username }: Account): string =>
  `${accounts}/${waysOf(bmc).pathBy === 'name' ? username : `${bmc.tag}${id}`}`;

export function addAccounts(bmc: Bmc): void {
  const { length, places = 0 } = waysOf(bmc);
  for (let place = 1; place <= places; place++) {
    if (bmc.accounts.some(({ id }) => id === String(place))) continue;
    bmc.accounts.push({ id: String(place), username: '', password: '', role: 'None', enabled: false });
  }
  // The first place is not for users.
  if (places > 0) bmc.accounts.unshift({ id: '0', username: '', password: '', role: 'None', enabled: false });
  bmc.resources.set(service, {
    get: () => ({
      '@odata.id': service,
      '@odata.type': '#AccountService.v1_10_0.AccountService',
      Id: 'AccountService',
      Name: 'Account Service',
      ...(length ? { MinPasswordLength: length.least, MaxPasswordLength: length.most } : {}),
      Accounts: link(accounts),
    }),
  });
  bmc.resources.set(
    accounts,
    collection(accounts, 'ManagerAccount', () => bmc.accounts.map((account) => pathOf(bmc, account)), {
      ...(places > 0 ? {} : { post: (body: Json) => make(bmc, body) }),
      privilege: 'ConfigureUsers',
    }),
  );
  for (const account of bmc.accounts) addAccount(bmc, account);
}

function addAccount(bmc: Bmc, account: Account): void {
  const { places, loginName, demandsETag } = waysOf(bmc);
  const path = pathOf(bmc, account);
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#ManagerAccount.v1_9_0.ManagerAccount',
      Id: path.slice(accounts.length + 1),
      Name: 'User Account',
      UserName: bmc.weak && account.role === 'ReadOnly' ? '' : account.username,
      Password: null,
      RoleId: account.role,
      Enabled: account.enabled,
      Locked: false,
      ...(loginName ? { Oem: { Hpe: { LoginName: account.username } } } : {}),
    }),
    patch: (body) => change(bmc, account, body),
    ...(places === undefined ? { delete: () => remove(bmc, account, path) } : {}),
    privilege: 'ConfigureUsers',
    ...(demandsETag && bmc.newStyle ? { demandsETag } : {}),
  });
}

const wrongPassword = (bmc: Bmc, given: unknown): Reply | undefined => {
  const { least, most } = waysOf(bmc).length ?? { least: 1, most: 20 };
  const { length } = textOf(given);
  if (bmc.refusesPasswords)
    return failure(400, 'PropertyValueError', 'The password does not meet the rules for passwords of this service.');
  if (length >= least && length <= most) return undefined;
  return failure(400, 'PropertyValueFormatError', `The password must have ${least} to ${most} characters.`);
};

function make(bmc: Bmc, body: Json): Reply {
  const { loginName } = waysOf(bmc);
  const [unknown] = unknownMembers(body, ['UserName', 'Password', 'RoleId', 'Enabled', ...(loginName ? ['Oem'] : [])]);
  if (unknown !== undefined) return unknownMember(unknown);
  const { UserName, Password, RoleId, Enabled = true } = body;
  const missing = [
    !UserName && 'UserName',
    !Password && 'Password',
    !RoleId && 'RoleId',
    loginName && !body.Oem && 'Oem',
  ];
  const lacks = missing.find(Boolean);
  if (lacks) return failure(400, 'PropertyMissing', `The property ${lacks} is a required property.`);
  if (!roles.includes(textOf(RoleId))) return notInList(RoleId, 'RoleId');
  const wrong = wrongPassword(bmc, Password);
  if (wrong) return wrong;
  if (bmc.accounts.some(({ username }) => username === UserName))
    return failure(400, 'ResourceAlreadyExists', 'The requested resource already exists.');
  const account: Account = {
    id: String(Math.max(...bmc.accounts.map(({ id }) => Number(id))) + 1),
    username: textOf(UserName),
    password: kept(bmc, textOf(Password)),
    role: RoleId as Account['role'],
    enabled: Boolean(Enabled),
  };
  bmc.accounts.push(account);
  addAccount(bmc, account);
  const path = pathOf(bmc, account);
  return { status: 201, body: bmc.resources.get(path)!.get!(), headers: { Location: path } };
}

/** What the service keeps of a password; it cuts one. */
function kept(bmc: Bmc, password: string): string {
  const cut = password.slice(0, bmc.passwordKept);
  bmc.passwordKept = undefined;
  return cut;
}

function change(bmc: Bmc, account: Account, body: Json): Reply {
  const [unknown] = unknownMembers(body, ['UserName', 'Password', 'RoleId', 'Enabled']);
  if (unknown !== undefined) return unknownMember(unknown);
  const { UserName, Password, RoleId, Enabled } = body;
  if (account.id === '0') return failure(400, 'ActionNotSupported', 'The account of this place cannot be changed.');
  if (RoleId !== undefined && !roles.includes(textOf(RoleId))) return notInList(RoleId, 'RoleId');
  const wrong = Password === undefined ? undefined : wrongPassword(bmc, Password);
  if (wrong) return wrong;
  if (UserName !== undefined) account.username = textOf(UserName);
  if (Password !== undefined) account.password = kept(bmc, textOf(Password));
  if (RoleId !== undefined) account.role = RoleId as Account['role'];
  if (Enabled !== undefined) account.enabled = Boolean(Enabled);
  // Behind the reply, which is still sent under the session.
  if (Password !== undefined && waysOf(bmc).endsSessions) setImmediate(() => forgetSessions(bmc));
  return done;
}

function remove(bmc: Bmc, account: Account, path: string): Reply {
  bmc.accounts.splice(bmc.accounts.indexOf(account), 1);
  bmc.resources.delete(path);
  return done;
}

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

const service = `${root}/AccountService`;
const roles = ['Administrator', 'Operator', 'ReadOnly'];

export function addAccounts(bmc: Bmc): void {
  const { resources } = bmc;
  const accounts = `${service}/Accounts`;
  // Where the name is the id, as with OpenBMC, an account cannot be found by its number.
  const pathOf = ({ id, username }: Account) => `${accounts}/${bmc.kind === 'openbmc' ? username : `${bmc.tag}${id}`}`;
  resources.set(service, {
    get: () => ({
      '@odata.id': service,
      '@odata.type': '#AccountService.v1_10_0.AccountService',
      Id: 'AccountService',
      Name: 'Account Service',
      MinPasswordLength: 4,
      MaxPasswordLength: 20,
      Accounts: link(accounts),
    }),
  });
  resources.set(
    accounts,
    collection(accounts, 'ManagerAccount', () => bmc.accounts.map(pathOf)),
  );
  for (const account of bmc.accounts) {
    const path = pathOf(account);
    resources.set(path, {
      get: () => ({
        '@odata.id': path,
        '@odata.type': '#ManagerAccount.v1_9_0.ManagerAccount',
        Id: path.slice(accounts.length + 1),
        Name: 'User Account',
        UserName: account.username,
        Password: null,
        RoleId: account.role,
        Enabled: account.enabled,
        Locked: false,
      }),
      patch: (body) => change(account, body),
      privilege: 'ConfigureUsers',
    });
  }
}

function change(account: Account, body: Json): Reply {
  const [unknown] = unknownMembers(body, ['UserName', 'Password', 'RoleId', 'Enabled']);
  if (unknown !== undefined) return unknownMember(unknown);
  const { UserName, Password, RoleId, Enabled } = body;
  if (RoleId !== undefined && !roles.includes(textOf(RoleId))) return notInList(RoleId, 'RoleId');
  if (Password !== undefined && (textOf(Password).length < 4 || textOf(Password).length > 20)) {
    return failure(400, 'PropertyValueFormatError', 'The password must have 4 to 20 characters.');
  }
  if (UserName !== undefined) account.username = textOf(UserName);
  if (Password !== undefined) account.password = textOf(Password);
  if (RoleId !== undefined) account.role = RoleId as Account['role'];
  if (Enabled !== undefined) account.enabled = Boolean(Enabled);
  return done;
}

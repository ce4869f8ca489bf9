import { Fault } from '../../core/errors.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { linkAt, textAt } from '../../protocols/redfish/json.ts';
import { rootMember } from '../../protocols/redfish/node-resources.ts';
import { type Line, message } from './labels.ts';
import type { SpWriter } from './sp-attributes.ts';

/** Changes the account with the userid, else with the username. A new username with a password makes a new account. */
export const setAccount: SpWriter = async (target, { userid, username, password }, signal) => {
  const { service, access } = target;
  if (userid === undefined && username === undefined) {
    throw new Fault(
      'invalid',
      'give userid or username with the password; the account that is used to reach it has the username ' +
        `"${access.username}".`,
    );
  }
  const accountService = await rootMember(service, 'AccountService', signal);
  const collection = linkAt(accountService?.body, 'Accounts');
  if (collection === undefined) throw new Fault('invalid', 'its service processor does not show its accounts.');
  const accounts = await memberResources(service, collection, signal);
  const [member, wanted] = userid === undefined ? ['UserName', username] : ['Id', userid];
  const account = accounts.find(({ body }) => textAt(body, member) === wanted);
  if (account) {
    const change = {
      ...(userid !== undefined && username !== undefined ? { UserName: username } : {}),
      ...(password === undefined ? {} : { Password: password, Enabled: true }),
    };
    if (Object.keys(change).length === 0) return {};
    await service.patch(account, change, signal);
    return textAt(account.body, 'UserName') === access.username ? { notes: ownChanged(Object.keys(change)) } : {};
  }
  if (userid !== undefined || username === undefined || password === undefined) {
    const which = userid === undefined ? `user "${username}"` : `userid ${userid}`;
    const ids = accounts.flatMap(({ body }) => textAt(body, 'Id') ?? []);
    throw new Fault('invalid', `its service processor has no account for ${which}; its userids are ${ids.join(', ')}.`);
  }
  const created = { UserName: username, Password: password, RoleId: 'Administrator', Enabled: true };
  await service.act(collection, created, signal);
  return {};
};

/** From now on the service processor refuses what the node's attributes say. */
function ownChanged(members: readonly string[]): readonly Line[] {
  const attributes = [
    ...(members.includes('UserName') ? ['bmcusername'] : []),
    ...(members.includes('Password') ? ['bmcpassword'] : []),
  ];
  return [
    [message, `This is the account used to reach it: set ${attributes.join(' and ')} of the node to the new value.`],
  ];
}

import { Fault } from '../../core/errors.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { linkAt, textAt } from '../../protocols/redfish/json.ts';
import { rootMember } from '../../protocols/redfish/places.ts';
import type { SpWriter } from './sp-attributes.ts';

/**
 * Changes an account: the one with the given userid, else the one with the given username, else, for a password alone, our
 * own. A username that does not exist yet gets a new account when a password comes with it.
 */
export const setAccount: SpWriter = async (target, { userid, username, password }, signal) => {
  const { service, access } = target;
  const accountService = await rootMember(service, 'AccountService', signal);
  const collection = linkAt(accountService?.body, 'Accounts');
  if (collection === undefined) throw new Fault('invalid', 'its service processor does not show its accounts.');
  const accounts = await memberResources(service, collection, signal);
  const named = (name: string | undefined): Resource | undefined =>
    accounts.find(({ body }) => textAt(body, 'UserName') === name);
  const account =
    userid === undefined
      ? named(username ?? access.username)
      : accounts.find(({ body }) => textAt(body, 'Id') === userid);
  if (account) {
    const change = {
      ...(userid !== undefined && username !== undefined ? { UserName: username } : {}),
      ...(password === undefined ? {} : { Password: password, Enabled: true }),
    };
    if (Object.keys(change).length > 0) await service.patch(account, change, signal);
    return;
  }
  if (userid !== undefined || username === undefined || password === undefined) {
    const which = userid === undefined ? `user "${username ?? access.username}"` : `userid ${userid}`;
    const ids = accounts.flatMap(({ body }) => textAt(body, 'Id') ?? []);
    throw new Fault('invalid', `its service processor has no account for ${which}; its userids are ${ids.join(', ')}.`);
  }
  const created = { UserName: username, Password: password, RoleId: 'Administrator', Enabled: true };
  await service.act(collection, created, signal);
};

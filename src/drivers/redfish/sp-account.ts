import { Fault } from '../../core/errors.ts';
import { ownChanged, refuseMoveOfOwn, verifyAccount } from '../accounts.ts';
import { checkLength, type Found, make, type Place, placesOf, redfishAccounts } from './accounts.ts';
import { message } from './labels.ts';
import type { SpCheck, SpWriter } from './sp-attributes.ts';
import type { Target } from './target.ts';

type Settings = Readonly<Record<string, string>>;

const controls = /[\p{Cc}\p{Zl}\p{Zp}]/u;
/** Userids that a sentence names. */
const mostNamed = 20;

/** What is wrong with the values themselves. */
function checkValues({ userid, username, password }: Settings, { access }: Target): void {
  if (userid === undefined && username === undefined) {
    throw new Fault(
      'invalid',
      `give userid or username with the password; the account that is used to reach it has the username "${access.username}".`,
    );
  }
  if (userid !== undefined && username === undefined && password === undefined)
    throw new Fault('invalid', 'give username, password or both together with userid.');
  if (userid === undefined && password === undefined)
    throw new Fault('invalid', 'give password together with username, or userid to give that account this name.');
  if (username !== undefined && (username === '' || username.length > 64 || controls.test(username)))
    throw new Fault('invalid', 'the username must have 1 to 64 characters, without control characters.');
  if (password !== undefined && (password === '' || controls.test(password)))
    throw new Fault('invalid', 'the password is empty or has control characters.');
}

interface Planned {
  readonly places: Place;
  /** The account that is changed, or the place where nobody is; undefined if a new one is made. */
  readonly found: Found | undefined;
}

/** Where the account is; a Fault if there is none that could be meant. */
async function plan(target: Target, settings: Settings, signal: AbortSignal): Promise<Planned> {
  checkValues(settings, target);
  const { userid, username, password } = settings;
  const places = await placesOf(target.service, signal);
  if (password !== undefined) checkLength(places.service, password);
  const named = places.all.filter(({ name }) => name !== '');
  const taken = username === undefined ? undefined : named.find(({ name }) => name === username);
  if (userid === undefined) return { places, found: taken };
  const found = places.all.find(({ id }) => id === userid);
  if (!found) {
    const ids = named.map(({ id, name }) => `${id} (${name})`).slice(0, mostNamed);
    throw new Fault('invalid', [
      `its BMC has no account for userid "${userid}"; its userids are ${ids.join(', ') || 'none'}.`,
      'Give one of these, or leave out userid to make a new account.',
    ]);
  }
  if (taken && taken.id !== found.id)
    throw new Fault('invalid', `its BMC has an account "${taken.name}" already, with the userid ${taken.id}.`);
  if (found.name === '' && (username === undefined || password === undefined))
    throw new Fault('invalid', `its BMC has nobody at userid ${found.id} yet: give username and password, both.`);
  return { places, found };
}

const isOwn = ({ access }: Target, found: Found | undefined): boolean =>
  found !== undefined && found.name === access.username;

export const checkAccount: SpCheck = async (settings, target, signal, all) => {
  const { found } = await plan(target, settings, signal);
  if (isOwn(target, found) && all['ip'] !== undefined) refuseMoveOfOwn();
};

/** Changes the account with the userid, else with the username. Where there is none, username and password make a new one. */
export const setAccount: SpWriter = async (target, settings, signal) => {
  const { places, found } = await plan(target, settings, signal);
  const { username, password } = settings;
  if (!found || found.name === '') {
    const account = { name: username!, password: password!, role: 'administrator' } as const;
    await make(target, found ? { ...places, all: [found] } : places, account, signal);
    await verifyAccount(redfishAccounts(target), account.name, { ...account, enabled: true }, signal);
    return {};
  }
  const change = {
    ...(username === undefined || username === found.name ? {} : { UserName: username }),
    ...(password === undefined ? {} : { Password: password, Enabled: true }),
  };
  if (Object.keys(change).length > 0) await target.service.patch(found.resource, change, signal);
  const { access } = target;
  if (!isOwn(target, found)) {
    await verifyAccount(redfishAccounts(target), username ?? found.name, { password }, signal);
    return {};
  }
  const renamed = username !== undefined && username !== access.username;
  const said = ownChanged({ name: renamed, password: password !== undefined && password !== access.password });
  return said === undefined ? {} : { notes: [[message, said]] };
};

import { tokensOf, tokensToDrop } from '../access/account-tokens.ts';
import { expiryText, hashToken, lifetimeDays, newToken } from '../access/tokens.ts';
import { Fault } from '../core/errors.ts';
import { accountRow } from '../objects/accounts.ts';
import { siteValue } from '../objects/effective.ts';
import { change, noArguments, noLine } from './command.ts';

const day = 86_400_000;

/** A new token for the caller. Only its hash is stored. Older ones make room for it. */
export const gettoken = change({
  name: 'gettoken',
  args: noArguments,
  line: noLine,
  free: true,
  plan(draft, _args, { caller }) {
    // A password that was changed since it was checked must not leave a token behind.
    if (accountRow(draft.base, caller.user)?.['password'] !== caller.login)
      throw new Fault('unauthenticated', 'Authentication failure');
    const id = newToken();
    const now = new Date();
    for (const old of tokensToDrop(tokensOf(draft.base.rows('token'), caller.user), now.getTime()))
      draft.remove('token', old);
    const lifetime = lifetimeDays(siteValue(draft.base, 'tokenexpiredays'));
    const expire = expiryText(Number.isFinite(lifetime) ? new Date(now.getTime() + lifetime * day) : undefined);
    const tokenid = hashToken(id);
    draft.merge('token', tokenid, { tokenid, username: caller.user, expire, created: expiryText(now) });
    return { shape: 'value', value: { token: { id, expire } } };
  },
});

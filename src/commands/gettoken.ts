import { expiryText, hashToken, lifetimeDays, newToken } from '../access/tokens.ts';
import { siteValue } from '../objects/effective.ts';
import { change, noArguments, noLine } from './command.ts';

const day = 86_400_000;

/** A new token for the caller. Only its hash is stored. */
export const gettoken = change({
  name: 'gettoken',
  args: noArguments,
  line: noLine,
  free: true,
  plan(draft, _args, { caller }) {
    const id = newToken();
    const now = new Date();
    const lifetime = lifetimeDays(siteValue(draft.base, 'tokenexpiredays'));
    const expire = expiryText(Number.isFinite(lifetime) ? new Date(now.getTime() + lifetime * day) : undefined);
    const tokenid = hashToken(id);
    draft.merge('token', tokenid, { tokenid, username: caller.user, expire, created: expiryText(now) });
    return { shape: 'value', value: { token: { id, expire } } };
  },
});

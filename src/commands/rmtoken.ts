import { Type } from 'typebox';
import { tokensOf } from '../access/account-tokens.ts';
import { change, nothing } from './command.ts';

/** Revokes the token the caller used, or all of the caller's. */
export const rmtoken = change({
  name: 'rmtoken',
  args: Type.Object({ all: Type.Boolean() }),
  line: ({ all }) => (all ? ['all'] : []),
  free: true,
  plan(draft, { all }, { caller }) {
    const own = tokensOf(draft.base.rows('token'), caller.user);
    for (const id of own.keys()) if (all || id === caller.token) draft.remove('token', id);
    return nothing;
  },
});

import { Type } from 'typebox';
import { change, nothing } from './command.ts';

/** Revokes the token the caller used, or all of the caller's. */
export const rmtoken = change({
  name: 'rmtoken',
  args: Type.Object({ all: Type.Boolean() }),
  line: ({ all }) => (all ? ['all'] : []),
  free: true,
  plan(draft, { all }, { caller }) {
    for (const [id, row] of draft.base.rows('token').entries()) {
      if (row['username'] === caller.user && (all || id === caller.token)) draft.remove('token', id);
    }
    return nothing;
  },
});

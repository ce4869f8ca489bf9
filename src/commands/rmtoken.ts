import { change, nothing } from './command.ts';

/** Revokes the token the caller used, or all of the caller's. */
export const rmtoken = change<{ readonly all: boolean }>({
  name: 'rmtoken',
  free: true,
  plan(draft, { all }, { caller }) {
    for (const [id, row] of draft.base.rows('token').entries()) {
      if (row['username'] === caller.user && (all || id === caller.token)) draft.remove('token', id);
    }
    return nothing;
  },
});

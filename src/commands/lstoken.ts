import { query } from './command.ts';

/** The caller's own tokens, without what would let somebody use them. */
export const lstoken = query<object>({
  name: 'lstoken',
  free: true,
  run(snapshot, _args, { caller }) {
    const tokens = snapshot
      .rows('token')
      .values()
      .filter((row) => row['username'] === caller.user)
      .map(({ created = '', expire = '', access = '', tokenid }) => ({
        created,
        expire,
        access,
        current: tokenid === caller.token,
      }));
    return { shape: 'value', value: { tokens } };
  },
});

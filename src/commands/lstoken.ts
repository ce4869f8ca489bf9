import { noArguments, noLine, query } from './command.ts';

/** The caller's own tokens, without what would let somebody use them. */
export const lstoken = query({
  name: 'lstoken',
  args: noArguments,
  line: noLine,
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

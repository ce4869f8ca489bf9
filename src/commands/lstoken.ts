import { tokensOf } from '../access/account-tokens.ts';
import { isoTime } from '../access/tokens.ts';
import { noArguments, noLine, query } from './command.ts';

/** The caller's own tokens, without what would let somebody use them. */
export const lstoken = query({
  name: 'lstoken',
  args: noArguments,
  line: noLine,
  free: true,
  run(snapshot, _args, { caller }) {
    const tokens = [...tokensOf(snapshot.rows('token'), caller.user)].map(
      ([id, { created = '', expire = '', access = '' }]) => ({
        created: isoTime(created),
        expire,
        access: isoTime(access),
        current: id === caller.token,
      }),
    );
    return { shape: 'value', value: { tokens } };
  },
});

import { noArguments, noLine, query } from './command.ts';

/** The public key is for everybody who sets up nodes. */
export const sshkey = query({
  name: 'sshkey',
  args: noArguments,
  uses: ['remote'],
  line: noLine,
  free: true,
  run: (_snapshot, _args, { remote }) => ({ shape: 'list', items: [remote.publicKey] }),
});

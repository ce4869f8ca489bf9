import { query } from './command.ts';

/** The public key is for everybody who sets up nodes. */
export const sshkey = query<undefined>({
  name: 'sshkey',
  free: true,
  run: (_snapshot, _args, { remote }) => ({ shape: 'list', items: [remote.publicKey] }),
});

import { Fault } from '../../../core/errors.ts';
import type { BootTokens } from '../tokens.ts';
import type { BootRoom } from './room.ts';

/** Who may log in to a node whose RAM disk waits for commands, for that node alone: `boot/authorized-keys/NODE/TOKEN`. */
export const loginRoom = (tokens: BootTokens, publicKey: string): BootRoom => ({
  find([first, second, node, token, ...more], { address }) {
    if (
      first !== 'boot' ||
      second !== 'authorized-keys' ||
      node === undefined ||
      token === undefined ||
      more.length > 0
    )
      return Promise.resolve(undefined);
    if (!tokens.check(node, token, address))
      throw new Fault('denied', `This is not the token of the node that has the address ${address}.`);
    return Promise.resolve({ kind: 'text', text: `${publicKey}\n`, node, step: 'file' });
  },
});

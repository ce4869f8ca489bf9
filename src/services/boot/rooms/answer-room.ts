import { Fault } from '../../../core/errors.ts';
import type { Images } from '../../images/images.ts';
import { installBoot } from '../answers/install-boot.ts';
import { answersFor } from '../answers/node-answers.ts';
import type { NodeIndex } from '../node-index.ts';
import type { BootTokens } from '../tokens.ts';
import type { BootRoom } from './room.ts';

/** What installers ask for, each for its node alone: `boot/answer/NODE/TOKEN/FILE`; and what a node boots to be installed. */
export const answerRoom = (images: Images, index: NodeIndex, tokens: BootTokens): BootRoom => ({
  async find([first, second, node, token, name, ...more], asker) {
    if (first !== 'boot' || second !== 'answer' || !node || !token || name === undefined || more.length > 0)
      return undefined;
    if (!tokens.check(node, token, asker.address))
      throw new Fault('denied', `This is not the token of the node that has the address ${asker.address}.`);
    const files = await answersFor(images, index.snapshot, node, { server: asker.authority, token });
    const file = files.find((each) => each.name === name);
    return file && { kind: 'text', text: file.text, node, step: 'answer' };
  },
  async install(snapshot, node, image, { authority: server, token }) {
    if (token === undefined)
      throw new Fault(
        'invalid',
        'There is no token for this boot, so there are no answers for its installer: whoever asks has not the address of the node, or nothing shows that it boots anew (nodeset does).',
      );
    // What is wrong with them is told now, not when the installer asks.
    await answersFor(images, snapshot, node, { server, token });
    return installBoot({ snapshot, paths: images.paths, node, image, server, token });
  },
});

import { realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Fault } from '../../../core/errors.ts';
import { effectiveReader } from '../../../objects/effective.ts';
import type { NodeIndex } from '../node-index.ts';
import { firstBootScript } from '../ramdisk/first-boot-script.ts';
import type { BootTokens } from '../tokens.ts';
import type { BootRoom } from './room.ts';

/**
 * What a node runs when it is up for the first time, for that node alone: `boot/postscripts/NODE/TOKEN/first-boot.sh`, and the directory
 * of the scripts below `files`.
 */
export const postscriptRoom = (nodes: NodeIndex, tokens: BootTokens, postscripts: string): BootRoom => ({
  async find([first, second, node, token, kind, ...path], { address }) {
    if (first !== 'boot' || second !== 'postscripts' || node === undefined || token === undefined) return undefined;
    if (!tokens.check(node, token, address))
      throw new Fault('denied', `This is not the token of the node that has the address ${address}.`);
    if (kind === 'first-boot.sh' && path.length === 0) {
      const text = await firstBootScript(effectiveReader(nodes.snapshot), node, postscripts);
      return text === undefined ? undefined : { kind: 'text', text, node, step: 'bundle' };
    }
    if (kind !== 'files' || path.length === 0) return undefined;
    const directory = await real(postscripts);
    const file = directory && (await real(join(directory, ...path)));
    if (!file?.startsWith(directory + sep)) return undefined;
    return { kind: 'file', path: file, node, step: 'file' };
  },
});

const real = (path: string): Promise<string | undefined> => realpath(path).catch(() => undefined);

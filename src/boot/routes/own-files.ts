import { realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader } from '../../objects/effective.ts';
import type { Images } from '../../images/index.ts';
import { imageOf } from '../../objects/node-image.ts';
import { answersFor, endScripts } from '../answers/answer-files.ts';
import { installBoot } from '../answers/install-boot.ts';
import { installContents } from '../answers/install-contents.ts';
import { changedSince, checkContents } from '../decision.ts';
import { firstBootScript, type ScriptSources } from '../first-boot-script.ts';
import type { NodeIndex } from '../node-index.ts';
import type { Overlays } from '../overlays/node-overlay.ts';
import { planText, statelitePlan } from '../statelite.ts';
import { shownBootState } from '../states.ts';
import type { BootTokens } from '../tokens.ts';
import { type BootRoute, ownPath } from './route.ts';

/** What installers ask for, each for its node alone: `boot/answer/NODE/TOKEN/FILE`; and what a node boots to be installed. */
export const answerRoute = (images: Images, index: NodeIndex, tokens: BootTokens, overlays: Overlays): BootRoute => ({
  async find(segments, client) {
    const own = ownPath('answer', segments, client, tokens, 1);
    if (!own) return undefined;
    const { node, token, rest } = own;
    // A system that is on the disk by now gets its end, whatever has changed meanwhile.
    if (!endScripts.includes(rest[0]!)) await checkUnchanged(images, index.snapshot, node);
    const files = await answersFor(images, index.snapshot, node, { server: client.authority, token });
    const file = files.find(({ name }) => name === rest[0]);
    return file && { kind: 'text', text: file.text, node, step: 'answer' };
  },
  async install(snapshot, node, image, { authority: server, token }) {
    if (token === undefined)
      throw new Fault(
        'invalid',
        'There is no token for this boot, so there are no answers for its installer: the request came from another address than that of the node, or nothing shows a new boot (nodeset does).',
      );
    // What is wrong with them stops the boot now, not when the installer asks.
    await checkUnchanged(images, snapshot, node);
    await answersFor(images, snapshot, node, { server, token });
    await overlays.archive(snapshot, node);
    return installBoot({ snapshot, paths: images.paths, node, image, server, token });
  },
});

/** An installer asks minutes after its boot script was made. The disk that it overwrites is the one that was decided, or none. */
async function checkUnchanged({ paths }: Images, snapshot: Snapshot, node: string): Promise<void> {
  const reader = effectiveReader(snapshot);
  const state = shownBootState(reader, node);
  if (!state.startsWith('install ')) return;
  const changed = changedSince(reader, node, state);
  if (changed !== undefined) throw new Fault('invalid', changed);
  const image = imageOf(reader, node);
  const layout = await installContents(snapshot, paths, image)(node);
  checkContents(reader, node, state, image.name, { pack: undefined, layout });
}

/**
 * What a node runs when it is up for the first time, for that node alone: `boot/postscripts/NODE/TOKEN/first-boot.sh`, and the directory
 * of the scripts below `files`; files of its synclists are below `sync`.
 */
export const postscriptRoute = (nodes: NodeIndex, tokens: BootTokens, from: ScriptSources): BootRoute => ({
  async find(segments, client) {
    const own = ownPath('postscripts', segments, client, tokens);
    if (!own) return undefined;
    const { node, rest } = own;
    const [kind, ...path] = rest;
    if (kind === 'first-boot.sh' && path.length === 0) {
      // Its system runs, whether or not its report of that has arrived.
      await tokens.close(node);
      const text = await firstBootScript(effectiveReader(nodes.snapshot), node, from);
      return text === undefined ? undefined : { kind: 'text', text, node, step: 'bundle' };
    }
    if (kind === 'sync' && path.length === 1) {
      const file = await from.sync.file(effectiveReader(nodes.snapshot), node, path[0]!);
      return file === undefined ? undefined : { kind: 'file', path: file, node, step: 'file' };
    }
    if (kind !== 'files' || path.length === 0) return undefined;
    const directory = await real(from.postscripts);
    const file = directory && (await real(join(directory, ...path)));
    if (!file?.startsWith(directory + sep)) return undefined;
    return { kind: 'file', path: file, node, step: 'file' };
  },
});

const real = (path: string): Promise<string | undefined> => realpath(path).catch(() => undefined);

/** What a node of a statelite image keeps and where, for that node alone: `boot/statelite/NODE/TOKEN`. */
export const stateliteRoute = (nodes: NodeIndex, tokens: BootTokens): BootRoute => ({
  async find(segments, client) {
    const node = ownPath('statelite', segments, client, tokens, 0)?.node;
    if (node === undefined) return undefined;
    const reader = effectiveReader(nodes.snapshot);
    const text = planText(statelitePlan(reader, node, imageOf(reader, node), client.server));
    return { kind: 'text', text, node, step: 'plan' };
  },
});

/** The files that a node has of its own, for that node alone: `boot/overlay/NODE/TOKEN`. They may hold its secrets. */
export const overlayRoute = (nodes: NodeIndex, tokens: BootTokens, overlays: Overlays): BootRoute => ({
  async find(segments, client) {
    const node = ownPath('overlay', segments, client, tokens, 0)?.node;
    if (node === undefined) return undefined;
    // From then on users of the node can read its token on the kernel's command line.
    if (tokens.closedSince(node))
      throw new Fault('denied', 'The system of the node runs already: muster overlay send brings it its overlays.');
    return { kind: 'bytes', bytes: await overlays.archive(nodes.snapshot, node), node, step: 'overlay' };
  },
});

/** Who may log in to a node whose RAM disk waits for commands, for that node alone: `boot/authorized-keys/NODE/TOKEN`. */
export const loginRoute = (tokens: BootTokens, publicKey: string): BootRoute => ({
  async find(segments, client) {
    const node = ownPath('authorized-keys', segments, client, tokens, 0)?.node;
    return node === undefined ? undefined : { kind: 'text', text: `${publicKey}\n`, node, step: 'file' };
  },
});

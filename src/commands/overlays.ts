import { isUtf8 } from 'node:buffer';
import { Type } from 'typebox';
import { Fault, type FaultData } from '../core/errors.ts';
import { barredEntries, bringOverlay, overlaysAtOnce } from '../boot/index.ts';
import type { RemoteTarget } from '../nodes/index.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { nodeAddress, perNode, type Plan, sshOnWorkers } from './per-node.ts';

/** What is shown is kept in the run. */
const mostNodes = 64;

/** The files that nodes get of their overlays, or the content of one; secrets are hidden. */
export const lsoverlay = perNode({
  name: 'lsoverlay',
  args: Type.Object({ ...nodeArguments, file: Type.Optional(Type.String()) }),
  uses: ['boot'],
  line: ({ file }) => (file === undefined ? [] : [file]),
  select: selectNodes,
  prepare(snapshot, { file }, { boot, caller, selection, ranges }) {
    if ((selection.nodes?.length ?? 0) > mostNodes)
      throw new Fault('invalid', `The overlays of at most ${mostNodes} nodes are shown at once: name fewer nodes.`);
    return {
      shared: {},
      async target(node: string): Promise<Record<string, string>> {
        const entries = await boot.overlays.shown(snapshot, node, ranges.sees);
        if (file === undefined) return Object.fromEntries(entries.map((entry) => [entry.path, described(entry)]));
        const wanted = entries.find(({ path }) => path === file);
        if (!wanted) throw new Fault('invalid', `The overlays of ${node} have no file ${file}.`);
        if (wanted.kind === 'directory') throw new Fault('invalid', `${file} is a directory.`);
        // A key that users of the node may not read is nothing for everybody who may look at the node.
        if (barredEntries(entries).has(wanted) && !caller.hasFullRights())
          throw new Fault(
            'denied',
            `Not every user of ${node} can read ${file}, by its mode or that of a directory above; you need full rights to see it.`,
          );
        if (!isUtf8(wanted.content)) throw new Fault('invalid', `${file} is not text; it lies in ${wanted.from}.`);
        return { [file]: wanted.content.toString() };
      },
    };
  },
  work: (_shared, target, { node }) => Promise.resolve({ node, value: target }),
});

interface Shown {
  readonly kind: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly content: Buffer;
  readonly overlay: string;
  readonly isTemplate: boolean;
}

const octal = (mode: number): string => mode.toString(8).padStart(4, '0');

/** `file 0644 0:0 120 bytes, from the template in base` */
function described({ kind, mode, uid, gid, content, overlay, isTemplate }: Shown): string {
  const what = kind === 'link' ? `to ${content.toString()}` : kind === 'file' ? `${content.length} bytes` : '';
  const from = isTemplate ? `from a template in ${overlay}` : `from ${overlay}`;
  return `${[kind, octal(mode), `${uid}:${gid}`, what].filter(Boolean).join(' ')}, ${from}`;
}

const actions = Type.Enum(['send', 'diff'] as const);

interface OverlayTarget {
  readonly to: RemoteTarget | FaultData;
  /** In base64: what goes to a node is plain data. */
  readonly archive: string;
}

/** Brings running nodes the files of their overlays, or says in what they differ from those. */
export const sendoverlay = perNode({
  name: 'sendoverlay',
  args: Type.Object({ ...nodeArguments, action: actions }),
  uses: ['boot', 'remote'],
  line: ({ action }) => (action === 'diff' ? ['--diff'] : []),
  outlivesClient: ({ action }) => action === 'send',
  select: selectNodes,
  prepare(snapshot, { action }, { boot, remote, ranges }): Plan<{ action: 'send' | 'diff' }, OverlayTarget> {
    // Whoever the caller is there: users of the node must not have the secrets, and what is done is decided by the overlays alone.
    const targets = remote.targets(snapshot, 'root');
    return {
      shared: { action },
      width: Math.min(remote.fanOut, overlaysAtOnce),
      async target(node) {
        if (!boot.overlays.has(snapshot, node))
          throw new Fault('invalid', `The node has no overlay: set its attribute overlay, or that of its image.`);
        const archive = await boot.overlays.archive(snapshot, node, { seesAll: ranges.sees === undefined });
        return { to: await targets(node), archive: archive.toString('base64') };
      },
    };
  },
  sentTo: ({ to }) => nodeAddress(to),
  onWorkers: sshOnWorkers(),
  work: ({ action }, { to, archive }: OverlayTarget, task) =>
    task.remote.update(to, task, async (remote) => ({
      node: task.node,
      value: await bringOverlay(remote, Buffer.from(archive, 'base64'), action),
    })),
});

import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { effectiveReader, siteValue } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { hidden } from '../objects/secret-names.ts';
import { answersWith } from '../boot/index.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { perNode } from './per-node.ts';

/** They are long, and kept in the run. */
const mostNodes = 64;

/** What the installers of nodes would be answered, by files; token and password are hidden. */
export const lsanswers = perNode({
  name: 'lsanswers',
  args: Type.Object(nodeArguments),
  uses: ['images'],
  line: () => [],
  select: selectNodes,
  prepare(snapshot, _args, { images, selection, ranges, caller }) {
    if ((selection.nodes?.length ?? 0) > mostNodes)
      throw new Fault('invalid', `The answers of at most ${mostNodes} nodes are shown at once.`);
    const reader = effectiveReader(snapshot);
    return {
      shared: {},
      async target(node: string): Promise<Record<string, string>> {
        const server = nodeAttribute(reader, node, 'xcatmaster') || siteValue(snapshot, 'master') || 'SERVER';
        const access = { rootPassword: hidden, publicKey: images.publicKey };
        const viewer = { sees: ranges.sees, hasFullRights: caller.hasFullRights() };
        const files = await answersWith(access, images, snapshot, node, { server, token: hidden }, viewer);
        return Object.fromEntries(files.map(({ name, text }) => [name, text]));
      },
    };
  },
  work: (_shared, target, { node }) => Promise.resolve({ node, value: target }),
});

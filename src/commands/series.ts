import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { sinceTime } from '../core/since.ts';
import { kindsIn } from '../drivers/index.ts';
import { mostWatched, seriesKinds } from '../nodes/index.ts';
import { nodeArguments, query, selectNodes } from './command.ts';

const mostWithPoints = 500;

/** What sensors of nodes have shown in the last day. Whoever may read the sensors may see it. */
export const rvitalsSeries = query({
  name: 'rvitals',
  args: Type.Object({
    ...nodeArguments,
    kinds: Type.Array(Type.String(), { description: 'none, or all: everything that series are kept of' }),
    since: Type.Optional(Type.String({ description: 'absent: of the last day' })),
    show: Type.Enum(['points', 'last', 'hottest']),
    sample: Type.Optional(Type.Boolean({ description: 'the nodes are read each minute for the next three' })),
  }),
  uses: ['series'],
  line: ({ kinds }) => (kinds.length === 0 ? ['all'] : kinds),
  select: selectNodes,
  run(_snapshot, { kinds: asked, since, show, sample }, { series, selection }) {
    const kinds = kindsIn('series', seriesKinds, asked);
    if (since !== undefined && show !== 'points')
      throw new Fault('invalid', `since: show=${show} shows the last values alone; leave one of the two out.`);
    const now = Date.now();
    const span = { now, since: since === undefined ? 0 : sinceTime(since) };
    const nodes = selection.nodes ?? [];
    const isTooMany = (most: number): boolean => nodes.length > most;
    if (show === 'points' && isTooMany(mostWithPoints))
      throw new Fault(
        'invalid',
        `Series of ${nodes.length} nodes are too long for one reply; ask for at most ${mostWithPoints} nodes, or for the last values with show=last.`,
      );
    if (sample && isTooMany(mostWatched))
      throw new Fault(
        'invalid',
        `sample=1 is for at most ${mostWatched} nodes, not ${nodes.length}; the setting series.nodes names nodes that are read all the time.`,
      );
    if (sample) series.watch(nodes);
    const view = { kinds, show, span };
    return {
      shape: 'items',
      member: 'series',
      items: nodes.values().flatMap((node) => {
        const shown = series.shown(node, view);
        return shown ? [{ node, ...shown }] : [];
      }),
    };
  },
});

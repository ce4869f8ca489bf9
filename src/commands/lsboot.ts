import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { NodeValue } from '../core/results.ts';
import { tableNamed } from '../database/tables.ts';
import { effectiveReader } from '../objects/effective.ts';
import {
  type Boot,
  type BootNote,
  changedSince,
  diagnose,
  isImageState,
  type PastBoot,
  shownBootState,
} from '../boot/index.ts';
import { type NodeDhcp, reservationsOf } from '../names/index.ts';
import { nodeArguments, query, selectNodes } from './command.ts';

const statusTable = tableNamed('nodelist');

/** Where nodes are in their boot: what they have fetched and reported, and why one does not go on. */
export const lsboot = query({
  name: 'lsboot',
  args: Type.Object(nodeArguments),
  uses: ['nodeDhcp', 'boot'],
  line: () => [],
  select: selectNodes,
  async run(snapshot, _args, { boot, nodeDhcp, selection }) {
    const reader = effectiveReader(snapshot);
    const reservations = reservationsOf(snapshot);
    const now = new Date();
    const isServed = boot.servedNodes();
    const nodes = selection.nodes ?? [];
    const macs = new Map(nodes.map((node) => [node, reservations.ofNode(node).map(({ mac }) => mac)]));
    const { answered, unknown } = await answersOfDhcp(nodeDhcp, new Set([...macs.values()].flat()));
    const answersOf = (node: string): readonly Date[] | undefined =>
      answered &&
      macs
        .get(node)!
        .flatMap((mac) => answered.get(mac) ?? [])
        .filter((at) => at >= boot.reports.since)
        .toSorted((a, b) => a.getTime() - b.getTime());
    return {
      shape: 'objects',
      names: nodes,
      attributes(node): NodeValue {
        const state = shownBootState(reader, node);
        const own = boot.reports.of(node);
        const changed = isImageState(state) ? changedSince(reader, node, state) : undefined;
        const seen = diagnose(own, {
          state,
          isServed: isServed(node),
          answered: answersOf(node),
          foreign: boot.reports.foreignOf(node),
          closedSince: boot.tokens.closedSince(node),
          now,
        });
        const status = reader.row(statusTable, node)?.['status'] ?? '';
        // What stops its next boot comes first.
        const why = [changed, seen, unknown].filter((part) => part !== undefined).join(' ');
        return { bootstate: state, status, ...shown(own), history: boot.reports.past.of(node).map(pastLine), why };
      },
    };
  },
});

/** The server that has DHCP may be away: then everything else is shown all the same. */
async function answersOfDhcp(nodeDhcp: NodeDhcp, macs: ReadonlySet<string>) {
  try {
    return { answered: await nodeDhcp.answered(macs) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { unknown: `It is not known whether DHCP gave it an address: ${error.sentences.join(' ')}` };
  }
}

/** Empty where nothing was seen. */
const shown = (own: Boot | undefined) => {
  const last = own?.notes.at(-1);
  return {
    began: own?.began.toISOString() ?? '',
    step: last?.step ?? '',
    since: last?.at.toISOString() ?? '',
    lastline: own?.lastLine ?? '',
    steps: own?.notes.map(lineOf) ?? [],
  };
};

/** `2026-01-02T03:04:05.678Z to 2026-01-02T03:06:05.678Z, 4 times: failed (loader, script, failed): no disk` */
function pastLine({ began, ended, times, steps, end, cause }: PastBoot): string {
  const often = times === 1 ? '' : `, ${times} times`;
  return `${began.toISOString()} to ${ended.toISOString()}${often}: ${end} (${steps})${cause === undefined ? '' : `: ${cause}`}`;
}

/** `2026-01-02T03:04:05.678Z tftp loader undionly.kpxe (70000 bytes)` */
function lineOf({ at, source, step, text, bytes, complete }: BootNote): string {
  const size = bytes === undefined ? [] : [`(${bytes} bytes${complete === false ? ', not all of it' : ''})`];
  return [at.toISOString(), source, step, ...(text === undefined ? [] : [text]), ...size].join(' ');
}

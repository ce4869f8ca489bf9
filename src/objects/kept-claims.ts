import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { RowChange } from '../database/changeset.ts';
import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { claimingTables, rowsThatClaim } from './claim-index.ts';
import { claimsOf, machineClaims } from './claims.ts';
import { type EffectiveReader, effectiveReader } from './effective.ts';
import { allMembers } from './groups.ts';

const table = 'machineclaim';

/** Something of a machine that several nodes claim. */
export interface Contested {
  readonly claim: string;
  /** As people call it. */
  readonly what: string;
  /** Who has it. */
  readonly keeper: string;
  /** Who claims it too, since this change. */
  readonly takers: readonly string[];
}

/** The node that keeps what several nodes claim; undefined: nobody has decided that, or it has given it up. */
export function keeperOf(reader: EffectiveReader, claim: string): string | undefined {
  const node = reader.snapshot.get(table, claim)?.['node'];
  return node !== undefined && has(reader, node, claim) ? node : undefined;
}

const has = (reader: EffectiveReader, node: string, claim: string): boolean =>
  reader.nodeRow(node) !== undefined && claimsOf(reader, node).has(claim);

/** The nodes that claim it by a row under this name: the row of a group makes no machine the group's, but its members claim it. */
function claimants(reader: EffectiveReader, name: string, claim: string): string[] {
  const members = allMembers(reader.snapshot, name).filter((node) => has(reader, node, claim));
  return reader.nodeRow(name) ? [name, ...members] : members;
}

/** The claim on a MAC address, however it is written. */
export const macClaim = (mac: string): string => `mac ${mac.replaceAll(/[^0-9a-f]/gi, '').toLowerCase()}`;

/** Of several nodes that claim it, the one that has it. */
export const onlyKeeper = (snapshot: Snapshot, nodes: readonly string[], claim: string): string | undefined => {
  if (nodes.length < 2) return nodes[0];
  const keeper = keeperOf(effectiveReader(snapshot), claim);
  return keeper !== undefined && nodes.includes(keeper) ? keeper : undefined;
};

/** What changes make nodes claim that others have: who has it keeps it. Of two that come together the first does. */
export function* contestedBy(changes: readonly RowChange[], after: () => Snapshot): Interruptible<Contested[]> {
  const taken = new Map<string, { readonly what: string; readonly takers: string[] }>();
  const left = new Map<string, string>();
  const gone = new Set(changes.flatMap((change) => (change.table === 'nodelist' && !change.after ? change.key : [])));
  for (const change of changes) {
    if (!claimingTables.includes(change.table)) continue;
    const had = machineClaims(change.table, change.before);
    if (gone.has(change.key)) for (const claim of had.keys()) left.set(claim, change.key);
    for (const [claim, what] of machineClaims(change.table, change.after)) {
      if (had.has(claim)) continue;
      const takers = claimants(effectiveReader(after()), change.key, claim);
      const known = taken.get(claim);
      if (known) known.takers.push(...takers);
      else if (takers.length > 0) taken.set(claim, { what, takers });
    }
    yield;
  }
  if (taken.size === 0) return [];
  const holders = new Map<string, string>();
  const reader = effectiveReader(after());
  const touched = new Set(changes.map((change) => change.table));
  for (const name of claimingTables.filter((each) => touched.has(each))) {
    const keysOf = yield* rowsThatClaim(after(), name);
    yield* eachInSlices(taken, ([claim, { takers }]) => {
      const comes = new Set(takers);
      for (const key of holders.has(claim) ? [] : keysOf(claim)) {
        const holder = claimants(reader, key, claim).find((node) => !comes.has(node));
        if (holder !== undefined) return void holders.set(claim, holder);
      }
    });
  }
  return [...taken].flatMap(([claim, { what, takers }]) => {
    const former = left.get(claim);
    if (former !== undefined && holders.has(claim) && takers.length === 1) {
      // A node that goes while another comes with its machine has got another name: the machine stays with it.
      const kept = reader.snapshot.get(table, claim)?.['node'];
      if (kept === former) return [{ claim, what, keeper: takers[0]!, takers: [holders.get(claim)!] }];
      // Several claim it since before anybody decided. A name is no decision.
      if (kept === undefined) return [];
    }
    const decided = keeperOf(reader, claim);
    // Who gave it up and claims it again comes after those who have it by now.
    const keeper = (decided !== undefined && !takers.includes(decided) ? decided : holders.get(claim)) ?? takers[0]!;
    const others = takers.filter((node) => node !== keeper);
    return others.length === 0 ? [] : [{ claim, what, keeper, takers: others }];
  });
}

/** Keeps it beyond the change, so that whatever comes later knows who had it first. */
export function keepClaims(draft: Draft, contested: readonly Contested[]): void {
  for (const { claim, keeper } of contested) draft.merge(table, claim, { claim, node: keeper });
}

const mostNotes = 20;

export function notesOfClaims(
  contested: readonly Contested[],
  sees: ((node: string) => boolean) | undefined,
): readonly string[] {
  return contested
    .filter(({ keeper }) => !sees || sees(keeper))
    .flatMap(({ what, keeper, takers }) =>
      takers.map(
        (taker) =>
          `${what[0]!.toUpperCase()}${what.slice(1)} of ${taker} is that of ${keeper} too: ${keeper} keeps it, and ${taker} does not get it until ${keeper} gives it up.`,
      ),
    )
    .slice(0, mostNotes);
}

import { Fault } from '../core/errors.ts';
import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';

const table = 'vmmove';

/** Milliseconds for which a move that muster began explains that the machine is there: its end may have been missed. */
const believedFor = 24 * 3_600_000;

/** Notes where muster moves the machine of a node, so that it is known after a restart in the middle of it. */
export function noteMove(draft: Draft, node: string, target: string): void {
  draft.merge(table, node, { node, target, begun: new Date().toISOString() });
}

export function endMove(draft: Draft, node: string): void {
  if (draft.base.get(table, node)) draft.merge(table, node, { node, target: undefined, begun: undefined });
}

/** The hypervisor that muster was moving the node's machine to when it was last heard of; undefined: there is no such move. */
export function moveUnderWay(snapshot: Snapshot, node: string): string | undefined {
  const { target, begun = '' } = snapshot.get(table, node) ?? {};
  return Date.parse(begun) + believedFor > Date.now() ? target : undefined;
}

/** Notes the hypervisor that has the node's machine; undefined: none has. It is known though vmhost changes. */
export function noteHost(draft: Draft, node: string, host: string | undefined): void {
  if (draft.base.get(table, node)?.['host'] !== host) draft.merge(table, node, { node, host });
}

/** The hypervisor that muster last made the node's machine on, or moved it to; undefined: it has no machine that muster knows of. */
export const lastHostOf = (snapshot: Snapshot, node: string): string | undefined => snapshot.get(table, node)?.['host'];

/** The machine and its disks keep the name of the node: another node that gets the name would get them too. */
export function refuseWithMachine(snapshot: Snapshot, node: string): void {
  const host = lastHostOf(snapshot, node);
  if (host === undefined) return;
  throw new Fault('invalid', [
    `${node} has a virtual machine on ${host}, which would keep the old name, as would its disks.`,
    `Before you rename the node, remove the machine with DELETE /nodes/${node}/vm, which keeps the disks; afterwards name the disks in vmstorage and make the machine again.`,
    `If the machine is gone already, delete what muster knows of it with DELETE /tables/vmmove/rows/node=${node}.`,
  ]);
}

/** The hypervisors that have these machines, whatever vmhost says by now. */
export const lastHosts = (snapshot: Snapshot, isMachine: (node: string) => boolean): readonly string[] =>
  [...snapshot.rows(table).entries()].flatMap(([node, { host }]) =>
    host !== undefined && isMachine(node) ? host : [],
  );

/** The hypervisors that these machines are being moved to. */
export const targetsOfMoves = (snapshot: Snapshot, isMachine: (node: string) => boolean): readonly string[] =>
  [...snapshot.rows(table).entries()].flatMap(([node]) => (isMachine(node) && moveUnderWay(snapshot, node)) || []);

/** What is known of a machine on one hypervisor. */
export interface SeenMachine {
  readonly uuid: string;
  readonly isOn: boolean;
  /** False: it was there. */
  readonly isThere: boolean;
}

/** A hypervisor as it was seen last. */
export interface SeenHypervisor {
  /** The same for all names that one hypervisor has; undefined until it was connected to. */
  readonly place: string | undefined;
  readonly machines: ReadonlyMap<string, SeenMachine>;
}

/** What the definitions say of a machine. */
interface DefinedMachine {
  readonly name: string;
  /** The hypervisor it belongs to. */
  readonly home: string;
  readonly uuid: string | undefined;
  /** Whether it may move to that hypervisor. */
  mayMoveTo(host: string): boolean;
}

export interface Whereabouts {
  /** The hypervisor it has moved to; undefined: none that is believed. */
  readonly movedTo: string | undefined;
  /** Hypervisors that have a machine with its name and UUID though nothing lets it move there. */
  readonly doubtful: readonly string[];
}

interface Claim {
  readonly host: string;
  readonly place: string | undefined;
  readonly isOn: boolean;
}

const atHomeAlone: Whereabouts = { movedTo: undefined, doubtful: [] };

/**
 * Where a machine is that may have been moved. Any hypervisor can make a machine with another's name and UUID, so only those that the
 * machine may move to are believed, and only once its home was asked. It must be clear, too: one that runs at home is at home, and of
 * two places elsewhere none is taken.
 */
export function whereabouts(
  { name, home, uuid, mayMoveTo }: DefinedMachine,
  seen: ReadonlyMap<string, SeenHypervisor>,
): Whereabouts {
  const homeHost = seen.get(home);
  const atHome = homeHost?.machines.get(name);
  const itself = uuid ?? atHome?.uuid;
  if (homeHost?.place === undefined || itself === undefined) return atHomeAlone;
  const claims = [...seen].flatMap(([host, { place, machines }]): Claim | [] => {
    const machine = machines.get(name);
    return place !== homeHost.place && machine?.isThere && machine.uuid === itself
      ? { host, place, isOn: machine.isOn }
      : [];
  });
  if (claims.length === 0) return atHomeAlone;
  const possible = claims.filter(({ host }) => mayMoveTo(host));
  const movedTo = atHome?.isThere && atHome.isOn ? undefined : onlyOne(possible, atHome?.isThere === true);
  const isSomewhere = atHome?.isThere === true || movedTo !== undefined;
  // What is off elsewhere may be left over from an earlier move.
  const doubtful = claims.filter(
    ({ place, isOn }) => (isOn || !isSomewhere) && !possible.some((each) => each.place === place),
  );
  return { movedTo, doubtful: doubtful.map(({ host }) => host) };
}

function onlyOne(claims: readonly Claim[], isAtHome: boolean): string | undefined {
  const running = claims.filter(({ isOn }) => isOn);
  const found = running.length > 0 || isAtHome ? running : claims;
  const [first] = found;
  return first && found.every(({ place }) => place === first.place) ? first.host : undefined;
}

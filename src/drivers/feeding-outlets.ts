import { Fault } from '../core/errors.ts';
import { pause } from '../core/waiting.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { type Outlets, outletsNamed } from './capabilities.ts';
import type { Devices, DeviceTarget, DeviceUser } from './devices.ts';
import type { Hardware } from './hardware.ts';
import type { RackPace } from './rack-pace.ts';
import { fedBy, outletsOf, type OutletName, outletText } from '../objects/outlets.ts';

/** A PDU, and those of its outlets that are meant. */
interface FeedingPdu {
  readonly pdu: string;
  readonly device: DeviceTarget;
  readonly outlets: readonly string[] | 'all';
}

/** What a node is fed by; of a PDU its own outlets. */
export interface OutletTarget {
  readonly pdus: readonly FeedingPdu[];
  readonly pace?: RackPace | undefined;
}

export const isOutletTarget = (target: object): target is OutletTarget => 'pdus' in target;

export const shownOutlets = ({ pdus }: OutletTarget) => ({
  mgt: pdus[0]!.device.driver,
  address: pdus.map(({ device }) => device.address).join(', '),
  outlets: pdus
    .flatMap(({ pdu, outlets }) => (outlets === 'all' ? `${pdu}:all` : outlets.map((outlet) => `${pdu}:${outlet}`)))
    .join(', '),
});

/** The PDUs that feed nodes, or that nodes are. `chosen`: only these outlets of PDUs. */
export function outletTargets(
  snapshot: Snapshot,
  command: string,
  hardware: Hardware,
  chosen: readonly string[] | undefined,
): (node: string) => Promise<OutletTarget> {
  const isPdu = hardware.offering(snapshot, 'outlets');
  const deviceOf = hardware.targets(snapshot, command, 'outlets');
  return async (node) => {
    if (isPdu(node)) return { pdus: [{ pdu: node, device: await deviceOf(node), outlets: chosen ?? 'all' }] };
    refuseChosen(chosen);
    const byPdu = Map.groupBy(outletsOf(snapshot, node), ({ pdu }) => pdu);
    const pdus = [...byPdu].map(async ([pdu, outlets]): Promise<FeedingPdu> => {
      try {
        return { pdu, device: await deviceOf(pdu), outlets: [...new Set(outlets.map(({ outlet }) => outlet))] };
      } catch (error) {
        throw ofPdu(pdu, error);
      }
    });
    return { pdus: await Promise.all(pdus) };
  };
}

export function refuseChosen(chosen: readonly string[] | undefined): void {
  if (chosen !== undefined)
    throw new Fault(
      'invalid',
      'it is no PDU: outlets are chosen of PDUs alone; a node has those of its attribute pdu.',
    );
}

interface Sharing {
  readonly snapshot: Snapshot;
  /** Those of the request. */
  readonly nodes: readonly string[];
  /** Whether the caller may switch the node. */
  readonly permits: (node: string) => boolean;
  readonly force: boolean;
  readonly restarts: boolean;
}

/** Refuses to switch what also feeds somebody else: without `force` at all, and with it where the caller has no right to it. */
export function refuseShared(
  { pdus }: OutletTarget,
  node: string,
  { snapshot, nodes, permits, force, restarts }: Sharing,
): void {
  const asked = new Set(pdus.some(({ pdu }) => pdu === node) ? [] : nodes);
  for (const { pdu, outlets } of pdus) {
    for (const [outlet, fed] of fedBy(snapshot, pdu)) {
      if (outlets !== 'all' && !outlets.includes(outlet)) continue;
      const name = outletText({ pdu, outlet });
      const others = fed.filter((each) => each !== node && !asked.has(each));
      if (others.some((each) => !permits(each)))
        throw new Fault(
          'invalid',
          `its outlet ${name} also feeds a node that you may not switch; ask somebody who may.`,
        );
      if (others.length > 0 && !force)
        throw new Fault('invalid', `its outlet ${name} also feeds ${listed(others)}: force switches these too.`);
      const partner = restarts ? fed.find((each) => each !== node && asked.has(each)) : undefined;
      if (partner !== undefined)
        throw new Fault(
          'invalid',
          `its outlet ${name} also feeds ${partner}, which the same request resets: name one of them, with force.`,
        );
    }
  }
}

const mostNamed = 10;
const listed = (nodes: readonly string[]): string =>
  nodes.length <= mostNamed
    ? nodes.join(', ')
    : `${nodes.slice(0, mostNamed).join(', ')} and ${nodes.length - mostNamed} more`;

/** Who works on the devices. */
interface OutletTask extends DeviceUser {
  readonly devices: Devices;
}

/** By outlet, what was seen of it. */
type Seen = Readonly<Record<string, string>>;

const seenOf = (pdu: string, outlets: Awaited<ReturnType<Outlets['list']>>): Seen =>
  Object.fromEntries(outlets.map(({ id, state }) => [outletText({ pdu, outlet: id } satisfies OutletName), state]));

export type OutletAction = 'on' | 'off' | 'reset' | 'stat';

/** What the outlets do now, or have done. */
export async function workOnOutlets({ pdus }: OutletTarget, action: OutletAction, task: OutletTask): Promise<Seen> {
  if (action === 'stat') return onEachPdu(pdus, readStates(task));
  if (action !== 'reset') return onEachPdu(pdus, switching(action, task), saidDone);
  return reset(pdus, task);
}

const readStates =
  (task: OutletTask) =>
  async ({ pdu, device, outlets }: FeedingPdu): Promise<Seen> => {
    const all = await task.devices.read(device, 'outlets', task, (each) => each.list(false, task.signal));
    return seenOf(pdu, outletsNamed(all, outlets));
  };

const switching =
  (to: 'on' | 'off', task: OutletTask) =>
  async ({ pdu, device, outlets }: FeedingPdu): Promise<Seen> =>
    seenOf(pdu, await task.devices.useTogether(device, 'outlets', task, (each) => each.set(outlets, to, task.signal)));

/** All off, a pause, all on: with two supplies a node is without power only then. Once it has begun it is finished. */
async function reset(pdus: readonly FeedingPdu[], task: OutletTask): Promise<Seen> {
  const lasting = { ...task, signal: new AbortController().signal };
  let rest = 0;
  const off = async (one: FeedingPdu): Promise<Seen> =>
    seenOf(
      one.pdu,
      await task.devices.useTogether(one.device, 'outlets', task, (each) => {
        rest = Math.max(rest, each.resetPause);
        return each.set(one.outlets, 'off', lasting.signal);
      }),
    );
  const offs = await Promise.allSettled(pdus.map(off));
  const failure = failureIn(pdus, offs);
  await pause(failure ? 0 : rest, lasting.signal);
  // Also where it failed: some outlets of that PDU may be off.
  const ons = await Promise.allSettled(pdus.map(switching('on', lasting)));
  const stuck = pdus.flatMap(({ pdu }, at) => (ons[at]!.status === 'rejected' ? [pdu] : []));
  const but = stuck.length > 0 ? `, but for those of PDU ${stuck.join(', ')}: look at these` : '';
  const cause = failure ?? failureIn(pdus, ons);
  if (cause) throw withMore(cause, `Its outlets are on again${but}.`);
  return Object.fromEntries(ons.flatMap(resetNames));
}

const resetNames = (outcome: PromiseSettledResult<Seen>): [string, string][] =>
  outcome.status === 'fulfilled' ? Object.keys(outcome.value).map((name) => [name, 'reset']) : [];

/** Works on all PDUs at once; if one fails, its error may say what became of the others. */
export async function onEachPdu<Value>(
  pdus: readonly FeedingPdu[],
  work: (one: FeedingPdu) => Promise<Readonly<Record<string, Value>>>,
  more?: (seen: Readonly<Record<string, Value>>) => string | undefined,
): Promise<Readonly<Record<string, Value>>> {
  const outcomes = await Promise.allSettled(pdus.map(work));
  const seen: Readonly<Record<string, Value>> = Object.assign(
    {},
    ...outcomes.map((each) => (each.status === 'fulfilled' ? each.value : {})),
  );
  const failure = failureIn(pdus, outcomes);
  if (failure) throw withMore(failure, more?.(seen));
  return seen;
}

function saidDone(seen: Seen): string | undefined {
  const done = Object.entries(seen).map(([outlet, state]) => `${outlet} is ${state}`);
  return done.length > 0 ? `Done: ${done.slice(0, mostNamed).join(', ')}.` : undefined;
}

function failureIn(pdus: readonly FeedingPdu[], outcomes: readonly PromiseSettledResult<unknown>[]): unknown {
  const at = outcomes.findIndex(({ status }) => status === 'rejected');
  return at < 0 ? undefined : ofPdu(pdus[at]!.pdu, (outcomes[at] as PromiseRejectedResult).reason);
}

function ofPdu(pdu: string, error: unknown): unknown {
  if (!(error instanceof Fault)) return error;
  return new Fault(error.kind, [`PDU ${pdu}: ${error.sentences.join(' ')}`], { cause: error });
}

function withMore(error: unknown, more: string | undefined): unknown {
  if (!(error instanceof Fault) || more === undefined) return error;
  return new Fault(error.kind, [...error.sentences, more], { cause: error });
}

import { randomUUID } from 'node:crypto';
import { canonicalAddress } from '../../access/addresses.ts';
import { Fault } from '../../core/errors.ts';
import { contains, parseIp, parsePrefix, type Prefix } from '../../core/ip.ts';
import type { Logger } from '../../core/log.ts';
import { atOnce } from '../../core/slices.ts';
import type { RowChange } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { networksOf } from '../../objects/networks.ts';
import type { NodeDhcp } from '../../names/index.ts';
import type { NodeIndex } from '../node-index.ts';
import { followReservations } from '../prepare-boot.ts';
import { type ImagesWanted, imagesWanted, type ReadinessByImage } from '../readiness.ts';
import { parseBootStates, shownBootState } from '../states.ts';
import { planAdoption, stateAfterDiscovery } from './adopt.ts';
import { identityOf, KnownMachines, match } from './match.ts';
import { type Machine, readMachine } from './machine.ts';
import { discoveryIsOn, nextInOrder, openRanges } from './ranges.ts';
import type { FoundSwitch } from './switch-search.ts';
import type { Switches, SwitchSearch } from './switches.ts';
import { type Unmatched, UnmatchedMachines } from './unmatched.ts';

export interface DiscoveryServices {
  readonly store: Store;
  readonly dhcp: NodeDhcp;
  readonly log: Logger;
  readonly index: Pick<NodeIndex, 'byAddress'>;
  readonly switches: Pick<Switches, 'portsOf' | 'search'>;
  /** What nodes find that boot one of the images. */
  readonly readiness: (snapshot: Snapshot, wanted: ImagesWanted) => Promise<ReadinessByImage>;
  /** The setting `hardware.networks`. */
  readonly processorNetworks: readonly string[] | undefined;
}

/** What a machine is to do. */
const again = 'wait 30';
const reboot = 'reboot';

/** What a machine says that has no other orders. */
const discovering = 'discover';

/** Milliseconds between two lines of the log about false reports from one node. */
const warningPause = 60_000;

/** Which node a machine becomes, and by what. */
interface Chosen {
  readonly node: string;
  readonly by: readonly string[];
}

/** Why it becomes none. */
interface Refusal {
  readonly reason: string;
  /** The node whose address the report comes from, if it names another. */
  readonly impostor?: string;
}

type Decision = Chosen | Refusal;

/** Where a report comes from, and the node that has this address. */
interface Sender {
  readonly address: string;
  readonly node: string | undefined;
}

/**
 * Machines that boot and that nobody knows. Each says what it is and asks again until it is a node; then it boots again, as that. Which
 * node it is is decided where the change set is computed, so that two machines never become the same.
 */
export class MachineDiscovery {
  readonly #services: DiscoveryServices;
  readonly #processorNetworks: readonly Prefix[];
  readonly #known = new KnownMachines();
  readonly #unmatched = new UnmatchedMachines();
  /** When a warning of false reports from a node was last logged. */
  readonly #warned = new Map<string, number>();

  constructor(services: DiscoveryServices) {
    this.#services = services;
    this.#processorNetworks = (services.processorNetworks ?? []).map((text) => parsePrefix(text)!);
  }

  get unmatched(): readonly Unmatched[] {
    return this.#unmatched.list(Date.now());
  }

  /** Switches that answer by SNMP, or that those who answer hear by LLDP. */
  searchSwitches(search: SwitchSearch, signal: AbortSignal): Promise<readonly FoundSwitch[]> {
    const { store, switches } = this.#services;
    return switches.search(store.current, search, signal);
  }

  /** Takes what a machine has sent of itself; answers what it is to do. */
  async report(text: string, address: string): Promise<string> {
    const { store, index } = this.#services;
    checkNetwork(store.current, address);
    const described = readMachine(text);
    const sender = { address: canonicalAddress(address), node: index.byAddress(address) };
    const node = this.#known.withMac(store.current, described.mac);
    if (node !== undefined && described.state !== discovering) {
      const decision = believed({ node, by: ['mac'] }, sender);
      return 'reason' in decision
        ? this.#wait(described, sender, decision)
        : this.#next(store.current, node, described.state);
    }
    checkIsOn(store.current);
    const machine = await this.#located(described);
    // Nothing is written, and nobody waits for those who write, while it is nobody's turn.
    const expected = this.#decide(store.current, machine, sender);
    const decision = 'reason' in expected ? expected : await this.#adopt(machine, sender, expected);
    if ('reason' in decision) return this.#wait(machine, sender, decision);
    this.#unmatched.forget(machine);
    return reboot;
  }

  #wait(machine: Machine, { address }: Sender, { reason, impostor }: Refusal): string {
    const now = Date.now();
    this.#unmatched.note(machine, address, reason, now);
    if (impostor === undefined) return again;
    if (now - (this.#warned.get(impostor) ?? 0) > warningPause) {
      this.#warned.set(impostor, now);
      this.#services.log.warn(
        { node: impostor, address, mac: machine.mac },
        `A discovery report was refused. ${reason}`,
      );
    }
    throw new Fault('denied', `The address ${address} belongs to another node than the one that this report names.`);
  }

  /** Where switches have seen a machine, if what it says itself names no node. */
  async #located(machine: Machine): Promise<Machine> {
    const { store, switches } = this.#services;
    if (this.#known.find(store.current, machine).length > 0) return machine;
    const seen = await switches.portsOf(store.current, machine.macs);
    return seen.length === 0 ? machine : { ...machine, neighbours: [...seen, ...machine.neighbours] };
  }

  /** A node that waits for what comes next goes on when that is something else. */
  #next(snapshot: Snapshot, node: string, state: string): string {
    const now = shownBootState(effectiveReader(snapshot), node);
    if (now !== state) return reboot;
    return state === 'shutdown' ? 'poweroff' : again;
  }

  #decide(snapshot: Snapshot, machine: Machine, sender: Sender): Decision {
    const reader = effectiveReader(snapshot);
    const matched = match(machine, this.#known.find(snapshot, machine), (node) => identityOf(reader, node));
    if (matched.kind === 'node') return believed(matched, sender);
    if (matched.kind === 'refused') return { reason: matched.sentence };
    const node = nextInOrder(snapshot);
    if (node !== undefined) return believed({ node, by: ['order'] }, sender);
    const [range] = openRanges(snapshot);
    return {
      reason: range
        ? `No node is defined like it, and all nodes of the open range ${range.noderange} have their machines.`
        : 'No node is defined like it, and no range is open.',
    };
  }

  async #adopt(machine: Machine, sender: Sender, expected: Chosen): Promise<Decision> {
    const { store, dhcp, log } = this.#services;
    const origin = { user: 'muster', client: sender.address, command: 'discovery', run: randomUUID() };
    const { result } = this.#plan(store.current, machine, sender, new Map());
    const readiness = await this.#readinessOf(expected.node, result);
    let planned: Planned | undefined;
    const { snapshot } = await store.change(origin, (head) => {
      planned = this.#plan(head, machine, sender, readiness);
      return planned.changes;
    });
    const { decision, notes, changes } = planned!;
    if ('reason' in decision) return decision;
    const { node, by } = decision;
    for (const note of notes) log.warn({ node }, note);
    if (changes.length > 0) log.info({ node, mac: machine.mac, by }, 'a machine has become a node');
    const failure = (await followReservations(dhcp, snapshot, [node], false, origin)).get(node);
    // Without its address it would only come back here.
    if (failure) return { reason: `It is ${node} now. ${failure.sentences.join(' ')}` };
    return decision;
  }

  /** What the node finds that the machine will be, so that what it boots next is decided with all that belongs to it. */
  async #readinessOf(node: string, adopted: Snapshot): Promise<ReadinessByImage> {
    const { store, readiness } = this.#services;
    const reader = effectiveReader(store.current);
    try {
      const states = parseBootStates(stateAfterDiscovery(reader, node) ?? 'boot');
      return await readiness(adopted, atOnce(imagesWanted(reader, [node], states)));
    } catch (error) {
      // The adoption says what is wrong with its states.
      if (error instanceof Fault) return new Map();
      throw error;
    }
  }

  #plan(head: Snapshot, machine: Machine, sender: Sender, readiness: ReadinessByImage): Planned {
    const draft = new Draft(head);
    const decision = this.#decide(head, machine, sender);
    if ('reason' in decision) return { decision, notes: [], changes: [], result: head };
    const processorNetworks = this.#processorNetworks;
    const notes = planAdoption(draft, { ...decision, machine, processorNetworks, now: new Date(), readiness });
    return { decision, notes, changes: draft.changes(), result: draft.snapshot() };
  }
}

interface Planned {
  readonly decision: Decision;
  readonly notes: readonly string[];
  readonly changes: RowChange[];
  /** What the tables say then. */
  readonly result: Snapshot;
}

/** Users of a node have its address: what comes from there names that node, and no other. */
function believed(decision: Chosen, sender: Sender): Decision {
  const { node: impostor, address } = sender;
  if (impostor === undefined || impostor === decision.node) return decision;
  const reason =
    `It would be ${decision.node}, but its address ${address} is that of ${impostor}: somebody on ${impostor} may pretend to be ` +
    `another machine. If it is a new machine, take the address of ${impostor} out of the dynamic range of the network.`;
  return { reason, impostor };
}

/** Only machines on networks of the cluster are listened to. */
function checkNetwork(snapshot: Snapshot, address: string): void {
  const ip = parseIp(canonicalAddress(address));
  if (ip && networksOf(snapshot).some(({ prefix }) => contains(prefix, ip))) return;
  throw new Fault('denied', `The address ${address} is in none of the defined networks.`);
}

/** Those that nobody knows, only when somebody has asked for them. */
function checkIsOn(snapshot: Snapshot): void {
  if (discoveryIsOn(snapshot)) return;
  throw new Fault(
    'denied',
    'Discovery is off: POST /discovery opens a range of nodes, or set the site attribute discovery.',
  );
}

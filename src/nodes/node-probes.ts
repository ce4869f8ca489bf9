import type { AddressGuard } from '../core/address-guard.ts';
import { Fault } from '../core/errors.ts';
import { readOptional } from '../core/files.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { byText } from '../database/sorted-map.ts';
import { isEnabled, keyOf, tableNamed } from '../database/tables.ts';
import { listItems } from '../core/list-items.ts';
import { groupMembers } from '../objects/groups.ts';
import { Pinger } from '../protocols/probe/ping.ts';
import { PortProbe } from '../protocols/probe/ports.ts';

/** What runs on a node is known by the port it listens on. */
export interface Application {
  readonly name: string;
  readonly port: number;
  /** Those it is looked for on; undefined: all. */
  readonly nodes?: ReadonlySet<string>;
}

const knownPorts: ReadonlyMap<string, number> = new Map([
  ['ftp', 21],
  ['gpfs', 1_191],
  ['https', 443],
  ['ll', 9_616],
  ['loadl', 9_616],
  ['loadl_master', 9_616],
  ['loadleveler', 9_616],
  ['msrpc', 135],
  ['pbs', 15_002],
  ['pbs_mom', 15_002],
  ['rdp', 3_389],
  ['ssh', 22],
  ['sshd', 22],
  ['xend', 8_002],
]);

export const usualApplications: readonly Application[] = ['https', 'msrpc', 'pbs', 'rdp', 'sshd', 'xend'].map(
  (name) => ({ name, port: knownPorts.get(name)! }),
);

/** Every node is asked for each of them. */
const mostApplications = 64;

/** The applications that `apps` of `xcatmon` in table monsetting names, and always sshd; the usual ones if it names none. */
export function monitoredApplications(snapshot: Snapshot): readonly Application[] {
  const names = new Set(listItems(setting(snapshot, 'apps')));
  if (names.size === 0) return usualApplications;
  if (!names.has('ssh')) names.add('sshd');
  if (names.size > mostApplications)
    throw new Fault('invalid', `monsetting: apps of xcatmon names more than ${mostApplications} applications.`);
  return [...names].sort(byText).map((name) => application(snapshot, name));
}

function setting(snapshot: Snapshot, key: string): string {
  const row = snapshot.get('monsetting', keyOf(tableNamed('monsetting'), { name: 'xcatmon', key }));
  return row && isEnabled(row) ? (row['value'] ?? '') : '';
}

function application(snapshot: Snapshot, name: string): Application {
  const wrong = (reason: string): Fault => new Fault('invalid', `monsetting: application "${name}": ${reason}`);
  const groups: string[] = [];
  let port: number | undefined;
  for (const part of listItems(setting(snapshot, name))) {
    const [word = '', value = ''] = part.split('=', 2);
    if (word === 'port') {
      port = Number(value);
      if (!/^\d+$/.test(value) || port < 1 || port > 65_535) throw wrong(`"${value}" is not a port from 1 to 65535.`);
    } else if (word === 'group') groups.push(value);
    // Whoever may write this table would otherwise run commands as whoever runs this server, on every node.
    else if (['cmd', 'lcmd', 'dcmd'].includes(word))
      throw wrong(`${word}= is not supported: commands from a table are not run. Give it port=, or use nodeshell.`);
    else throw wrong(`"${word}" is not known; known are port= and group=.`);
  }
  port ??= knownPorts.get(name) ?? registeredPort(name);
  if (port === undefined) throw wrong('its port is not known. Give it port=.');
  if (groups.length === 0) return { name, port };
  const members = groups.map((group) => groupMembers(snapshot, group));
  const missing = members.indexOf(undefined);
  if (missing >= 0) throw wrong(`there is no group "${groups[missing]}".`);
  return { name, port, nodes: new Set(members.flatMap((nodes) => nodes ?? [])) };
}

/** As the operating system knows it. */
function registeredPort(name: string): number | undefined {
  for (const line of (readOptional('/etc/services') ?? '').split('\n')) {
    const [service, at = ''] = line.split(/\s+/, 2);
    if (service === name && /^\d+\/tcp$/.test(at)) return Number.parseInt(at, 10);
  }
  return undefined;
}

/** Finds those of the applications that are looked for on a node. */
export function applicationsOf(all: readonly Application[]): (node: string) => readonly Application[] {
  if (all.every(({ nodes }) => nodes === undefined)) return () => all;
  return (node) => all.flatMap(({ name, port, nodes }) => ((nodes?.has(node) ?? true) ? { name, port } : []));
}

/** Each application as up or down, as `appstatus` keeps it. */
export const applicationStatus = (applications: readonly Application[], running: readonly string[]): string =>
  applications.map(({ name }) => `${name}=${running.includes(name) ? 'up' : 'down'}`).join(',');

/** Where an installer reports how far it is. */
const installerPort = 3_001;

interface ProbeResult {
  readonly alive: boolean;
  /** Names of what answers, in order. */
  readonly applications: readonly string[];
}

/** Looks at nodes from outside: by ICMP first, and at ports only of those that answer. */
export class NodeProbes {
  readonly #pinger = new Pinger();
  readonly #ports = new PortProbe();
  readonly #guard: AddressGuard;

  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  async look(address: string, applications: readonly Application[], signal: AbortSignal): Promise<ProbeResult> {
    await this.#guard.admit(address);
    const pinged = await this.#pinger.ping(address, signal);
    if (pinged === false) return { alive: false, applications: [] };
    const states = await Promise.all(applications.map(({ port }) => this.#ports.state(address, port, signal)));
    // What was not asked any more has not been silent.
    if (signal.aborted) throw new Fault('invalid', 'the command was cancelled.');
    return {
      // Without ICMP a refusal is a sign of life as well.
      alive: pinged ?? states.some((state) => state !== 'silent'),
      applications: applications.flatMap(({ name }, i) => (states[i] === 'open' ? name : [])),
    };
  }

  /** What the installer on a node says of itself. */
  async installer(address: string, signal: AbortSignal): Promise<string | undefined> {
    const line = await this.#ports.ask(address, installerPort, 'stat ', signal);
    return line?.replaceAll(/[^\x20-\x7e]/g, '').trim() || undefined;
  }
}

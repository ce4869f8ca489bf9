import { dutiesOf, type Duty, type Workers } from '../bus/index.ts';
import { Fault } from '../core/errors.ts';
import { ipText, parseIp } from '../core/ip.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import type { Dns, Names } from '../names/index.ts';
import { effectiveReader, siteValue } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';

/** Lets servers decide what workers serve their nodes, by the table of service nodes. */
export function assignDuties(
  workers: Workers,
  store: Pick<Store, 'current'>,
  { dns, daemons }: Pick<Names, 'dns' | 'daemons'>,
): void {
  // What is copied is said by the server that has it.
  const copies = daemons.isHere('names') ? new ZoneCopies(dns) : undefined;
  workers.dutiesBy((worker) => dutiesFor(store.current, worker, copies));
}

/** Milliseconds for which files of named are not read again, however many workers ask. */
const zonesKept = 2_000;

/** What name servers of workers need. */
class ZoneCopies {
  readonly #dns: Pick<Dns, 'secondary'>;
  #known: ReturnType<Dns['secondary']>;
  #since = -Infinity;

  constructor(dns: Pick<Dns, 'secondary'>) {
    this.#dns = dns;
  }

  of(snapshot: Snapshot, master: string | undefined): ReturnType<Dns['secondary']> {
    if (performance.now() - this.#since < zonesKept) return this.#known;
    try {
      this.#known = this.#dns.secondary(snapshot, master);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.#known = { objection: error.message.slice(0, 500) };
    }
    this.#since = performance.now();
    return this.#known;
  }
}

const logPort = 514;

function dutiesFor(snapshot: Snapshot, worker: string, copies: ZoneCopies | undefined): readonly Duty[] {
  const reader = effectiveReader(snapshot);
  const isSet = (attribute: string): boolean =>
    !['', '0', 'no'].includes(nodeAttribute(reader, worker, attribute) ?? '');
  const master = masterAddress(snapshot);
  const zones = isSet('setupnameserver') ? copies?.of(snapshot, master) : null;
  return dutiesOf(
    {
      dhcp: isSet('setupdhcp') ? { servers: master === undefined ? [] : [master] } : null,
      // Of log messages the table says nothing: the settings of the worker decide.
      syslog: { servers: master === undefined ? [] : [{ host: master, port: logPort }] },
      ...(zones !== undefined && { dns: zones }),
    },
    snapshot.revision,
  );
}

/** The server as nodes know it. */
function masterAddress(snapshot: Snapshot): string | undefined {
  const ip = parseIp(siteValue(snapshot, 'master') ?? '');
  return ip?.family === 4 ? ipText(ip) : undefined;
}

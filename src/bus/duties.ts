import { createHash } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { encoded, messageReader, type Service } from './messages.ts';

/** Bytes of the longest list of zones, with what else is said of them. */
const largestDuty = 512 * 1024;
const mostZones = 10_000;
const mostClients = 4_096;
const mostAddresses = 64;

const address = Type.String({ pattern: '^[0-9A-Fa-f:.]{2,45}$' });
const network = Type.String({ pattern: '^[0-9A-Fa-f:./]{2,50}$' });
const Addresses = Type.Array(address, { maxItems: mostAddresses });
const domain = Type.String({ pattern: '^[a-z0-9_.-]{1,253}$' });
const place = Type.Object({ host: address, port: Type.Integer({ minimum: 1, maximum: 65_535 }) });

/** Why the server cannot say what is to be served. */
const objection = Type.Object({ objection: Type.String({ maxLength: 500 }) });
const nothing = Type.Null();

/** A relay of DHCP requests, and the servers that it asks. */
const dhcp = Type.Object({ servers: Addresses });

/** A name server that keeps copies of the zones of the cluster. */
const dns = Type.Object({
  zones: Type.Array(domain, { maxItems: mostZones }),
  primary: place,
  /** Lets it copy zones, and nothing else. */
  key: Type.Object({ name: domain, secret: Type.String({ pattern: '^[A-Za-z0-9+/=]{1,200}$' }) }),
  forwarders: Addresses,
  forwardOnly: Type.Boolean(),
  /** Who may ask it for names of others. */
  clients: Type.Array(network, { maxItems: mostClients }),
});

/** A receiver of log messages, and where it sends them. */
const syslog = Type.Object({ servers: Type.Array(place, { maxItems: 8 }) });

const versionLength = 16;
const decision = {
  /** Of the database when it was decided: what was decided later counts. */
  revision: Type.Integer({ minimum: 0 }),
  /** Stands for what is wanted. */
  version: Type.String({ maxLength: 64 }),
};
const dutySchema = Type.Union([
  Type.Object({ service: Type.Literal('dhcp'), wanted: Type.Union([nothing, objection, dhcp]), ...decision }),
  Type.Object({ service: Type.Literal('dns'), wanted: Type.Union([nothing, objection, dns]), ...decision }),
  Type.Object({ service: Type.Literal('syslog'), wanted: Type.Union([nothing, objection, syslog]), ...decision }),
]);

/** What a server wants a worker to serve; null: nothing. Boot files are no duty: the worker asks for each of them. */
export type Duty = Static<typeof dutySchema>;
export const readDuty = messageReader(dutySchema, largestDuty);

export type DhcpDuty = Static<typeof dhcp>;
export type DnsDuty = Static<typeof dns>;
export type SyslogDuty = Static<typeof syslog>;

/** What a worker would drop, in a sentence; undefined: it takes it. */
export function dnsDutyProblem(wanted: DnsDuty): string | undefined {
  const duty: Duty = { service: 'dns', wanted, revision: Number.MAX_SAFE_INTEGER, version: '0'.repeat(versionLength) };
  if (readDuty(encoded(duty))) return undefined;
  const { zones, clients, forwarders } = wanted;
  return `${zones.length} zones, ${clients.length} networks and ${forwarders.length} forwarders are more than a worker takes (${mostZones}, ${mostClients} and ${mostAddresses}, in ${largestDuty / 1024} KiB)`;
}

/** What is wanted of each service; one that is absent, another server decides. */
export interface WantedServices {
  readonly dhcp: DhcpDuty | Static<typeof objection> | null;
  readonly dns?: DnsDuty | Static<typeof objection> | null;
  readonly syslog: SyslogDuty | Static<typeof objection> | null;
}

export const dutiesOf = (wanted: WantedServices, revision: number): readonly Duty[] =>
  Object.entries(wanted).map(([service, each]) => ({
    service: service as Exclude<Service, 'boot'>,
    wanted: each,
    revision,
    version: createHash('sha256').update(JSON.stringify(each)).digest('hex').slice(0, versionLength),
  }));

import type { CallOptions, LibvirtConnection } from '../connection.ts';
import { longestList, type Parameters, readParameters, type XdrReader, XdrWriter } from '../wire.ts';
import { isRefusal, LibvirtFault } from '../faults.ts';
import { authentications, errorCodes, eventKinds, eventProcedures, features, procedures } from '../procedures.ts';

/** A machine as libvirt names it. The daemon finds it by the UUID. */
export interface Domain {
  readonly name: string;
  /** In the usual form with dashes. */
  readonly uuid: string;
}

/** Of one that does not run; nobody reads it on the way to the daemon. */
const noId = -1;

const uuidParts = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;

export const uuidText = (bytes: Buffer): string => bytes.toString('hex').replace(uuidParts, '$1-$2-$3-$4-$5');
export const uuidBytes = (text: string): Buffer => Buffer.from(text.replaceAll('-', ''), 'hex');

export function readDomain(body: XdrReader): Domain {
  const name = body.string();
  const uuid = uuidText(body.uuid());
  body.int();
  return { name, uuid };
}

export const writeDomain = (body: XdrWriter, { name, uuid }: Domain): XdrWriter =>
  body.string(name).opaque(uuidBytes(uuid)).int(noId);

export const domainStates = {
  none: 0,
  running: 1,
  blocked: 2,
  paused: 3,
  shuttingDown: 4,
  off: 5,
  crashed: 6,
  suspended: 7,
} as const;

/** Reasons of `domainStates.paused` that something is made of. */
export const pauseReasons = { save: 3, snapshot: 9 } as const;

export const lifecycles = {
  defined: 0,
  undefined: 1,
  started: 2,
  suspended: 3,
  resumed: 4,
  stopped: 5,
  shutdown: 6,
  suspendedByGuest: 7,
  crashed: 8,
} as const;

/** Details of `lifecycles.started` and of `lifecycles.stopped` that something is made of. */
export const startReasons = { migrated: 1 } as const;
export const stopReasons = { crashed: 2, migrated: 3, failed: 5 } as const;

const mostAuthentications = 20;

/** Opens a driver such as `qemu:///system`; then machines can be asked for. The daemon's signs of life are watched from now on. */
export async function openDriver(connection: LibvirtConnection, uri: string, options: CallOptions): Promise<void> {
  const offered = await connection.call(procedures.authList, new XdrWriter(), options);
  const kinds = offered.list(mostAuthentications, () => offered.int());
  if (!kinds.includes(authentications.none)) {
    const names = Object.entries(authentications).flatMap(([name, kind]) => (kinds.includes(kind) ? name : []));
    throw new LibvirtFault(
      'refused',
      `libvirt on ${connection.where} asks for a login (${names.join(', ')}); let muster in as root there, or without a login.`,
    );
  }
  const name = new XdrWriter();
  await connection.call(procedures.connectOpen, name.optional(uri, (text) => name.string(text)).uint(0), options);
  const asked = new XdrWriter().int(features.keepalive);
  if ((await connection.call(procedures.connectSupportsFeature, asked, options)).bool()) connection.watchLife();
}

export const aboutDomain = (domain: Domain): XdrWriter => writeDomain(new XdrWriter(), domain);

const none = 0;

/** All, running or not. */
export async function listDomains(connection: LibvirtConnection, options: CallOptions): Promise<Domain[]> {
  const wantsThem = 1;
  const reply = await connection.call(
    procedures.connectListAllDomains,
    new XdrWriter().int(wantsThem).uint(none),
    options,
  );
  return reply.list(longestList, () => readDomain(reply));
}

/** Undefined where there is none. */
export async function findDomain(
  connection: LibvirtConnection,
  by: { readonly name: string } | { readonly uuid: string },
  options: CallOptions,
): Promise<Domain | undefined> {
  try {
    const reply = await ('name' in by
      ? connection.call(procedures.domainLookupByName, new XdrWriter().string(by.name), options)
      : connection.call(procedures.domainLookupByUuid, new XdrWriter().opaque(uuidBytes(by.uuid)), options));
    return readDomain(reply);
  } catch (error) {
    if (isRefusal(error, errorCodes.noDomain)) return undefined;
    throw error;
  }
}

/** One of `domainStates`, and libvirt's reason for it. */
export async function domainState(
  connection: LibvirtConnection,
  domain: Domain,
  options: CallOptions,
): Promise<{ readonly state: number; readonly reason: number }> {
  const reply = await connection.call(procedures.domainGetState, aboutDomain(domain).uint(none), options);
  return { state: reply.int(), reason: reply.int() };
}

/** Whether it goes on at its next start with memory that was saved. */
export async function hasSavedMemory(
  connection: LibvirtConnection,
  domain: Domain,
  options: CallOptions,
): Promise<boolean> {
  const body = aboutDomain(domain).uint(none);
  return (await connection.call(procedures.domainHasManagedSaveImage, body, options)).int() === 1;
}

/** What statistics to ask for, to be added up. */
export const statistics = { state: 1, cpu: 2, balloon: 4, vcpu: 8, interface: 16, block: 32 } as const;

export interface DomainStatistics {
  readonly domain: Domain;
  readonly values: Parameters;
}

/** Of the machines that are named, or of all; one call for any number of them. */
export async function domainStatistics(
  connection: LibvirtConnection,
  kinds: number,
  domains: readonly Domain[],
  options: CallOptions,
): Promise<DomainStatistics[]> {
  const body = new XdrWriter();
  body
    .list(domains, (domain) => writeDomain(body, domain))
    .uint(kinds)
    .uint(none);
  const reply = await connection.call(procedures.connectGetAllDomainStats, body, options);
  return reply.list(longestList, () => ({ domain: readDomain(reply), values: readParameters(reply) }));
}

/** Only what is to be defined again has its secrets in it. */
export async function domainXml(
  connection: LibvirtConnection,
  domain: Domain,
  which: 'now' | 'next start' | 'to define again',
  options: CallOptions,
): Promise<string> {
  const [secure, inactive] = [1, 2];
  const flags = { now: none, 'next start': inactive, 'to define again': inactive + secure }[which];
  return (await connection.call(procedures.domainGetXml, aboutDomain(domain).uint(flags), options)).string();
}

/** A new machine, or a new definition of the one with the same UUID and name. */
export async function defineDomain(connection: LibvirtConnection, xml: string, options: CallOptions): Promise<Domain> {
  const body = new XdrWriter().string(xml).uint(none);
  return readDomain(await connection.call(procedures.domainDefineXmlFlags, body, options));
}

/** With all that libvirt itself keeps of it: a saved state, what it knows of snapshots and, unless they are kept, firmware variables. */
export async function undefineDomain(
  connection: LibvirtConnection,
  domain: Domain,
  options: CallOptions & { readonly keepsVariables?: boolean },
): Promise<void> {
  const withSavedState = 1;
  const withSnapshots = 2;
  const [withFirmwareVariables, withoutFirmwareVariables] = [4, 8];
  const flags =
    withSavedState + withSnapshots + (options.keepsVariables ? withoutFirmwareVariables : withFirmwareVariables);
  await connection.call(procedures.domainUndefineFlags, aboutDomain(domain).uint(flags), options);
}

const acts = {
  start: procedures.domainCreateWithFlags,
  destroy: procedures.domainDestroyFlags,
  shutdown: procedures.domainShutdownFlags,
  reset: procedures.domainReset,
  nmi: procedures.domainInjectNmi,
} as const;
export type DomainAct = keyof typeof acts;

/** `shutdown` only asks the guest, and it is a success where nobody listens. */
export async function actOnDomain(
  connection: LibvirtConnection,
  act: DomainAct,
  domain: Domain,
  options: CallOptions,
): Promise<void> {
  await connection.call(acts[act], aboutDomain(domain).uint(none), options);
}

/** Its processors stop; it stays in memory. */
export async function suspendDomain(
  connection: LibvirtConnection,
  domain: Domain,
  options: CallOptions,
): Promise<void> {
  await connection.call(procedures.domainSuspend, aboutDomain(domain), options);
}

/** In memory, with its processors stopped, as the XML says; its definition for the next start stays as it is. */
export async function startPaused(connection: LibvirtConnection, xml: string, options: CallOptions): Promise<void> {
  const paused = 1;
  await connection.call(procedures.domainCreateXml, new XdrWriter().string(xml).int(paused), options);
}

/** An element of somebody's own namespace in what a machine is while it is loaded. Without XML it is removed. */
export async function setMetadata(
  connection: LibvirtConnection,
  domain: Domain,
  { xml, prefix, namespace }: { readonly xml: string | undefined; readonly prefix: string; readonly namespace: string },
  options: CallOptions,
): Promise<void> {
  const [anElement, ofTheLoaded] = [2, 1];
  const body = aboutDomain(domain).int(anElement);
  const write = (text: string): unknown => body.string(text);
  body
    .optional(xml, write)
    .optional(xml === undefined ? undefined : prefix, write)
    .optional(namespace, write);
  await connection.call(procedures.domainSetMetadata, body.uint(ofTheLoaded), options);
}

/** Of one that is paused. */
export async function resumeDomain(connection: LibvirtConnection, domain: Domain, options: CallOptions): Promise<void> {
  await connection.call(procedures.domainResume, aboutDomain(domain), options);
}

export interface LifecycleEvent {
  readonly domain: Domain;
  /** One of `lifecycles`. */
  readonly event: number;
  readonly detail: number;
}

/** Asks for events of every machine from now on. */
export async function followDomains(
  connection: LibvirtConnection,
  heard: (event: LifecycleEvent) => void,
  options: CallOptions,
): Promise<void> {
  connection.listen(eventProcedures.lifecycle, (body) => heard(readLifecycle(body)));
  const ofAll = new XdrWriter().int(eventKinds.lifecycle).optional(undefined, () => undefined);
  await connection.call(procedures.eventRegister, ofAll, options);
}

export function readLifecycle(body: XdrReader): LifecycleEvent {
  /* The number of our registration, of which there is one. */
  body.int();
  return { domain: readDomain(body), event: body.int(), detail: body.int() };
}

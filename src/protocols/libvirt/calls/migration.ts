import type { CallOptions, LibvirtConnection } from '../connection.ts';
import { longestCookie, type Parameters, readParameters, writeTexts, XdrWriter } from '../wire.ts';
import { aboutDomain, type Domain, readDomain } from './domains.ts';
import { procedures } from '../procedures.ts';

/**
 * A migration in the five steps of libvirt's third protocol: begin at the source, prepare at the target, perform at the source, finish
 * at the target, confirm at the source. Each hands the next a cookie, through us: the two daemons need not know each other.
 */
export const migrationFlags = {
  live: 1,
  definedAtTarget: 8,
  undefinedAtSource: 16,
  paused: 32,
  copyDisks: 64,
  /** Nobody else changes the machine meanwhile, and it goes on at the source if we are lost. */
  protected: 256,
  unsafe: 512,
} as const;

export interface Migration {
  /** Of `migrationFlags`, added up. */
  readonly flags: number;
  /** The devices of disks whose content is to be copied. */
  readonly copied: readonly string[];
}

const parametersOf = (
  { copied }: Migration,
  more: Readonly<Record<string, string | undefined>> = {},
): readonly (readonly [string, string])[] => [
  ...copied.map((device) => ['migrate_disks', device] as const),
  ...Object.entries(more).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
];

export async function beginMigration(
  connection: LibvirtConnection,
  domain: Domain,
  migration: Migration,
  options: CallOptions,
): Promise<{ readonly cookie: Buffer; readonly xml: string }> {
  const body = writeTexts(aboutDomain(domain), parametersOf(migration)).uint(migration.flags);
  const reply = await connection.call(procedures.domainMigrateBegin3Params, body, options);
  return { cookie: reply.data(longestCookie), xml: reply.string() };
}

/** The target waits for the machine from now on; `uri` is where. */
export async function prepareMigration(
  connection: LibvirtConnection,
  { name }: Domain,
  migration: Migration,
  { cookie, xml }: { readonly cookie: Buffer; readonly xml: string },
  options: CallOptions,
): Promise<{ readonly cookie: Buffer; readonly uri: string | undefined }> {
  const parameters = parametersOf(migration, { destination_name: name, destination_xml: xml });
  const body = writeTexts(new XdrWriter(), parameters).data(cookie).uint(migration.flags);
  const reply = await connection.call(procedures.domainMigratePrepare3Params, body, options);
  return { cookie: reply.data(longestCookie), uri: reply.optional(() => reply.string()) };
}

/** Takes as long as it takes; afterwards the machine is paused at the source. */
export async function performMigration(
  connection: LibvirtConnection,
  domain: Domain,
  migration: Migration,
  { cookie, uri, xml }: { readonly cookie: Buffer; readonly uri: string | undefined; readonly xml: string },
  options: CallOptions,
): Promise<Buffer> {
  const parameters = parametersOf(migration, { destination_xml: xml, migrate_uri: uri });
  const body = aboutDomain(domain).optional<never>(undefined, () => undefined);
  writeTexts(body, parameters).data(cookie).uint(migration.flags);
  return (await connection.call(procedures.domainMigratePerform3Params, body, options)).data(longestCookie);
}

/** The machine runs at the target. `cancelled`: the target forgets it, and says that it has not got it. */
export async function finishMigration(
  connection: LibvirtConnection,
  { name }: Domain,
  migration: Migration,
  { cookie, isCancelled }: { readonly cookie: Buffer; readonly isCancelled: boolean },
  options: CallOptions,
): Promise<{ readonly domain: Domain; readonly cookie: Buffer }> {
  const body = writeTexts(new XdrWriter(), parametersOf({ ...migration, copied: [] }, { destination_name: name }));
  body
    .data(cookie)
    .uint(migration.flags)
    .int(isCancelled ? 1 : 0);
  const reply = await connection.call(procedures.domainMigrateFinish3Params, body, options);
  return { domain: readDomain(reply), cookie: reply.data(longestCookie) };
}

/** The machine is gone from the source. `cancelled`: it goes on there. */
export async function confirmMigration(
  connection: LibvirtConnection,
  domain: Domain,
  migration: Migration,
  { cookie, isCancelled }: { readonly cookie: Buffer; readonly isCancelled: boolean },
  options: CallOptions,
): Promise<void> {
  const body = writeTexts(aboutDomain(domain), []).data(cookie);
  body.uint(migration.flags).int(isCancelled ? 1 : 0);
  await connection.call(procedures.domainMigrateConfirm3Params, body, options);
}

/** How far the job under way is; empty if there is none. */
export async function jobStatistics(
  connection: LibvirtConnection,
  domain: Domain,
  options: CallOptions,
): Promise<Parameters> {
  const reply = await connection.call(procedures.domainGetJobStats, aboutDomain(domain).uint(0), options);
  /* What kind of job it is. */
  reply.int();
  return readParameters(reply);
}

export async function abortJob(connection: LibvirtConnection, domain: Domain, options: CallOptions): Promise<void> {
  await connection.call(procedures.domainAbortJob, aboutDomain(domain), options);
}

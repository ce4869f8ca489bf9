import { Fault } from '../../core/errors.ts';
import { onAbort, pause } from '../../core/waiting.ts';
import {
  actOnDomain,
  defineDomain,
  domainState,
  domainStates,
  domainXml,
  findDomain,
  undefineDomain,
} from '../../protocols/libvirt/calls/domains.ts';
import {
  abortJob,
  beginMigration,
  confirmMigration,
  finishMigration,
  jobStatistics,
  type Migration,
  performMigration,
  prepareMigration,
} from '../../protocols/libvirt/calls/migration.ts';
import { LibvirtFault } from '../../protocols/libvirt/faults.ts';
import { readXml } from '../../protocols/libvirt/xml.ts';
import { copyTimeout } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { goOn } from './left-paused.ts';
import type { Move } from './migrate.ts';
import { persist, type Undo, undone } from './machine.ts';
import { reachingPart, refuseReaching } from './moved-definition.ts';

const poll = 500;
const mebi = 1024 * 1024;
const nothing = Buffer.alloc(0);

/** It may be at the target: nothing is taken back, since it may use what was made there, and two of it would be the end of its disks. */
export class Adrift extends Fault {}

/**
 * Moves a machine that is in memory. What becomes of it is decided by where it is, not by answers, which may be lost. Resolves with what
 * there is to say.
 */
export async function transfer(move: Move, migration: Migration): Promise<readonly string[]> {
  const { from, domain, source, target, signal } = move;
  const begun = await beginMigration(source.connection, domain, migration, { signal });
  let cookie: Buffer;
  try {
    // What is started is what the source says now, not what it said before.
    refuseReaching(readXml(begun.xml), move.arrival);
    const prepared = await prepareMigration(target.connection, domain, migration, begun, { signal });
    cookie = await arrive(move, migration, await perform(move, migration, { ...prepared, xml: begun.xml }));
  } catch (error) {
    if (error instanceof Adrift) throw error;
    await dismiss(move, migration);
    throw await undone(error, [staying(move, migration)], from, `It could not be made as it was on ${source.host}:`);
  }
  const left: string[] = [];
  try {
    await persist(move.to, replaceReaching(move, begun.xml));
  } catch (error) {
    left.push(`its definition on ${target.host} could not be checked (${(error as Error).message})`);
  }
  try {
    await persist(from, leaving(move, migration, cookie));
  } catch (error) {
    left.push(`what is left of it on ${source.host} could not be removed (${(error as Error).message})`);
  }
  return left;
}

/** What it is at its next start comes from the source by another way than what runs: it may not be more than that. */
const replaceReaching =
  ({ domain: { uuid }, arrival }: Move, running: string): Undo =>
  async ({ connection }, signal) => {
    const known = await findDomain(connection, { uuid }, { signal });
    if (!known) return;
    const next = readXml(await domainXml(connection, known, 'next start', { signal }));
    if (reachingPart(next, arrival.passesDevices) !== undefined) await defineDomain(connection, running, { signal });
  };

/** Asked to end it, libvirt does, and then answers. */
async function perform(
  { domain, source: { connection }, tell, signal }: Move,
  migration: Migration,
  prepared: Parameters<typeof performMigration>[3],
): Promise<Buffer> {
  const unhurried = unhurriedly();
  let isOver = false;
  const performing = performMigration(connection, domain, migration, prepared, unhurried).finally(
    () => (isOver = true),
  );
  // If it cannot be ended any more, it is complete in a moment.
  const ignore = onAbort(signal, () => void abortJob(connection, domain, unhurried).catch(() => undefined));
  const watching = (async () => {
    while (!isOver) {
      // A daemon that is busy with the beginning has no answer yet; it is asked again. What goes wrong is the other call's matter.
      const statistics = await jobStatistics(connection, domain, unhurried).catch(() => undefined);
      const [done, of] = ['data_processed', 'data_total'].map((name) =>
        Math.round(Number(statistics?.get(name) ?? 0) / mebi),
      );
      if (of! > 0) tell(`${done} MB of ${of} MB are copied`);
      await pause(poll, unhurried.signal);
    }
  })();
  // It only reports progress.
  watching.catch(() => undefined);
  try {
    return await performing;
  } finally {
    ignore();
  }
}

const unhurriedly = (): { signal: AbortSignal; timeout: number } => ({
  signal: new AbortController().signal,
  timeout: copyTimeout,
});

/** The target lets it run; what it hands back. A Fault says that it is not there. */
async function arrive({ to, domain, target, state }: Move, migration: Migration, cookie: Buffer): Promise<Buffer> {
  const last = { cookie, isCancelled: false };
  try {
    return (await finishMigration(target.connection, domain, migration, last, unhurriedly())).cookie;
  } catch (error) {
    if (await persist(to, (at, signal) => isAt(at, domain.uuid, state, signal)).catch(adrift(target.host)))
      return nothing;
    throw error;
  }
}

const adrift =
  (host: string) =>
  (error: Error): never => {
    const first = `${host} does not say whether it is there now: ${error.message}`;
    throw new Adrift(
      'invalid',
      [first, 'It is paused where it was; find out where it runs before you resume it there.'],
      {
        cause: error,
      },
    );
  };

/** Whether it does there what it did before, or is about to. */
async function isAt({ connection }: Hypervisor, uuid: string, before: number, signal: AbortSignal): Promise<boolean> {
  const known = await findDomain(connection, { uuid }, { signal });
  if (!known) return false;
  const { state } = await domainState(connection, known, { signal });
  return state === domainStates.running || (before !== domainStates.running && state === domainStates.paused);
}

/** The target forgets what it waited for. A daemon that was restarted, or cannot be reached, does so by itself. */
async function dismiss({ to, domain }: Move, migration: Migration): Promise<void> {
  const step = async (at: Hypervisor, signal: AbortSignal): Promise<void> => {
    const last = { cookie: nothing, isCancelled: true };
    await unlessRefused(finishMigration(at.connection, domain, migration, last, { signal }));
    await remove(at, domain.uuid, signal);
  };
  await persist(to, step).catch(() => undefined);
}

/** Libvirt refuses to end what it does not know of any more. */
async function unlessRefused(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof LibvirtFault) || error.failure !== 'refused') throw error;
  }
}

async function remove({ connection }: Hypervisor, uuid: string, signal: AbortSignal): Promise<void> {
  const known = await findDomain(connection, { uuid }, { signal });
  if (!known) return;
  const { state } = await domainState(connection, known, { signal });
  if (state !== domainStates.off) await actOnDomain(connection, 'destroy', known, { signal });
  const still = await findDomain(connection, { uuid }, { signal });
  if (still) await undefineDomain(connection, still, { signal });
}

/** It is at the target: here it is to be no more, also if the daemon here has forgotten why. */
const leaving =
  ({ domain }: Move, migration: Migration, cookie: Buffer): Undo =>
  async (at, signal) => {
    await unlessRefused(confirmMigration(at.connection, domain, migration, { cookie, isCancelled: false }, { signal }));
    await remove(at, domain.uuid, signal);
  };

/** It goes on as it was. */
const staying =
  ({ domain, state }: Move, migration: Migration): Undo =>
  async (at, signal) => {
    const { connection } = at;
    const last = { cookie: nothing, isCancelled: true };
    await unlessRefused(confirmMigration(connection, domain, migration, last, { signal }));
    const seen = await domainState(connection, domain, { signal });
    if (state === domainStates.running && seen.state === domainStates.paused) await goOn(at, domain, signal);
  };

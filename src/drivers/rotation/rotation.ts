import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { asTheyCome } from '../../core/as-they-come.ts';
import { Fault, Unreachable } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import { type Origin, ownOrigin } from '../../database/changeset.ts';
import type { HeldNames } from '../../database/held-names.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import type { Accounts } from '../accounts.ts';
import { nodesOfBmc } from '../bmc/shared-bmcs.ts';
import { ClaimedJobs, type JobNote } from '../claimed-jobs.ts';
import type { Devices, DeviceTarget, DeviceUser } from '../devices.ts';
import type { Hardware } from '../hardware.ts';
import { lengthFor, newPassword } from './new-password.ts';
import type { PendingPasswords } from './pending.ts';
import { settle } from './settle.ts';

/** The account of a BMC, and the nodes that muster reaches by it. */
export interface RotationJob {
  readonly key: string;
  readonly nodes: readonly string[];
  readonly target: DeviceTarget;
}

/** `finished`: one that had been begun before, and whose password counts. */
export type Rotated = 'rotated' | 'finished';

interface Services {
  readonly store: Store;
  readonly pending: PendingPasswords;
  readonly hardware: Hardware;
  readonly devices: Devices;
  readonly held: HeldNames<JobNote>;
  readonly log: Logger;
}

const command = 'bmcrotate';
/** Milliseconds: to the first look at what was left, between looks, and at most between attempts at one BMC. */
const times = { first: 1_000, look: 15_000, most: 3_600_000 };
/** Nodes that are looked at before others get their turn. */
const nodesPerTurn = 64;
/** BMCs that are asked at a time for what was left. */
const followed = 32;
/** For what has to be found out once something was sent. */
const settleTimeout = 300_000;

/**
 * Gives muster's own accounts of BMCs new random passwords. Each is stored before it is sent, and the one before is kept until a login has
 * shown which one counts; whatever ends in between, this class finds out later.
 */
export class PasswordRotation {
  readonly #services: Services;
  readonly claims: ClaimedJobs<RotationJob>;
  /** When BMCs are asked again that could not be settled, and how often that was tried. */
  readonly #later = new Map<string, { readonly at: number; readonly attempt: number }>();

  constructor(services: Services) {
    this.#services = services;
    this.claims = new ClaimedJobs(services.held);
  }

  /** The accounts of nodes, each once; a Fault for nodes that have none. Nodes that share one are rotated together or not at all. */
  async jobs(
    snapshot: Snapshot,
    nodes: readonly string[],
  ): Promise<{ readonly jobs: readonly RotationJob[]; readonly failed: ReadonlyMap<string, Fault> }> {
    const targets = this.#services.hardware.targets(snapshot, command, 'accounts');
    const wanted = new Set(nodes);
    const jobs = new Map<string, RotationJob>();
    const failed = new Map<string, Fault>();
    for (const [index, node] of nodes.entries()) {
      // Others get their turn: awaiting targets that are there already lets nobody else in.
      if (index % nodesPerTurn === nodesPerTurn - 1) await nextTurn();
      try {
        const target = await targets(node);
        const key = keyOf(target);
        if (jobs.get(key)?.nodes.includes(node)) continue;
        const sharing: string[] = [];
        for (const other of nodesOfBmc(snapshot, node))
          if ((await keyOfNode(targets, other)) === key) sharing.push(other);
        const left = sharing.filter((other) => !wanted.has(other)).length;
        if (left > 0) throw sharedWithOthers(left);
        jobs.set(key, { key, target, nodes: sharing.length > 0 ? sharing : [node] });
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        failed.set(node, error);
      }
    }
    return { jobs: [...jobs.values()], failed };
  }

  /** Of a job that was claimed, and whose beginning is noted. */
  async rotate(job: RotationJob, length: number | undefined, by: DeviceUser, origin: Origin): Promise<Rotated> {
    const { devices, pending } = this.#services;
    try {
      return await devices.use(job.target, 'accounts', by, (accounts) =>
        this.#rotate(accounts, job, length, by.signal, origin),
      );
    } finally {
      // Its turn never came, or it failed before a password was made.
      const left = job.nodes.filter((node) => pending.of(node) === undefined);
      await pending.drop(left, origin);
    }
  }

  /** Looks for what was left by whoever was killed, until what is returned is called. */
  follow(): () => void {
    const stop = new AbortController();
    const look = (): void => {
      this.#settleLeft(stop.signal)
        .catch((error: unknown) => {
          if (!stop.signal.aborted)
            this.#services.log.error({ err: error }, 'pending passwords of BMCs could not be looked at');
        })
        .finally(() => {
          if (!stop.signal.aborted) timer = setTimeout(look, times.look).unref();
        });
    };
    let timer = setTimeout(look, times.first).unref();
    return () => {
      stop.abort(new Fault('unavailable', 'muster is shutting down; try again shortly.'));
      clearTimeout(timer);
    };
  }

  async #rotate(
    accounts: Accounts,
    { nodes, target }: RotationJob,
    length: number | undefined,
    signal: AbortSignal,
    origin: Origin,
  ): Promise<Rotated> {
    const { pending } = this.#services;
    const [first = ''] = nodes;
    const account = target.account ?? '';
    const before = pending.of(first);
    if (before !== undefined && (await this.#settle(accounts, nodes, account, before, 0, origin)) === 'new')
      return 'finished';
    const fresh = newPassword(lengthFor(await accounts.passwordLength(signal), length));
    if (signal.aborted) throw new Fault('deadline', 'the command was ended before a password was sent.');
    await pending.keep(nodes, fresh, origin);
    let refusal: Fault | undefined;
    try {
      await accounts.setOwnPassword(fresh, AbortSignal.timeout(settleTimeout));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      refusal = error;
    }
    // Whatever it has answered, a login shows what it has kept.
    const isLost = refusal !== undefined && mayArrive(refusal);
    const settled = await this.#settle(accounts, nodes, account, fresh, 0, origin, !isLost);
    if (settled === 'new') return 'rotated';
    if (settled === 'old' && isLost)
      throw new Fault('unavailable', [
        refusal!.message,
        'Its BMC has the old password so far. muster keeps both, and looks again in a minute.',
      ]);
    if (settled === 'old')
      throw refusal ?? new Fault('invalid', 'its BMC accepted a new password but kept the one before.');
    throw new Fault(
      'invalid',
      `its BMC accepted a new password of ${fresh.length} characters but let nobody in with it, so muster has set the one before again. Ask for a shorter one (length).`,
    );
  }

  /** Finds out which password counts, and stores that. */
  async #settle(
    accounts: Accounts,
    nodes: readonly string[],
    account: string,
    fresh: string,
    attempt: number,
    origin: Origin,
    dropsOld = true,
  ): ReturnType<typeof settle> {
    const { pending } = this.#services;
    const signal = AbortSignal.timeout(settleTimeout);
    try {
      const settled = await settle(accounts, fresh, attempt, (wait) => sleep(wait), signal);
      if (settled === 'new') await pending.take(nodes, account, fresh, origin);
      else if (settled === 'restored' || dropsOld) await pending.drop(nodes, origin);
      return settled;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      throw new Fault(error.kind, [
        `it is not known whether its BMC has the new password: ${error.message}`,
        'muster keeps both passwords and finds out by itself when the BMC lets it in; the same command does it at once.',
      ]);
    }
  }

  async #settleLeft(signal: AbortSignal): Promise<void> {
    const { store, pending } = this.#services;
    const now = Date.now();
    const left = pending.nodes.filter((node) => (this.#later.get(node)?.at ?? 0) <= now);
    if (left.length === 0) return;
    const snapshot = store.current;
    const { jobs, failed } = await this.#leftJobs(snapshot, left);
    for (const [node, fault] of failed) this.#putOff(node, fault);
    const refused = await this.claims.claim(jobs, ownOrigin(command).user);
    const free = jobs.filter(({ key }) => !refused.has(key));
    const settling = asTheyCome(
      free.map(({ key }) => key),
      followed,
      async (key, begun) => {
        const job = free.find((one) => one.key === key)!;
        try {
          await this.#settleJob(job, begun, signal);
        } finally {
          this.claims.release([job]);
        }
        return { node: key, value: {} };
      },
    );
    for await (const _ of settling) if (signal.aborted) return;
  }

  /** Nodes of one account have one pending password; others of the BMC are none of this. */
  async #leftJobs(snapshot: Snapshot, nodes: readonly string[]) {
    const targets = this.#services.hardware.targets(snapshot, command, 'accounts');
    const jobs = new Map<string, { key: string; nodes: string[]; target: DeviceTarget }>();
    const failed = new Map<string, Fault>();
    for (const node of nodes) {
      try {
        const target = await targets(node);
        const key = keyOf(target);
        const job = jobs.get(key);
        if (job) job.nodes.push(node);
        else jobs.set(key, { key, target, nodes: [node] });
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        failed.set(node, error);
      }
    }
    return { jobs: [...jobs.values()], failed };
  }

  async #settleJob({ nodes, target }: RotationJob, begun: () => void, signal: AbortSignal): Promise<void> {
    const { pending, devices, log } = this.#services;
    const origin = ownOrigin(command);
    const [first = ''] = nodes;
    const fresh = pending.of(first);
    try {
      if (fresh === undefined) {
        // It ended before anything was sent.
        await pending.drop(nodes, origin);
        return;
      }
      const attempt = this.#later.get(first)?.attempt ?? 0;
      const by = { command, user: origin.user, signal, begun };
      const settled = await devices.use(target, 'accounts', by, (accounts) =>
        this.#settle(accounts, nodes, target.account ?? '', fresh, attempt, origin, attempt > 0),
      );
      if (settled === 'old' && attempt === 0) {
        // What was sent last may still be on its way to the BMC.
        for (const node of nodes) this.#later.set(node, { at: Date.now() + times.look, attempt: 1 });
        return;
      }
      for (const node of nodes) this.#later.delete(node);
      const which = settled === 'new' ? 'has its new password' : 'has the password that it had';
      log.info(`${nodes.join(', ')}: a rotation that was cut short is settled: the BMC ${which}.`);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      for (const node of nodes) this.#putOff(node, error);
    }
  }

  #putOff(node: string, fault: Fault): void {
    const attempt = (this.#later.get(node)?.attempt ?? 0) + 1;
    this.#later.set(node, { at: Date.now() + Math.min(times.look * 2 ** attempt, times.most), attempt });
    this.#services.log.warn(`${node}: ${fault.message}`);
  }
}

/** Without an answer the BMC may take the password on later. */
const mayArrive = (refusal: Fault): boolean =>
  refusal instanceof Unreachable || ['deadline', 'unavailable', 'garbled'].includes(refusal.kind);

const keyOf = ({ device, account = '' }: DeviceTarget): string => `${device} ${account}`;

async function keyOfNode(
  targets: (node: string) => DeviceTarget | Promise<DeviceTarget>,
  node: string,
): Promise<string | undefined> {
  try {
    return keyOf(await targets(node));
  } catch (error) {
    // One that cannot be reached with what is stored of it uses no account.
    if (!(error instanceof Fault)) throw error;
    return undefined;
  }
}

const sharedWithOthers = (count: number): Fault =>
  new Fault(
    'invalid',
    `${count === 1 ? 'another node reaches' : `${count} other nodes reach`} the same BMC with the same account; name all of them in one request, so that none is left with the password before.`,
  );

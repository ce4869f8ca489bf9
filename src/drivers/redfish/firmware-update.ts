import { createHash } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import { pause } from '../../protocols/redfish/abort.ts';
import { Refusal } from '../../protocols/redfish/client.ts';
import { scrub } from '../../protocols/redfish/faults.ts';
import { secretsInAddress } from '../../protocols/redfish/service.ts';
import { header, readable } from '../../protocols/redfish/session.ts';
import type { FirmwareOrder, FirmwareOutcome, FirmwareTrace, FirmwareWatch } from '../firmware.ts';
import { reserve, sendImage, type Sending } from './firmware-send.ts';
import {
  askUntil,
  type Following,
  followTask,
  isAway,
  lookAtTask,
  runningUpdates,
  type TaskEnd,
  UpdateFailed,
} from './firmware-tasks.ts';
import {
  changesSince,
  type Installed,
  installedFirmware,
  inventoryOf,
  itemsCalled,
  versionsOf,
} from './firmware-versions.ts';
import { actionOf, type Target } from './target.ts';
import { checkSize, fetchWay, pushWay, taskIn, updateService, type UpdateService } from './update-service.ts';

/** Milliseconds between two signs that an update goes on. */
const beatTime = 15_000;

interface Known {
  readonly update: UpdateService;
  readonly items: readonly Installed[];
  readonly chosen: readonly Installed[] | undefined;
  readonly versions: Readonly<Record<string, string>>;
}

/** One update of one service, from looking to the version that it has in the end. */
export class FirmwareUpdate {
  readonly #target: Target;
  readonly #watch: FirmwareWatch;
  readonly #signal: AbortSignal;
  readonly #end: number;
  #secrets: readonly string[] = [];
  #trace: FirmwareTrace | undefined;
  #beaten = performance.now();

  constructor(target: Target, watch: FirmwareWatch, signal: AbortSignal) {
    this.#target = target;
    this.#watch = watch;
    this.#signal = signal;
    this.#end = performance.now() + target.updateTimeout;
  }

  async run(order: FirmwareOrder): Promise<FirmwareOutcome> {
    const { source } = order;
    if (source.kind === 'url') this.#secrets = secretsInAddress(source.url);
    const known = await this.#look(order.component);
    const key = keyOf(order);
    const resumed = await this.#resume(known, order, key);
    if (resumed) return resumed;
    await this.#refuseOthers(known.update);
    if (order.version !== undefined && hasVersion(known, order.version)) {
      const said = `it has version ${order.version} already; nothing was sent.`;
      return { state: 'already', said, changed: [] };
    }
    const { update, chosen, versions } = known;
    const way = source.kind === 'url' ? await fetchWay(this.#target, update, this.#signal) : pushWay(update);
    if (source.kind === 'file') checkSize(update, source.size);
    const sending: Sending = { target: this.#target, update, way, order, chosen, signal: this.#signal };
    const trace = { key, what: whatOf(order), step: 'sending', before: versions } as const;
    return this.#carryOut(known, order, trace, () => this.#send(sending));
  }

  /** The same with what the service has already. */
  async start(): Promise<FirmwareOutcome> {
    const known = await this.#look(undefined);
    const { earlier } = this.#watch;
    await this.#refuseOthers(known.update);
    const action = await actionOf(
      this.#target.service,
      known.update.resource,
      'UpdateService.StartUpdate',
      '',
      this.#signal,
    );
    if (!action) throw new Fault('invalid', 'its BMC begins updates when it gets them; it has no StartUpdate.');
    const before = earlier?.step === 'staged' ? earlier.before : known.versions;
    const what = earlier?.step === 'staged' ? earlier.what : 'what it was given before';
    const trace = { key: 'start', what, step: 'sending', before } as const;
    return this.#carryOut(known, { apply: 'now', version: undefined }, trace, async () => {
      const reply = await this.#target.service.order(action.target, {}, this.#signal);
      return taskIn(header(reply, 'location'), readable(reply));
    });
  }

  async #look(component: string | undefined): Promise<Known> {
    const update = await updateService(this.#target, this.#signal);
    const { items } = await installedFirmware(this.#target, inventoryOf(update.resource), this.#signal);
    const chosen = component === undefined ? undefined : itemsCalled(items, component);
    return { update, items, chosen, versions: versionsOf(items, chosen) };
  }

  async #refuseOthers(update: UpdateService): Promise<void> {
    const [other] = (await runningUpdates(this.#target, this.#signal)) ?? [];
    const own = update.vendor.progress?.(update.resource.body);
    if (!other && own?.state !== 'working') return;
    const said = other?.said ?? `${own?.percent ?? 0} %`;
    throw new Fault(
      'conflict',
      `its BMC is carrying out an update that muster did not begin (${this.#clean(said)}). Wait until it has ended; nothing was sent.`,
    );
  }

  /** What became of an update that was begun before; undefined if this one is to be sent. */
  async #resume(known: Known, order: FirmwareOrder, key: string): Promise<FirmwareOutcome | undefined> {
    const { earlier } = this.#watch;
    if (!earlier) return undefined;
    const isSame = earlier.key === key;
    const look = earlier.task === undefined ? undefined : await lookAtTask(this.#target, earlier.task, this.#signal);
    const running = await runningUpdates(this.#target, this.#signal);
    const isWorking = look?.state === 'working' || (running?.length ?? 0) > 0 || this.#isWorking(known.update);
    if (isWorking) {
      if (!isSame)
        throw new Fault(
          'conflict',
          `its BMC still carries out the update with ${earlier.what} that was begun earlier. Wait until it has ended; nothing was sent.`,
        );
      this.#watch.tell(`${earlier.what} was sent earlier; its BMC is still at work on it.`);
      const [first] = running ?? [];
      const task = look?.state === 'working' ? earlier.task : (first?.path ?? earlier.task);
      return this.#finish(known, order, { ...earlier, step: 'sent', task });
    }
    const changed = changesSince(
      earlier.before,
      known.versions,
      known.chosen?.map(({ component }) => component),
    );
    if (isSame && changed.length > 0 && (order.version === undefined || hasVersion(known, order.version))) {
      await this.#watch.forget();
      return { state: 'updated', said: 'its BMC has carried out the update that was begun earlier.', changed };
    }
    if (isSame && earlier.step === 'staged') {
      if (order.again) return undefined;
      return { state: 'staged', said: `its BMC has had ${earlier.what} since earlier; nothing was sent.`, changed: [] };
    }
    const isOver = look?.state === 'failed' || (earlier.step === 'sending' && running !== undefined);
    if (isSame && isOver) this.#watch.tell('An earlier update with it did not come about; it is sent again.');
    const isSeen = running !== undefined || look !== undefined || known.update.vendor.progress !== undefined;
    if (isOver || order.again || (!isSame && (isSeen || earlier.step === 'staged'))) return undefined;
    throw new Fault(
      'conflict',
      `${earlier.what} was sent to its BMC earlier, which knows nothing of it any more; the versions are as before (${shownVersions(known)}). Look whether it waits for a restart, and add --again to send it once more.`,
    );
  }

  #isWorking({ vendor, resource }: UpdateService): boolean {
    return vendor.progress?.(resource.body)?.state === 'working';
  }

  async #send(sending: Sending): Promise<string | undefined> {
    const isOurs = this.#watch.earlier !== undefined;
    const release = await reserve(sending, isOurs);
    try {
      const task = await sendImage(sending);
      this.#releases.push(release);
      return task;
    } catch (error) {
      await release().catch(() => undefined);
      throw error;
    }
  }

  readonly #releases: (() => Promise<void>)[] = [];

  async #carryOut(
    known: Known,
    order: Pick<FirmwareOrder, 'apply' | 'version'>,
    trace: FirmwareTrace,
    send: () => Promise<string | undefined>,
  ): Promise<FirmwareOutcome> {
    const before = new Set((await runningUpdates(this.#target, this.#signal))?.map(({ path }) => path));
    this.#watch.tell(`Its BMC gets ${trace.what}.`);
    await this.#keep(trace);
    let task: string | undefined;
    try {
      this.#target.service.begin(this.#target.updateTimeout);
      task = await send();
    } catch (error) {
      if (error instanceof Refusal && (error.status < 500 || error.kind === 'unavailable')) await this.#watch.forget();
      if (!isAway(error) || error instanceof Refusal || this.#signal.aborted) throw error;
      task = await this.#taskAfterLoss(before, error);
    }
    return this.#finish(known, order, { ...trace, step: 'sent', task });
  }

  /** The connection broke while something was sent: the service may have it all the same. */
  async #taskAfterLoss(before: ReadonlySet<string>, lost: Fault): Promise<string> {
    await pause(lookAgain, this.#signal);
    const running = await runningUpdates(this.#target, this.#signal).catch(() => undefined);
    const fresh = running?.find(({ path }) => !before.has(path));
    if (fresh) return fresh.path;
    throw new Fault(
      lost.kind,
      `${lost.message} The connection was lost while its BMC was given the image; muster finds no update that it is carrying out. rflash with the same image looks first, and sends it again only if nothing has come of it.`,
      { cause: lost },
    );
  }

  /** From when the service has it to what came of it. */
  async #finish(
    known: Known,
    order: Pick<FirmwareOrder, 'apply' | 'version'>,
    trace: FirmwareTrace,
  ): Promise<FirmwareOutcome> {
    try {
      await this.#keep(trace);
      const end = await this.#follow(known.update, trace);
      if (order.apply !== 'now') return await this.#staged(trace, order.apply);
      if (end === 'waiting') return await this.#staged(trace, 'on-reset');
      return await this.#verify(known, order, trace);
    } catch (error) {
      if (error instanceof UpdateFailed) await this.#watch.forget();
      if (!this.#signal.aborted || !(error instanceof Fault)) throw error;
      const goesOn = 'Its BMC may still carry out the update; rflash with the same image goes on to watch it.';
      throw new Fault(error.kind, [...error.sentences, goesOn], { cause: error });
    } finally {
      for (const release of this.#releases.splice(0)) await release().catch(() => undefined);
    }
  }

  get #following(): Omit<Following, 'update'> {
    return {
      target: this.#target,
      end: this.#end,
      signal: this.#signal,
      tell: (sentence) => this.#watch.tell(this.#clean(sentence)),
      beat: () => this.#beat(),
    };
  }

  #follow(update: UpdateService, { task }: FirmwareTrace): Promise<TaskEnd> {
    const following = { ...this.#following, update };
    if (task !== undefined) return followTask(following, task);
    const { progress } = update.vendor;
    if (!progress) return Promise.resolve('gone');
    let idle = 0;
    return askUntil(
      following,
      async () => {
        const { body } = await this.#target.service.get(update.resource.path, this.#signal);
        const own = progress(body);
        if (!own) return 'gone';
        if (own.state === 'failed') throw new UpdateFailed(own.said ?? '');
        if (own.state === 'done') return 'done';
        if (own.state === 'idle') return ++idle > mostIdle ? 'gone' : undefined;
        following.tell(`${own.percent ?? 0} %`);
        return undefined;
      },
      'Its BMC still works on the update; rflash with the same image goes on to watch it.',
    );
  }

  async #staged(trace: FirmwareTrace, apply: FirmwareOrder['apply']): Promise<FirmwareOutcome> {
    await this.#keep({ ...trace, step: 'staged' });
    const when = {
      now: 'when it is restarted',
      'on-reset': 'when it is restarted',
      'at-maintenance': 'in its maintenance window, when it is restarted',
      'on-start': 'when rflash NODERANGE --start says so',
    }[apply];
    return { state: 'staged', said: `its BMC has ${trace.what} and takes it on ${when}.`, changed: [] };
  }

  /** Reads the versions until one has changed. A BMC that restarts has its time; after that it has to show it soon. */
  async #verify(
    known: Known,
    { version }: Pick<FirmwareOrder, 'version'>,
    trace: FirmwareTrace,
  ): Promise<FirmwareOutcome> {
    const components = known.chosen?.map(({ component }) => component);
    let settled: number | undefined;
    let now = known;
    this.#watch.tell('Its BMC has carried out the update; its versions are read.');
    const changed = await askUntil(
      { ...this.#following, update: known.update },
      async () => {
        const asked = performance.now();
        now = await this.#versions(known).catch((error: unknown) => {
          settled = undefined;
          throw error;
        });
        settled ??= asked;
        const found = changesSince(trace.before, now.versions, components);
        if (found.length > 0 && (version === undefined || hasVersion(now, version))) return found;
        return performance.now() - settled >= this.#target.settleTime ? found : undefined;
      },
      'Whether it has the new version is not known; rflash -l shows the versions when it is back.',
    );
    if (changed.length === 0)
      throw new Fault(
        'invalid',
        `its BMC says that it has carried out the update with ${trace.what}, but no version has changed: ${shownVersions(now)}. It may have had this version before, or take it on when the machine or the BMC restarts.`,
      );
    await this.#watch.forget();
    if (version !== undefined && !hasVersion(now, version))
      throw new Fault(
        'invalid',
        `its BMC has carried out the update, but has not version ${version}: ${shownVersions(now)}.`,
      );
    return { state: 'updated', said: 'its BMC has carried out the update.', changed };
  }

  async #versions({ update, chosen }: Known): Promise<Known> {
    const { items } = await installedFirmware(this.#target, inventoryOf(update.resource), this.#signal);
    return { update, items, chosen, versions: versionsOf(items, chosen) };
  }

  #keep(trace: FirmwareTrace): Promise<void> {
    this.#trace = trace;
    this.#beaten = performance.now();
    return this.#watch.keep(trace);
  }

  async #beat(): Promise<void> {
    if (this.#trace && performance.now() - this.#beaten >= beatTime) await this.#keep(this.#trace);
  }

  #clean(sentence: string): string {
    return scrub(sentence, this.#secrets);
  }
}

const lookAgain = 1_000;
/** How often a service may say that it does nothing before it is believed. */
const mostIdle = 5;

const keyOf = ({ source, component, apply }: FirmwareOrder): string => {
  const what = source.kind === 'file' ? source.sha256 : createHash('sha256').update(source.url).digest('hex');
  return JSON.stringify([source.kind, what, component?.toLowerCase() ?? null, apply]);
};

/** Without what an address may have of secrets. */
const whatOf = ({ source }: FirmwareOrder): string =>
  source.kind === 'file' ? source.name : source.url.replace(/\?.*$/, '?...');

/** Whether all that is meant has the version. */
function hasVersion({ chosen, versions }: Known, version: string): boolean {
  const components = new Set((chosen ?? []).map(({ component }) => component));
  return components.size > 0 && [...components].every((component) => versions[component] === version);
}

const mostNamed = 10;

function shownVersions({ chosen, versions }: Known): string {
  const components = new Set(chosen?.map(({ component }) => component));
  const shown = Object.entries(versions).filter(([component]) => components.size === 0 || components.has(component));
  const more = shown.length > mostNamed ? ' and others' : '';
  return `${shown
    .slice(0, mostNamed)
    .map(([component, version]) => `${component} ${version}`)
    .join(', ')}${more}`;
}

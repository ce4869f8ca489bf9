import type { Bmc } from './bmc.ts';
import { failure, type Json, type Reply, root, textOf } from './resource.ts';
import { forgetSessions } from './resources/sessions.ts';

export const tasksPath = `${root}/TaskService/Tasks`;
export const updatePath = `${root}/UpdateService`;
export const inventoryPath = `${updatePath}/FirmwareInventory`;
export const imagePath = ({ tag }: Bmc, id: string): string => `${inventoryPath}/${id}-${tag}`;

/** An image that a service has taken. */
export interface TakenImage {
  readonly component: string;
  readonly version: string;
  readonly size: number;
  readonly apply: string;
  readonly way: 'multipart' | 'push' | 'fetch';
}

/** What is wrong with updates of a service. Members that are absent stay as they are. */
export interface UpdateFaults {
  /** Milliseconds that an update takes. */
  readonly time?: number;
  /** Milliseconds for which the BMC is away after an update of its own firmware; 0: it does not restart. */
  readonly away?: number;
  /** After its next update it does not come back. */
  readonly neverBack?: boolean;
  /** An update ends with this message. */
  readonly fails?: string | false;
  /** An update succeeds, and the version is as before. */
  readonly keepsVersion?: boolean;
  /** Bytes of a file after which it closes the connection. */
  readonly cutsAfter?: number | false;
  /** Milliseconds between the pieces of a file that it takes. */
  readonly slowness?: number;
  /** Its tasks say far too much. */
  readonly talkative?: boolean;
  /** Somebody else's update goes on. */
  readonly foreign?: boolean;
  /** Its tasks are gone. */
  readonly forgetTasks?: true;
}

interface Task {
  readonly id: string;
  state: string;
  percent: number;
  messages: readonly Json[];
  readonly payload: string;
}

export interface UpdateState {
  readonly versions: Record<string, string>;
  readonly tasks: Map<string, Task>;
  readonly taken: TakenImage[];
  readonly faults: Required<Omit<UpdateFaults, 'forgetTasks'>>;
  staged: TakenImage | undefined;
  applyTime: string;
  targets: readonly string[];
  reserved: boolean;
  nextTask: number;
}

export const makeUpdateState = (index: number): UpdateState => ({
  versions: { bmc: `2.15.${index % 7}`, bios: 'LAB-BIOS-1.42' },
  tasks: new Map(),
  taken: [],
  faults: {
    time: 300,
    away: 300,
    neverBack: false,
    fails: false,
    keepsVersion: false,
    cutsAfter: false,
    slowness: 0,
    talkative: false,
    foreign: false,
  },
  staged: undefined,
  applyTime: 'Immediate',
  targets: [],
  reserved: false,
  nextTask: 1,
});

/** `LABFW COMPONENT VERSION` and a line end, then anything. */
export const labImage = (component: string, version: string, size = 4096): Buffer => {
  const head = Buffer.from(`LABFW ${component} ${version}\n`);
  return Buffer.concat([head, Buffer.alloc(Math.max(0, size - head.length), 0x61)]);
};

const hasTasks = ({ kind }: Bmc): boolean => kind !== 'sparse';

/** Takes an image as it comes: what is wrong with it is said at once. */
export function takeImage(
  bmc: Bmc,
  bytes: Buffer,
  how: Pick<TakenImage, 'apply' | 'way'> & { readonly targets: readonly string[] },
): Reply {
  const line = /^LABFW (\w+) (\S+)\n/.exec(bytes.subarray(0, 200).toString('latin1'));
  const [, component = '', version = ''] = line ?? [];
  if (!(component in bmc.update.versions))
    return failure(400, 'ActionParameterValueError', 'The image is not one for this machine.');
  const [target] = how.targets;
  if (target !== undefined && target !== imagePath(bmc, component))
    return failure(400, 'ActionParameterValueConflict', `The image is for ${component}, not for ${textOf(target)}.`);
  if ([...bmc.update.tasks.values()].some(({ state }) => state === 'Running'))
    return failure(409, 'ResourceInUse', 'An update is in progress.');
  const image: TakenImage = { component, version, size: bytes.length, apply: how.apply, way: how.way };
  bmc.update.taken.push(image);
  if (image.apply !== 'Immediate') {
    bmc.update.staged = image;
    return accepted(bmc, finished(bmc));
  }
  return accepted(bmc, begin(bmc, image));
}

export function startStaged(bmc: Bmc): Reply {
  const { staged } = bmc.update;
  if (!staged) return failure(400, 'ActionNotSupported', 'There is no image to start an update with.');
  bmc.update.staged = undefined;
  return accepted(bmc, begin(bmc, staged));
}

function accepted(bmc: Bmc, task: Task): Reply {
  if (!hasTasks(bmc)) return { status: 204 };
  // OpenBMC's way; others answer with the monitor alone.
  const Location =
    bmc.kind === 'openbmc' ? `${tasksPath}/${task.id}/Monitor` : `${root}/TaskService/TaskMonitors/${task.id}`;
  return { status: 202, headers: { Location }, body: taskBody(bmc, task) };
}

function addTask(bmc: Bmc, state: string, percent: number): Task {
  const { update } = bmc;
  const id = String(update.nextTask++);
  const payload = `${updatePath}/update`;
  const task: Task = { id, state, percent, messages: [], payload };
  update.tasks.set(id, task);
  const path = `${tasksPath}/${id}`;
  bmc.resources.set(path, { get: () => taskBody(bmc, task) });
  return task;
}

const finished = (bmc: Bmc): Task => addTask(bmc, 'Completed', 100);

export const beginForeign = (bmc: Bmc): Task => addTask(bmc, 'Running', 40);

function begin(bmc: Bmc, image: TakenImage): Task {
  const { faults } = bmc.update;
  const task = addTask(bmc, 'Running', 0);
  const steps = 5;
  let step = 0;
  const timer = setInterval(() => {
    step += 1;
    task.percent = Math.min(100, Math.round((100 * step) / steps));
    task.messages = [message('UpdateInProgress', `Step ${step} of ${steps}: writing ${image.component}.`)];
    if (step < steps) return;
    clearInterval(timer);
    end(bmc, task, image);
  }, faults.time / steps);
  timer.unref();
  return task;
}

function end(bmc: Bmc, task: Task, image: TakenImage): void {
  const { faults, versions } = bmc.update;
  if (faults.fails !== false) {
    task.state = 'Exception';
    task.messages = [message('ApplyFailed', faults.fails)];
    return;
  }
  task.state = 'Completed';
  task.messages = [message('UpdateSuccessful', `Device ${image.component} was updated with ${image.version}.`)];
  const restarts = image.component === 'bmc' && (faults.away > 0 || faults.neverBack);
  const apply = (): void => {
    if (!faults.keepsVersion) versions[image.component] = image.version;
  };
  if (!restarts) return apply();
  bmc.restart(faults.neverBack ? undefined : faults.away, () => {
    apply();
    forgetTasks(bmc);
    forgetSessions(bmc);
  });
}

export function forgetTasks(bmc: Bmc): void {
  for (const id of bmc.update.tasks.keys()) bmc.resources.delete(`${tasksPath}/${id}`);
  bmc.update.tasks.clear();
}

const message = (id: string, text: string): Json => ({
  '@odata.type': '#Message.v1_1_1.Message',
  MessageId: `Update.1.0.${id}`,
  Message: text,
  Severity: 'OK',
});

export function taskBody(bmc: Bmc, { id, state, percent, messages, payload }: Task): Json {
  const talk = bmc.update.faults.talkative
    ? Array.from({ length: 500 }, (_, index) => message('Noise', `${index} \u001B[31m${'x'.repeat(80)}`))
    : messages;
  return {
    '@odata.id': `${tasksPath}/${id}`,
    '@odata.type': '#Task.v1_7_0.Task',
    Id: id,
    Name: `Task ${id}`,
    TaskState: state,
    TaskStatus: state === 'Exception' ? 'Critical' : 'OK',
    PercentComplete: bmc.update.faults.talkative ? 1e300 : percent,
    TaskMonitor: `${root}/TaskService/TaskMonitors/${id}`,
    Payload: { TargetUri: payload, HttpOperation: 'POST' },
    Messages: talk,
  };
}

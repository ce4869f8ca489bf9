import { Type } from 'typebox';
import type { FirmwareTrace } from '../core/effects.ts';
import { Fault } from '../core/errors.ts';
import type { NodeResult, NodeValue } from '../core/results.ts';
import {
  type ApplyTime,
  applyTimes,
  type Capabilities,
  type DeviceTarget,
  type FirmwareOrder,
  type FirmwareOutcome,
  refuseSharedBmc,
} from '../drivers/index.ts';
import {
  type CargoRoot,
  checkImageAddress,
  imageOf,
  isAllowedByParameters,
  mayBringFiles,
  shownAddress,
} from '../nodes/index.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { type Arguments, nodeArguments, selectNodes } from './command.ts';
import { checkWord, deviceAddress, hardwareOnWorkers, perNode, type Plan, type Task } from './per-node.ts';

const actions = ['list', 'update', 'start'] as const;

const args = Type.Object({
  ...nodeArguments,
  action: Type.String({ description: 'list, update, or start: begin what was brought with on-start' }),
  file: Type.Optional(Type.String({ description: 'a path here; of a file that the client sent, its name' })),
  received: Type.Optional(Type.String({ description: 'the directory that the file of the client was received into' })),
  url: Type.Optional(Type.String({ description: 'where BMCs fetch it' })),
  component: Type.Optional(Type.String({ maxLength: 200 })),
  apply: Type.Optional(Type.String({ description: applyTimes.join(', ') })),
  version: Type.Optional(Type.String({ maxLength: 200 })),
  again: Type.Optional(Type.Boolean()),
  nodes: Type.Optional(Type.Integer({ description: 'how many nodes are meant, where that has to be confirmed' })),
  isConfirmed: Type.Optional(Type.Boolean()),
  atOnce: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  stopAfter: Type.Optional(Type.Integer({ minimum: 1 })),
});

type FlashArgs = Arguments<typeof args>;

type Shared = Pick<FlashArgs, 'component' | 'version'> & {
  readonly action: string;
  readonly apply: ApplyTime;
  readonly again: boolean;
  readonly url?: string | undefined;
  readonly roots: readonly CargoRoot[];
  readonly received?: string | undefined;
  /** The file or address, as people are shown it. */
  readonly what: string;
  readonly stopAfter: number;
};

type Target = DeviceTarget & { readonly earlier?: FirmwareTrace | undefined };

/** A path that no rule means. */
const elsewhere = '/nowhere/at/all';

/** Files of the client are marked, so that no rule takes them for others. */
const whatOf = ({ file = '', received, url }: FlashArgs): string =>
  url === undefined ? (received === undefined ? file : `client:${file}`) : shownAddress(url);

function lineOf(given: FlashArgs): readonly string[] {
  if (given.action === 'list') return ['-l'];
  const apply = given.apply === undefined || given.apply === 'now' ? [] : ['--apply', given.apply];
  const component = given.component === undefined ? [] : ['--component', given.component];
  const words = given.action === 'start' ? ['--start'] : [whatOf(given), ...component, ...apply];
  return words.map((word) => withoutSecrets(word));
}

function check(given: FlashArgs): void {
  const { action, file, received, url, component, apply = 'now', version, again } = given;
  checkWord(action, actions, 'firmware action');
  checkWord(apply, applyTimes, 'time for an update');
  const images = [file ?? received, url].filter((one) => one !== undefined).length;
  if (action !== 'update') {
    const extra = images > 0 || [component, version, again].some((one) => one !== undefined) || apply !== 'now';
    if (extra) throw new Fault('invalid', `"${action}" takes no image, and nothing that belongs to one.`);
    return;
  }
  if (images !== 1)
    throw new Fault('missing-member', 'Give one image: a file, or the address from which BMCs fetch it.');
  if (url !== undefined) checkImageAddress(url);
  if (version !== undefined && component === undefined)
    throw new Fault('invalid', 'A version is that of a component: name the component as well.');
}

export const rflash = perNode({
  name: 'rflash',
  args,
  uses: ['hardware', 'firmware', 'remote'],
  line: lineOf,
  outlivesClient: ({ action }) => action !== 'list',
  select(snapshot, given, ranges) {
    check(given);
    return selectNodes(snapshot, given, ranges);
  },
  confirm({ action, nodes, isConfirmed }, { selection, firmware: { limits } }) {
    const count = selection.nodes?.length ?? 0;
    if (action === 'list' || isConfirmed) return;
    if (nodes !== undefined && nodes !== count)
      throw new Fault(
        'expectation',
        `The request confirms ${nodes} nodes, but its range has ${count}; nothing was sent.`,
      );
    if (nodes === undefined && count > limits.flashAsk)
      throw new Fault(
        'invalid',
        `These are ${count} nodes, more than the ${limits.flashAsk} of the setting hardware.flashAsk. Confirm that all of them are meant: "nodes": ${count} in the request, --yes of rflash. Nothing was sent.`,
      );
  },
  prepare(snapshot, given, { hardware, firmware, remote, caller, selection, permits }): Plan<Shared, Target> {
    const { action, file, received, url, component, version, apply = 'now', again = false } = given;
    const { atOnce = firmware.limits.flashAtOnce, stopAfter = firmware.limits.flashFailures } = given;
    const asking = { ...caller, command: 'rflash', nodes: selection.nodes ?? [] };
    const line = lineOf(given).join(' ');
    if (received !== undefined) {
      const ofServer = lineOf({ ...given, received: undefined, file: `/${file ?? ''}` }).join(' ');
      if (!mayBringFiles(snapshot, asking, line, ofServer))
        throw new Fault(
          'denied',
          `User "${caller.user}" may not bring firmware of their own: the policy rule that allows rflash has parameters that do not name such files. It needs a rule whose parameters allow "client:NAME".`,
        );
    }
    const roots: CargoRoot[] = [];
    if (file !== undefined && received === undefined) {
      const readable = caller.hasFullRights() ? remote.sources.everywhere : remote.sources;
      const lineWith = (other: string) => lineOf({ ...given, file: other }).join(' ');
      const allowed = (real: string) => isAllowedByParameters(snapshot, asking, lineWith(real), [lineWith(elsewhere)]);
      roots.push({ path: file, real: readable.admit(file, allowed) });
    }
    const targetOf = hardware.targets(snapshot, 'rflash', 'firmware');
    return {
      shared: {
        action,
        component,
        version,
        apply: apply as ApplyTime,
        again,
        url,
        roots,
        received,
        what: whatOf(given),
        stopAfter,
      },
      async target(node) {
        const target = await targetOf(node);
        if (action === 'list') return target;
        refuseSharedBmc(snapshot, node, (other) => permits({ nodes: [other] }));
        return { ...target, staysHere: true, earlier: await firmware.earlier(target.device) };
      },
      ...(action === 'list' ? {} : { width: atOnce }),
    };
  },
  sentTo: deviceAddress,
  async preview({ action, what, component, apply }, target, task) {
    if (action === 'list') return {};
    const state = await reading(target, task, (firmware) => firmware.list(task.signal));
    const items = state.items.filter(
      (one) => component === undefined || [one.component, one.name].some((name) => sameWord(name, component)),
    );
    if (items.length === 0)
      throw new Fault('invalid', `its BMC has no component "${component}"; rflash -l shows those that it has.`);
    const now = items.map((item) => `${item.component} ${item.version ?? 'unknown'}`).join(', ');
    return { ...(what === '' || what === 'client:' ? {} : { image: what }), apply, now };
  },
  onWorkers: hardwareOnWorkers([]),
  async work(shared: Shared, target: Target, task: Task): Promise<NodeResult> {
    if (shared.action === 'list')
      return { node: task.node, value: listed(await reading(target, task, (firmware) => firmware.list(task.signal))) };
    const failures = failuresOf(task.signal);
    if (failures.size >= shared.stopAfter) throw notBegun(failures);
    try {
      return { node: task.node, value: shown(await flash(shared, target, task)) };
    } catch (error) {
      failures.add(task.node);
      throw error;
    }
  },
});

const sameWord = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

type FirmwareCapability = NonNullable<Capabilities['firmware']>;

async function reading<T>(
  target: DeviceTarget,
  task: Task,
  read: (firmware: FirmwareCapability) => Promise<T>,
): Promise<T> {
  return task.devices.read(target, 'firmware', task, read);
}

async function flash(shared: Shared, { earlier, ...target }: Target, task: Task): Promise<FirmwareOutcome> {
  const { device } = target;
  let seen: FirmwareTrace | null | undefined = earlier ?? null;
  const keep = async (trace: FirmwareTrace | null): Promise<void> => {
    await task.keep({ kind: 'firmware', device, trace, ...(seen !== undefined && trace ? { seen } : {}) });
    seen = undefined;
  };
  const watch = {
    earlier,
    keep,
    forget: () => keep(null),
    tell: (sentence: string) => task.report({ kind: 'progress', sentence }),
  };
  // Other commands work on the device meanwhile; of updates there is one at a time.
  const alone = { ...target, device: `${device}, firmware`, width: 1 };
  // The nodes that it works on at once are counted until they are done.
  const counted: Task = { ...task, begun: () => undefined };
  const use = (work: (firmware: FirmwareCapability) => Promise<FirmwareOutcome>): Promise<FirmwareOutcome> =>
    task.devices.use(alone, 'firmware', counted, work);
  if (shared.action === 'start') return use((firmware) => firmware.start(watch, task.signal));
  const { component, apply, version, again } = shared;
  const order = { component, apply, version, again };
  const { url } = shared;
  if (url !== undefined)
    return use((firmware) => firmware.update({ ...order, source: { kind: 'url', url } }, watch, task.signal));
  return imageOf(shared, task.files, (source) =>
    use((firmware) => firmware.update({ ...order, source } satisfies FirmwareOrder, watch, task.signal)),
  );
}

function listed({
  model,
  items,
}: {
  readonly model: string | undefined;
  readonly items: FirmwareOrderItems;
}): NodeValue {
  const versions = items.map(({ component, name, version }): [string, string] => [
    name === component ? component : `${name} (${component})`,
    version ?? '',
  ]);
  return { ...(model === undefined ? {} : { 'System Model': model }), ...joined(versions) };
}

type FirmwareOrderItems = Awaited<ReturnType<FirmwareCapability['list']>>['items'];

/** Several of one label have a list. */
function joined(entries: readonly (readonly [string, string])[]): Record<string, string | readonly string[]> {
  const groups = Map.groupBy(entries, ([label]) => label);
  return Object.fromEntries(
    [...groups].map(([label, all]) => [label, all.length === 1 ? all[0]![1] : all.map(([, version]) => version)]),
  );
}

const shown = ({ state, said, changed }: FirmwareOutcome): NodeValue => ({
  firmware: state,
  changed: changed.map(({ component, before, after }) => `${component}: ${before ?? 'none'} to ${after}`),
  Message: said,
});

/** The nodes of a run that have failed so far, by the signal that all its work has. */
const failed = new WeakMap<AbortSignal, Set<string>>();

function failuresOf(signal: AbortSignal): Set<string> {
  const known = failed.get(signal) ?? new Set();
  failed.set(signal, known);
  return known;
}

function notBegun(failures: ReadonlySet<string>): Fault {
  const names = [...failures].slice(0, 5).join(', ');
  return new Fault(
    'invalid',
    `nothing was sent to it, because ${failures.size} nodes have failed (${names}${failures.size > 5 ? ' and others' : ''}). Find out why, and call rflash again: nodes that are done are left out where --image-version names the version.`,
  );
}

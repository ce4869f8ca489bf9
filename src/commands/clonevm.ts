import { type Static, Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { machineOptions } from '../core/machine-options.ts';
import type { NodeResult } from '../core/results.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { tableNamed } from '../database/tables.ts';
import { atLength, type CloneRequest, type DeviceTarget, type MasterRequest } from '../drivers/index.ts';
import { effectiveReader } from '../objects/effective.ts';
import { groupExists } from '../objects/groups.ts';
import { lastHostOf, masterNamed, type MasterRecord, mastersIn, refuseNameOfMaster } from '../machines/index.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { optionArguments, optionLine } from './options.ts';
import { deviceAddress, foreignRemoval, perNode, type Task } from './per-node.ts';

const options = machineOptions.clonevm;
const args = Type.Object({ ...nodeArguments, ...optionArguments(options) });

interface Shared extends Pick<Static<typeof args>, 'detach' | 'force'> {
  readonly tomaster?: string | undefined;
  /** Whether disks that are called like those of the master may be the caller's to replace, whosever they are. */
  readonly replace: boolean;
  readonly master?: MasterRecord | undefined;
  readonly masters: CloneRequest['masters'];
}

interface Target {
  readonly device: DeviceTarget;
  readonly uuid: string | undefined;
  readonly lastHost: string | undefined;
}

/** It becomes part of the names of files. */
const nameShape = /^[A-Za-z0-9][\w-]{0,62}$/;

function refuseTaken(snapshot: Snapshot, name: string): void {
  if (!nameShape.test(name)) {
    const rule = 'up to 63 letters, digits, _ and -, beginning with a letter or digit';
    throw new Fault('invalid', `"${name.slice(0, 80)}" is not a name for a master: ${rule}.`);
  }
  // One sentence for all of them: callers may not know of each.
  if (snapshot.get('vmmaster', name) || snapshot.get('nodelist', name) || groupExists(snapshot, name))
    throw new Fault('invalid', `The name ${name} is taken by a master, a node or a group; give the master another.`);
}

function checkDriver({ name, driver = '' }: MasterRecord, mgt: string): void {
  if (driver !== '' && driver !== mgt)
    throw new Fault('invalid', `its mgt is "${mgt}", and the master ${name} is for "${driver}", as its virttype says.`);
}

/** Makes masters of virtual machines, and virtual machines from masters. */
export const clonevm = perNode({
  name: 'clonevm',
  args,
  line: optionLine(options),
  uses: ['hardware'],
  outlivesClient: () => true,
  actsOn: ({ frommaster }) => (frommaster === undefined ? [] : [{ kind: 'master', name: frommaster }]),
  select(snapshot, given, services) {
    const selection = selectNodes(snapshot, given, services);
    const count = selection.nodes?.length ?? 0;
    if (given.tomaster !== undefined && count > 1) {
      throw new Fault('invalid', `a master is made of one node, and ${count} were given; name one.`);
    }
    return selection;
  },
  prepare(snapshot, { tomaster, frommaster, detach, force }, { hardware, permits }) {
    if (tomaster !== undefined) refuseTaken(snapshot, tomaster);
    const master = frommaster === undefined ? undefined : masterNamed(snapshot, frommaster, hardware.kinds);
    if (frommaster !== undefined && !master) {
      throw new Fault('invalid', `There is no master "${frommaster.slice(0, 80)}" in table vmmaster.`);
    }
    const deviceOf = hardware.targets(snapshot, 'clonevm', 'virtualMachine');
    const reader = effectiveReader(snapshot);
    const masters = mastersIn(snapshot);
    const replace = permits({ every: true });
    const shared: Shared = {
      tomaster,
      replace,
      master,
      masters,
      ...(detach ? { detach } : {}),
      ...(force ? { force } : {}),
    };
    return {
      shared,
      async target(node): Promise<Target> {
        const device = await deviceOf(node);
        if (master) {
          checkDriver(master, device.driver);
          refuseNameOfMaster(snapshot, node);
        }
        const uuid = reader.row(tableNamed('vpd'), node)?.['uuid']?.toLowerCase();
        return { device, uuid, lastHost: lastHostOf(snapshot, node) };
      },
    };
  },
  sentTo: ({ device }: Target) => deviceAddress(device),
  work: (
    { tomaster, replace, master, masters, detach = false, force = false }: Shared,
    { device, ...identity }: Target,
    task,
  ) =>
    master === undefined
      ? promote({ name: tomaster!, force, replace: force && (replace || 'denied') }, device, task)
      : clone({ master, masters, detach, force, ...identity }, device, task),
});

const progressOf =
  (task: Task) =>
  (sentence: string): void =>
    task.report({ kind: 'progress', sentence });

async function promote(request: MasterRequest, device: DeviceTarget, task: Task): Promise<NodeResult> {
  const { message, ...made } = await task.devices.use(atLength(device), 'virtualMachine', task, (machine) =>
    machine.makeMaster({ ...request, removing: foreignRemoval(task) }, progressOf(task), task.signal),
  );
  task.report({ kind: 'master', driver: device.driver, ...made });
  return { node: task.node, value: { vmclone: message } };
}

async function clone(request: CloneRequest, device: DeviceTarget, task: Task): Promise<NodeResult> {
  const { message, uuid, mac } = await task.devices.use(atLength(device), 'virtualMachine', task, (machine) =>
    machine.clone({ ...request, removing: foreignRemoval(task) }, progressOf(task), task.signal),
  );
  task.report({ kind: 'machine', host: device.address, uuid, mac, master: request.master.name });
  return { node: task.node, value: { vmclone: message } };
}

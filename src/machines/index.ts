import type { Ground } from '../access/ground.ts';
import type { Drivers } from '../drivers/index.ts';
import { MachineWatch } from './watch.ts';

export { machineEffects } from './effects.ts';
export { isOwnMaster, masterNamed, type MasterRecord, mastersIn, refuseNameOfMaster } from './masters.ts';
export { lastHostOf, refuseWithMachine } from './places.ts';
export type { MachineWatch };

type WatchServices = Pick<ConstructorParameters<typeof MachineWatch>[0], 'status' | 'events'>;

/** Watches the hypervisors of each driver whose nodes are virtual machines. */
export const openMachines = (
  { store, log }: Ground,
  { drivers }: Drivers,
  { status, events }: WatchServices,
): readonly MachineWatch[] =>
  [...drivers.values()].flatMap(({ name: mgt, hypervisors }) =>
    hypervisors ? new MachineWatch({ store, status, events, log, mgt, hypervisors }) : [],
  );

import type { ChassisStatus } from '../../protocols/ipmi/commands/chassis.ts';

const truth = (value: boolean) => (value ? 'true' : 'false');
const activity = (value: boolean) => (value ? 'active' : 'inactive');
const lights = { off: 'off', timed: 'on (timed)', on: 'on' };

export function powerStatus(status: ChassisStatus): Record<string, string> {
  return { 'Power Status': status.power ? 'on' : 'off' };
}

/** The chassis status in the labels of the reference system. */
export function chassisLabels(status: ChassisStatus): Record<string, string> {
  return {
    ...powerStatus(status),
    'Power Overload': truth(status.overload),
    'Power Interlock': activity(status.interlock),
    'Power Fault': truth(status.fault),
    'Power Control Fault': truth(status.controlFault),
    'Power Restore Policy': status.restorePolicy,
    'Last Power Event': status.lastEvent,
    'Chassis intrusion': activity(status.intrusion),
    'Front Panel Lockout': activity(status.lockout),
    'Drive Fault': truth(status.driveFault),
    'Cooling Fault': truth(status.coolingFault),
    'Identify Light': status.identify === undefined ? 'N/A' : lights[status.identify],
  };
}

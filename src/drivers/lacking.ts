import { Fault } from '../core/errors.ts';
import type { Capabilities } from './capabilities.ts';

const features: Readonly<Record<keyof Capabilities, string>> = {
  power: 'power control',
  vitals: 'sensors',
  inventory: 'inventory',
  eventLog: 'event log',
  nextBoot: 'choice of what boots next',
  bootSequence: 'boot order; nextboot chooses what boots next',
  beacon: 'identification light',
  energy: 'energy control',
  serviceProcessor: 'settings of the service processor',
  subnodes: 'nodes behind a node',
  virtualMachine: 'virtual machine',
  snapshots: 'snapshots',
};

/** No driver does the command for a node. */
export const impossible = (command: string, why: string): Fault =>
  new Fault('invalid', `${command} is not possible: ${why}.`, {
    reference: ['Unable to identify plugin for this command, check relevant tables: nodehm.mgt'],
  });

/** A kind of hardware has not what a command needs. */
export const lacking = (command: string, driver: string, needs: keyof Capabilities): Fault =>
  impossible(command, `mgt "${driver}" has no ${features[needs]}`);

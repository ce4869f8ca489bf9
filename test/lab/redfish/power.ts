import { addLog, type Bmc } from './bmc.ts';
import { takeOnBios } from './resources/bios.ts';
import { done, failure, type Json, type Reply, textOf } from './resource.ts';

/** A start takes the boot override, and a one-time one with it, and settings of the BIOS that wait. */
function start(bmc: Bmc): void {
  takeOnBios(bmc);
  bmc.power = 'On';
  bmc.starts.push(bmc.boot.enabled === 'Disabled' ? 'None' : bmc.boot.target);
  if (bmc.boot.enabled === 'Once') bmc.boot = { ...bmc.boot, enabled: 'Disabled', target: 'None' };
}

function later(bmc: Bmc, change: () => void): void {
  clearTimeout(bmc.powerTimer);
  bmc.powerTimer = setTimeout(change, bmc.powerDelay);
}

function turnOn(bmc: Bmc): void {
  if (bmc.power === 'On') return;
  bmc.power = 'PoweringOn';
  later(bmc, () => start(bmc));
}

function turnOff(bmc: Bmc): void {
  clearTimeout(bmc.powerTimer);
  bmc.power = 'Off';
}

function shutDown(bmc: Bmc, then: () => void): void {
  bmc.power = 'PoweringOff';
  later(bmc, () => {
    turnOff(bmc);
    then();
  });
}

const effects: Readonly<Record<string, (bmc: Bmc) => void>> = {
  On: turnOn,
  ForceOn: turnOn,
  ForceOff: turnOff,
  GracefulShutdown: (bmc) => shutDown(bmc, () => {}),
  GracefulRestart: (bmc) => shutDown(bmc, () => turnOn(bmc)),
  ForceRestart: start,
  PowerCycle: (bmc) => shutDown(bmc, () => turnOn(bmc)),
  Nmi: (bmc) => addLog(bmc, 'A diagnostic interrupt was raised.', 'Warning'),
  PushPowerButton: (bmc) => (bmc.power === 'On' ? shutDown(bmc, () => {}) : turnOn(bmc)),
};

const needsPower = ['GracefulShutdown', 'GracefulRestart', 'ForceRestart', 'PowerCycle', 'Nmi'];

export const resetTypes = {
  plain: ['On', 'ForceOff', 'GracefulShutdown', 'ForceRestart', 'PowerCycle', 'Nmi', 'PushPowerButton'],
  twin: ['On', 'ForceOff', 'GracefulShutdown', 'ForceRestart', 'PowerCycle'],
  sparse: ['On', 'ForceOff', 'ForceRestart', 'GracefulShutdown'],
  openbmc: ['On', 'ForceOff', 'ForceOn', 'ForceRestart', 'GracefulRestart', 'GracefulShutdown', 'PowerCycle', 'Nmi'],
  enclosure: ['On', 'ForceOff', 'PowerCycle'],
  pdu: [],
} as const;

export function reset(bmc: Bmc, body: Json): Reply {
  const type = body.ResetType;
  if (type === undefined) {
    return failure(400, 'ActionParameterMissing', 'The action Reset requires the parameter ResetType to be present.');
  }
  const effect = effects[textOf(type)];
  if (!(resetTypes[bmc.kind] as readonly unknown[]).includes(type) || !effect) {
    const message = `The parameter ResetType for the action Reset is not supported with the value ${textOf(type)}.`;
    return failure(400, 'ActionParameterNotSupported', message);
  }
  if (needsPower.includes(textOf(type)) && bmc.power === 'Off') {
    return failure(409, 'ActionNotSupported', `The action ${textOf(type)} needs a system that is on.`);
  }
  bmc.resets.push(textOf(type));
  effect(bmc);
  return done;
}

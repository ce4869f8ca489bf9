import { textAt } from '../../protocols/redfish/json.ts';
import type { Power } from '../capabilities.ts';
import { redfishController } from '../redfish/controller.ts';
import { chassisFor, type Target } from '../redfish/target.ts';
import { chassisOnly, powered, type PowerReader, powerStateIn, redfishPower } from '../redfish/power.ts';

/** A host that has stopped in an error is quiesced; one that does not run may sit in a chassis that has power. */
export const openbmcPowered: PowerReader = async (target, signal) => {
  const now = await powered(target, signal);
  if (now.state === 'on' && textAt(now.resource.body, 'Status', 'State') === 'Quiesced')
    return { ...now, state: 'quiesced' };
  if (now.state !== 'off') return now;
  const chassis = await chassisFor(target, signal);
  return chassis.some((one) => powerStateIn(one) === 'on') ? { ...now, state: chassisOnly } : now;
};

export function openbmcPower(target: Target): Power {
  return { ...redfishPower(target, openbmcPowered), controller: redfishController(target) };
}

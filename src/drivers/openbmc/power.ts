import { Fault, Unreachable } from '../../core/errors.ts';
import { textAt } from '../../protocols/redfish/json.ts';
import type { Controller, Power } from '../capabilities.ts';
import { actionOf, chassisFor, managerFor, notOffered, type Target } from '../redfish/target.ts';
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
  return { ...redfishPower(target, openbmcPowered), controller: openbmcController(target) };
}

/** Manager.ResetType, the gentler first. */
const restarts = ['GracefulRestart', 'ForceRestart'];

function openbmcController(target: Target): Controller {
  return {
    async state(signal) {
      try {
        const manager = await managerFor(target, signal);
        return textAt(manager?.body, 'Status', 'State') === 'Enabled' ? 'BMC Ready' : 'BMC NotReady';
      } catch (error) {
        const away = error instanceof Unreachable || (error instanceof Fault && error.kind === 'unavailable');
        if (!away || signal.aborted) throw error;
        return 'BMC NotReady';
      }
    },
    async restart(signal) {
      const manager = await managerFor(target, signal);
      const reset = manager && (await actionOf(target.service, manager, 'Manager.Reset', 'ResetType', signal));
      if (!reset) throw new Fault('invalid', 'its BMC cannot be restarted.');
      const type = restarts.find((one) => reset.allowed?.includes(one) ?? true);
      if (type === undefined) throw notOffered('restart of its own', reset.allowed ?? []);
      await target.service.order(reset.target, { ResetType: type }, signal);
      return 'BMC reboot';
    },
  };
}

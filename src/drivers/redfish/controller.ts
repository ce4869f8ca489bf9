import { Fault, Unreachable } from '../../core/errors.ts';
import { textAt } from '../../protocols/redfish/json.ts';
import type { Controller } from '../capabilities.ts';
import { actionOf, managerFor, notOffered, type Target } from './target.ts';

/** Manager.ResetType, the gentler first. */
const restarts = ['GracefulRestart', 'ForceRestart'];

export function redfishController(target: Target): Controller {
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

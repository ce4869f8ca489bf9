import { rootMember } from '../../protocols/redfish/node-resources.ts';
import type { Firmware } from '../firmware.ts';
import { FirmwareUpdate } from './firmware-update.ts';
import { installedFirmware, inventoryOf } from './firmware-versions.ts';
import type { Target } from './target.ts';

export function redfishFirmware(target: Target): Firmware {
  return {
    async list(signal) {
      const service = await rootMember(target.service, 'UpdateService', signal);
      const { model, items } = await installedFirmware(target, inventoryOf(service), signal);
      const shown = items.filter(({ runs }) => runs);
      return { model, items: shown.map(({ component, name, version }) => ({ component, name, version })) };
    },
    update: (order, watch, signal) => new FirmwareUpdate(target, watch, signal).run(order),
    start: (watch, signal) => new FirmwareUpdate(target, watch, signal).start(),
  };
}

import type { Bmc } from '../bmc.ts';
import { addCertificates } from './certificates.ts';
import { addAccounts } from './accounts.ts';
import { addChassis, chassisPath } from './chassis.ts';
import { addEvents } from './events.ts';
import { addFirmware } from './firmware.ts';
import { addEventLog } from './log.ts';
import { addManagers, managerPath } from './manager.ts';
import { addRoot } from './root.ts';
import { addSessions } from './sessions.ts';
import { addSystems, systemPath } from './system.ts';

export function addResources(bmc: Bmc): void {
  const chassis = chassisPath(bmc);
  const system = systemPath(bmc);
  const manager = managerPath(bmc);
  const logIsWithManager = bmc.kind === 'sparse' || bmc.kind === 'enclosure';
  const logServices = addEventLog(bmc, logIsWithManager ? manager : system);
  addRoot(bmc);
  addSessions(bmc);
  addAccounts(bmc);
  addCertificates(bmc);
  addFirmware(bmc);
  addEvents(bmc);
  addSystems(bmc, { chassis, manager, logServices: logIsWithManager ? undefined : logServices });
  addChassis(bmc, system, manager);
  addManagers(bmc, chassis, system, logIsWithManager ? logServices : undefined);
}

import { readFileSync } from 'node:fs';
import type { Ground } from '../access/ground.ts';
import { AddressGuard } from '../core/address-guard.ts';
import type { ValuesOf } from '../core/settings.ts';
import { ServiceProcessorTrust } from './bmc/certificate-trust.ts';
import { Devices } from './devices.ts';
import { Discovery } from './discovery.ts';
import type { Driver, RemoteHosts } from './driver.ts';
import { Governor } from './governor.ts';
import { Hardware } from './hardware.ts';
import type { Trust } from '../protocols/redfish/client.ts';
import type { HostKeys } from '../protocols/ssh/host-keys.ts';
import { hardwareSettings, makeDrivers } from './registry.ts';

export { type AccountRole, accountRoles, type Accounts, type BmcAccount } from './accounts.ts';
export { PendingPasswords, noteRotation } from './rotation/pending.ts';
export { BmcAuthority } from './certificates/authority.ts';
export { endOf, namesIn } from './certificates/chain.ts';
export { noteCertificate, PendingCertificates } from './certificates/pending.ts';
export {
  type CertificateJob,
  type CertificateOutcome,
  CertificateRenewal,
  namesOfBmc,
} from './certificates/renewal.ts';
export { checkedRequest } from './certificates/request-check.ts';
export type { Certificates, CertificateSubject } from './certificates.ts';
export { type JobNote, jobNoteMembers } from './claimed-jobs.ts';
export { PasswordRotation, type RotationJob } from './rotation/rotation.ts';
export { nodesOfBmc, refuseSharedBmc } from './bmc/shared-bmcs.ts';
export { type Neighbours, neighboursOf, refuseNeighbours } from './chassis-neighbours.ts';
export { MovedFault } from './bmc/kept-settings.ts';
export type { RemoteHosts } from './driver.ts';
export {
  type BootOrder,
  type Capabilities,
  type EventReceiver,
  type ReportedEvent,
  inventoryKinds,
  kindsIn,
  type Labelled,
  type ChassisAction,
  type CloneRequest,
  type MasterRequest,
  type MachineChange,
  type Outlets,
  outletsNamed,
  type Power,
  type PowerAction,
  type PowerSeen,
  type SensorLimits,
  type ServiceProcessor,
  type Snapshots,
  vitalsKinds,
} from './capabilities.ts';
export { type Bios, type BiosState, biosTimes } from './bios.ts';
export type { Console, ConsoleOptions, OpenConsole } from './console.ts';
export { type Finding, type Posture, type PostureLevel, postureLevels } from './posture.ts';
export { eventsIn as eventsOf } from './redfish/events.ts';
export { atLength, type DeviceTarget } from './devices.ts';
export {
  type ApplyTime,
  applyTimes,
  type FirmwareOrder,
  type FirmwareOutcome,
  type FirmwareSource,
} from './firmware.ts';
export { type MediaDrive, mediaPath, type OwnMedium, shownImage, type VirtualMedia } from './media.ts';
export { firmwareEffects, FirmwareRecords } from './firmware-records.ts';
export type { Found } from './discovery.ts';
export {
  isOutletTarget,
  onEachPdu,
  type OutletAction,
  type OutletTarget,
  outletTargets,
  refuseChosen,
  refuseShared,
  shownOutlets,
  workOnOutlets,
} from './feeding-outlets.ts';
export { ampsText, energyText, wattsText } from './pdu/readings.ts';
export { paceText, type RackPace } from './rack-pace.ts';
export { type Devices, type Discovery, type Hardware, hardwareSettings, type ServiceProcessorTrust };

/** Hardware as the settings say. */
export interface Drivers {
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly hardware: Hardware;
  readonly devices: Devices;
  readonly discovery: Discovery;
  readonly certificates: ServiceProcessorTrust;
  /** Where BMCs are. */
  readonly guard: AddressGuard;
}

export function openDrivers(
  settings: ValuesOf<typeof hardwareSettings>,
  { store, box }: Ground,
  hosts: RemoteHosts,
): Drivers {
  const { ca, networks, powerOnPerRack: machines, powerOnInterval: seconds } = settings;
  const pace = machines === undefined ? undefined : { machines, seconds };
  const guard = new AddressGuard(networks);
  const certificates = new ServiceProcessorTrust(store, ca === undefined ? undefined : readFileSync(ca, 'utf8'));
  const drivers = makeDrivers(
    { trust: certificates, hostKeys: certificates.hostKeys, guard, ...timesOf(settings), hosts },
    settings,
  );
  return {
    drivers,
    hardware: new Hardware(drivers, box, pace),
    devices: new Devices(drivers, new Governor()),
    discovery: new Discovery(guard),
    certificates,
    guard,
  };
}

const timesOf = ({
  powerTimeout,
  firmwareTimeout,
  firmwareSettle,
  certificateTimeout,
}: ValuesOf<typeof hardwareSettings>) => ({
  powerTimeout: powerTimeout * 1_000,
  updateTimeout: firmwareTimeout * 1_000,
  settleTime: firmwareSettle * 1_000,
  certificateTimeout: certificateTimeout * 1_000,
});

/** The devices of a process without a database, which is given targets; certificates are the trust's, and keys of SSH servers `hostKeys`'s. */
export function openDevices(settings: ValuesOf<typeof hardwareSettings>, trust: Trust, hostKeys: HostKeys): Devices {
  const { ca, networks } = settings;
  const authority = ca === undefined ? {} : { ca: readFileSync(ca, 'utf8') };
  const options = {
    trust: { ...trust, ...authority },
    hostKeys,
    guard: new AddressGuard(networks),
    ...timesOf(settings),
  };
  return new Devices(makeDrivers(options, settings), new Governor());
}

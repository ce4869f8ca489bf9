import { at, type Json, namesAt, numberAt, textAt } from '../../protocols/redfish/json.ts';

/** In what the update services of a vendor differ from DSP0266 and the schema of UpdateService. */
export interface UpdateVendor {
  readonly name: string;
  /** Its words in `Vendor` of the root, and the names of its members in `Oem`. */
  readonly marks: readonly string[];
  /** A push names its targets even where there are none. */
  readonly namesTargets?: true;
  /** A push says when it is applied, though the service does not list the times that it knows. */
  readonly alwaysTimed?: true;
  /** What UpdateParameters have besides. */
  readonly oem?: (target: PushTarget) => Json;
  /** What it is that a push is for, where that is not the entry of the inventory. */
  readonly targets?: Readonly<Record<PushTarget, PushPlace>>;
  /** Addresses to which files are not sent as DSP0266 says. */
  readonly ownPush?: RegExp;
  /** How its update service itself says what it does, where there are no tasks. */
  readonly progress?: (service: Json) => ServiceProgress | undefined;
}

export type PushTarget = 'bios' | 'bmc' | 'other';
type PushPlace = 'bios' | 'manager' | 'inventory';

export interface ServiceProgress {
  readonly state: 'idle' | 'working' | 'done' | 'failed';
  readonly percent: number | undefined;
  readonly said: string | undefined;
}

const hpeStates: Readonly<Record<string, ServiceProgress['state']>> = {
  Idle: 'idle',
  Uploading: 'working',
  Verifying: 'working',
  Writing: 'working',
  Updating: 'working',
  Waiting: 'working',
  Complete: 'done',
  Error: 'failed',
};

const vendors: readonly UpdateVendor[] = [
  {
    name: 'Dell',
    marks: ['Dell'],
    namesTargets: true,
    alwaysTimed: true,
    oem: () => ({}),
    ownPush: /\/FirmwareInventory\/?$/,
  },
  { name: 'Lenovo', marks: ['Lenovo'], namesTargets: true, alwaysTimed: true },
  {
    name: 'HPE',
    marks: ['HPE', 'Hpe', 'Hp'],
    ownPush: /^\/cgi-bin\//,
    progress(service) {
      const own = at(service, 'Oem', 'Hpe') ?? at(service, 'Oem', 'Hp');
      const state = hpeStates[textAt(own, 'State') ?? ''];
      if (!state) return undefined;
      return { state, percent: numberAt(own, 'FlashProgressPercent'), said: textAt(own, 'Result', 'MessageId') };
    },
  },
  {
    name: 'Supermicro',
    marks: ['Supermicro'],
    namesTargets: true,
    alwaysTimed: true,
    targets: { bios: 'bios', bmc: 'manager', other: 'inventory' },
    // Without these it sets everything back.
    oem: (target) => {
      if (target === 'other') return undefined;
      const kept =
        target === 'bios'
          ? { BIOS: { PreserveME: true, PreserveNVRAM: true, PreserveSMBIOS: true, BackupBIOS: false } }
          : { BMC: { PreserveCfg: true, PreserveSdr: true, PreserveSsl: true, BackupBMC: false } };
      return { Supermicro: kept };
    },
  },
];

const plain: UpdateVendor = { name: '', marks: [] };

export function vendorOf(root: Json, service: Json): UpdateVendor {
  const named = textAt(root, 'Vendor')?.toLowerCase() ?? '';
  const members = [root, service].flatMap((body) => namesAt(body, 'Oem'));
  const has = ({ marks }: UpdateVendor): boolean =>
    marks.some((mark) => named.split(/\W+/).includes(mark.toLowerCase()) || members.includes(mark));
  return vendors.find(has) ?? plain;
}

export function pushTarget(component: string | undefined): PushTarget {
  if (component === undefined) return 'other';
  return /bios|uefi/i.test(component) ? 'bios' : /bmc/i.test(component) ? 'bmc' : 'other';
}

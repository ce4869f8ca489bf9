import type { Json } from './resource.ts';

/** How the services of a maker show the settings of a BIOS: facts of public captures, on a handful of settings. */
export interface BiosMaker {
  /** The resource of what waits, below that of the settings. */
  readonly waiting: 'Settings' | 'Pending' | 'SD';
  /** It is named by `@Redfish.Settings`. */
  readonly isLinked: boolean;
  readonly applyTimes?: readonly string[];
  /** Changes without one of these times are stored and never taken on. */
  readonly needsTime?: boolean;
  /** What waits shows all settings, or those that were changed. */
  readonly shows: 'all' | 'changes';
  /** A request with a wrong value is refused whole, or what is right is taken. */
  readonly takes: 'all-or-nothing' | 'what-is-right';
  readonly registry: string;
  /** The registry is sent packed by gzip. */
  readonly isPacked?: boolean;
  /** The value of ResetType without which settings are not reset; `listed`: it says so. */
  readonly resetType?: { readonly word: string; readonly listed: boolean };
  readonly settings: readonly Setting[];
  readonly dependencies?: readonly Json[];
}

/** A row of a registry, with the value that a new machine has. */
export type Setting = Json & { readonly AttributeName: string; readonly Type: string; readonly now: unknown };

const values = (...names: readonly string[]): Json => ({ Value: names.map((ValueName) => ({ ValueName })) });
const choice = (AttributeName: string, names: readonly string[], more: Json = {}): Setting => ({
  AttributeName,
  Type: 'Enumeration',
  ...values(...names),
  now: names[0],
  ...more,
});
const onOff = (name: string, more?: Json): Setting => choice(name, ['Enabled', 'Disabled'], more);

const dell: BiosMaker = {
  waiting: 'Settings',
  isLinked: true,
  applyTimes: ['OnReset', 'AtMaintenanceWindowStart', 'InMaintenanceWindowOnReset'],
  needsTime: true,
  shows: 'changes',
  takes: 'all-or-nothing',
  registry: 'BiosAttributeRegistry.v1_0_0',
  settings: [
    choice('BootMode', ['Uefi', 'Bios'], { DisplayName: 'Boot Mode' }),
    onOff('LogicalProc', { DisplayName: 'Logical Processor' }),
    choice('SysProfile', ['PerfPerWattOptimizedDapc', 'PerfOptimized', 'Custom'], { DisplayName: 'System Profile' }),
    onOff('ProcTurboMode', { ReadOnly: true }),
    { AttributeName: 'AssetTag', Type: 'String', MaxLength: 63, IsSystemUniqueProperty: true, now: '' },
    { AttributeName: 'SetupPassword', Type: 'Password', MaxLength: 32, now: null },
    { AttributeName: 'SystemServiceTag', Type: 'String', ReadOnly: true, Immutable: true, now: 'LAB0001' },
    { AttributeName: 'AcPwrRcvryUserDelay', Type: 'Integer', LowerBound: 60, UpperBound: 600, now: 60 },
  ],
  dependencies: [
    {
      DependencyFor: 'ProcTurboMode',
      Type: 'Map',
      Dependency: {
        MapFrom: [{ MapFromAttribute: 'SysProfile', MapFromCondition: 'NEQ', MapFromValue: 'Custom' }],
        MapToAttribute: 'ProcTurboMode',
        MapToProperty: 'ReadOnly',
        MapToValue: true,
      },
    },
  ],
};

const hpe: BiosMaker = {
  waiting: 'Settings',
  isLinked: true,
  shows: 'all',
  takes: 'what-is-right',
  registry: 'BiosAttributeRegistryU32.v1_2_36',
  isPacked: true,
  resetType: { word: 'default', listed: false },
  settings: [
    choice('BootMode', ['Uefi', 'LegacyBios']),
    choice('WorkloadProfile', ['GeneralPowerEfficientCompute', 'Virtualization-MaxPerformance', 'Custom']),
    onOff('ProcHyperthreading'),
    {
      AttributeName: 'AdminPhone',
      Type: 'String',
      MinLength: 0,
      MaxLength: 14,
      ValueExpression: '^[0-9() -]*$',
      now: '',
    },
    { AttributeName: 'ServerName', Type: 'String', MaxLength: 14, IsSystemUniqueProperty: true, now: 'lab' },
    { AttributeName: 'AsrTimeoutMinutes', Type: 'Integer', LowerBound: 5, UpperBound: 30, ScalarIncrement: 5, now: 10 },
    onOff('SecureBootStatus', { GrayOut: true }),
  ],
};

const lenovo: BiosMaker = {
  waiting: 'Pending',
  isLinked: true,
  applyTimes: ['OnReset', 'Immediate'],
  shows: 'all',
  takes: 'all-or-nothing',
  registry: 'BiosAttributeRegistry.v1_1_0',
  settings: [
    choice('BootModes_SystemBootMode', ['UEFIMode', 'LegacyMode']),
    choice('OperatingModes_ChooseOperatingMode', ['MaximumEfficiency', 'MaximumPerformance', 'CustomMode']),
    {
      AttributeName: 'Memory_MirrorPercent',
      Type: 'Integer',
      LowerBound: 0,
      UpperBound: 50,
      ScalarIncrement: 10,
      now: 0,
    },
  ],
};

const supermicro: BiosMaker = {
  waiting: 'SD',
  isLinked: true,
  shows: 'all',
  takes: 'all-or-nothing',
  registry: 'BiosAttributeRegistry.1.0.0',
  settings: [
    choice('BootModeSelect_0133', ['UEFI', 'LEGACY', 'DUAL']),
    { AttributeName: 'QuietBoot_002E', Type: 'Boolean', now: true },
    { AttributeName: 'WatchDogTimeout_0031', Type: 'Integer', LowerBound: 1, UpperBound: 30, now: 5 },
  ],
};

const ami: BiosMaker = {
  waiting: 'SD',
  isLinked: false,
  shows: 'changes',
  takes: 'all-or-nothing',
  registry: 'BiosAttributeRegistry',
  resetType: { word: 'Reset', listed: true },
  settings: [
    choice('PCIS007', ['PCIS007Disabled', 'PCIS007Enabled'], {
      DisplayName: 'SR-IOV Support',
      Value: [
        { ValueName: 'PCIS007Disabled', ValueDisplayName: 'Disabled' },
        { ValueName: 'PCIS007Enabled', ValueDisplayName: 'Enabled' },
      ],
    }),
    { AttributeName: 'TER001', DisplayName: 'Console Redirection', Type: 'Boolean', now: false },
  ],
};

export const biosMakers = { dell, hpe, lenovo, supermicro, ami } as const;
export type BiosMakerName = keyof typeof biosMakers;
export const biosMakerNames = Object.keys(biosMakers) as readonly BiosMakerName[];

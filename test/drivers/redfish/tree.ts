import { Fault } from '../../../src/core/errors.ts';
import { RedfishClient, Refusal, type RedfishService, type Resource } from '../../../src/protocols/redfish/client.ts';
import { BiosRegistries } from '../../../src/drivers/redfish/bios-registries.ts';
import { hostKeysInMemory } from '../../../src/drivers/bmc/certificate-trust.ts';
import type { Target } from '../../../src/drivers/redfish/target.ts';
import { memoryTrust } from '../../protocols/redfish/memory-trust.ts';

export type Tree = Record<string, Record<string, unknown>>;

export interface TreeTarget {
  readonly target: Target;
  readonly tree: Tree;
  /** Paths and bodies of what was sent. */
  readonly patches: [string, unknown][];
  readonly orders: [string, unknown][];
  /** Paths of what was read, but for the root. */
  readonly asked: string[];
}

const link = (path: string) => ({ '@odata.id': path });
const refused = new Refusal('invalid', 405, 'it refuses.');

/** A node whose service is a tree of resources in memory; what is patched is merged into it. */
export function treeTarget(
  tree: Tree,
  { node = 'n1', wantedSystem, ordered = () => {}, readOnly = [], broken = [] }: TreeOptions = {},
): TreeTarget {
  const patches: [string, unknown][] = [];
  const orders: [string, unknown][] = [];
  const asked: string[] = [];
  const find = async (path: string | undefined): Promise<Resource | undefined> => {
    if (path === undefined) return undefined;
    if (path !== '/redfish/v1/') asked.push(path);
    const [place = '', query] = path.split('?');
    if (broken.includes(place)) throw new Refusal('invalid', 500, 'it has failed.');
    const found = tree[place];
    const body = found && query !== undefined ? queried(tree, found, new URLSearchParams(query)) : found;
    return body && { path, body: structuredClone(body), etag: '"1"' };
  };
  const get = async (path: string): Promise<Resource> => {
    const found = await find(path);
    if (!found) throw new Fault('invalid', `nothing is at ${path}.`);
    return found;
  };
  const order = async (path: string, body: unknown): Promise<void> => {
    orders.push([path, body]);
    await ordered(path, body);
  };
  const service = {
    // For a login of its own, which a tree cannot answer: nothing listens there.
    endpoint: { address: '127.0.0.1', port: 1 },
    root: () => get('/redfish/v1/'),
    find,
    get,
    order,
    act: order,
    async patch({ path }: Resource, change: unknown) {
      patches.push([path, change]);
      if (readOnly.includes(path)) throw refused;
      tree[path] = merged(tree[path], change) as Record<string, unknown>;
    },
  };
  const access = {
    node,
    system: wantedSystem,
    address: '10.0.0.7',
    port: undefined,
    username: 'admin',
    password: 'secret',
  };
  const trust = memoryTrust();
  const client = new RedfishClient({ trust });
  const target = {
    access,
    client,
    trust,
    service: service as unknown as RedfishService,
    powerTimeout: 400,
    addressTimeout: 400,
    consoles: { hostKeys: hostKeysInMemory(), openSerial: () => Promise.reject(new Error('There is no IPMI.')) },
    updateTimeout: 4_000,
    settleTime: 400,
    certificateTimeout: 400,
    limits: new Map<string, number>(),
    registries: new BiosRegistries(),
  };
  return { target, tree, patches, orders, asked };
}

/** A collection as $expand, $skip and $top of DSP0266 make it. */
function queried(tree: Tree, found: Record<string, unknown>, query: URLSearchParams): Record<string, unknown> {
  const members = (found['Members'] ?? []) as { '@odata.id': string }[];
  const from = Number(query.get('$skip') ?? 0);
  const shown = members.slice(from, from + Number(query.get('$top') ?? members.length));
  const Members = query.has('$expand') ? shown.map((one) => tree[one['@odata.id']] ?? one) : shown;
  return { ...found, Members, 'Members@odata.count': members.length };
}

interface TreeOptions {
  readonly wantedSystem?: string;
  readonly node?: string;
  readonly ordered?: (path: string, body: unknown) => void | Promise<void>;
  readonly readOnly?: readonly string[];
  /** Paths at which the service itself fails. */
  readonly broken?: readonly string[];
}

function merged(old: unknown, change: unknown): unknown {
  if (Array.isArray(change))
    return change.map((item, index) => merged(Array.isArray(old) ? old[index] : undefined, item));
  if (typeof change !== 'object' || change === null) return change;
  const base = typeof old === 'object' && old !== null ? (old as Record<string, unknown>) : {};
  return {
    ...base,
    ...Object.fromEntries(Object.entries(change).map(([name, value]) => [name, merged(base[name], value)])),
  };
}

/** A server as the DMTF schemas describe it, with members that the simulated services have not. */
export function serverTree(): Tree {
  const system = '/redfish/v1/Systems/S';
  const chassis = '/redfish/v1/Chassis/C';
  const manager = '/redfish/v1/Managers/M';
  return {
    '/redfish/v1/': {
      UUID: 'f',
      Systems: link('/redfish/v1/Systems'),
      Chassis: link('/redfish/v1/Chassis'),
      Managers: link('/redfish/v1/Managers'),
      AccountService: link('/redfish/v1/AccountService'),
      UpdateService: link('/redfish/v1/UpdateService'),
    },
    '/redfish/v1/Systems': { Members: [link(system)] },
    '/redfish/v1/Chassis': { Members: [link('/redfish/v1/Chassis/Rack'), link(chassis)] },
    '/redfish/v1/Managers': { Members: [link(manager)] },
    [system]: {
      Id: 'S',
      Model: 'Model 1',
      UUID: 'aa-bb',
      PowerState: 'On',
      PowerRestorePolicy: 'LastState',
      IndicatorLED: 'Lit',
      Boot: {
        BootSourceOverrideEnabled: 'Disabled',
        BootSourceOverrideTarget: 'None',
        BootSourceOverrideMode: 'UEFI',
        AutomaticRetryConfig: 'RetryAttempts',
        'BootSourceOverrideMode@Redfish.AllowableValues': ['UEFI'],
        'BootSourceOverrideTarget@Redfish.AllowableValues': ['None', 'UefiHttp', 'Hdd'],
      },
      '@Redfish.Settings': { SettingsObject: link(`${system}/Settings`) },
      Actions: { '#ComputerSystem.Reset': { target: `${system}/Reset`, '@Redfish.ActionInfo': `${system}/ResetInfo` } },
      Processors: link(`${system}/Processors`),
      PCIeDevices: [link(`${chassis}/PCIe/1`)],
      LogServices: link(`${system}/Logs`),
    },
    [`${system}/Settings`]: { Boot: {} },
    [`${system}/ResetInfo`]: {
      Parameters: [{ Name: 'ResetType', AllowableValues: ['On', 'ForceOff', 'PushPowerButton'] }],
    },
    [`${system}/Processors`]: { Members: [link(`${system}/P1`), link(`${system}/P2`)] },
    [`${system}/P1`]: { ProcessorType: 'GPU', Model: 'G' },
    [`${system}/P2`]: { ProcessorType: 'CPU', Model: 'X', TotalCores: '8' },
    [`${system}/Logs`]: { Members: [link(`${system}/Logs/Journal`), link(`${system}/Logs/Log`)] },
    [`${system}/Logs/Journal`]: { Id: 'Journal', Entries: link(`${system}/Logs/Journal/E`) },
    [`${system}/Logs/Log`]: {
      Id: 'EventLog',
      Entries: link(`${system}/Logs/Log/E`),
      Actions: { '#LogService.ClearLog': { target: `${system}/Logs/Log/Clear` } },
    },
    [`${system}/Logs/Log/E`]: { Members: [link(`${system}/Logs/Log/E/1`)] },
    [`${system}/Logs/Log/E/1`]: {
      Id: '1',
      Created: '2026-01-02T03:04:05Z',
      Message: 'It happened.',
      SensorType: 'Fan',
    },
    '/redfish/v1/Chassis/Rack': { Id: 'Rack', Links: { Contains: [link(chassis)] } },
    [chassis]: {
      Id: 'C',
      Name: 'Tray',
      PhysicalSecurity: { IntrusionSensor: 'HardwareIntrusion' },
      Location: { PartLocation: { ServiceLabel: 'Slot 4' } },
      Links: { ComputerSystems: [link(system)], ContainedBy: link('/redfish/v1/Chassis/Rack') },
      ThermalSubsystem: link(`${chassis}/Thermal`),
      PowerSubsystem: link(`${chassis}/Power`),
      EnvironmentMetrics: link(`${chassis}/Environment`),
      Sensors: link(`${chassis}/Sensors`),
      PCIeDevices: link(`${chassis}/PCIe`),
    },
    [`${chassis}/Thermal`]: { Fans: link(`${chassis}/Fans`) },
    [`${chassis}/Fans`]: { Members: [link(`${chassis}/Fans/1`), link(`${chassis}/Fans/2`)] },
    [`${chassis}/Fans/1`]: { Name: 'Fan A', SpeedPercent: { Reading: 40 } },
    [`${chassis}/Fans/2`]: { Name: 'Fan B', Status: { State: 'Absent' } },
    [`${chassis}/Power`]: { PowerSupplies: link(`${chassis}/Supplies`) },
    [`${chassis}/Supplies`]: { Members: [link(`${chassis}/Supplies/1`)] },
    [`${chassis}/Supplies/1`]: { Name: 'Supply A', Metrics: link(`${chassis}/Supplies/1/Metrics`) },
    [`${chassis}/Supplies/1/Metrics`]: { OutputPowerWatts: { Reading: 210.5 } },
    [`${chassis}/Environment`]: {
      PowerLimitWatts: {
        SetPoint: 400,
        AllowableMin: 100,
        AllowableMax: 500,
        ControlMode: 'Disabled',
        DataSourceUri: `${chassis}/Control`,
      },
    },
    [`${chassis}/Control`]: { SetPoint: 400, ControlMode: 'Disabled' },
    [`${chassis}/Sensors`]: { Members: ['T', 'V', 'A'].map((id) => link(`${chassis}/Sensors/${id}`)) },
    [`${chassis}/Sensors/T`]: { Name: 'Exhaust', ReadingType: 'Temperature', Reading: -3.25 },
    [`${chassis}/Sensors/V`]: { Name: '5V', ReadingType: 'Voltage', Reading: null },
    [`${chassis}/Sensors/A`]: { Name: 'Site', ReadingType: 'Altitude', Reading: 120 },
    [`${chassis}/PCIe`]: { Members: [link(`${chassis}/PCIe/1`)] },
    [`${chassis}/PCIe/1`]: { Manufacturer: 'Maker', Model: 'Card' },
    [manager]: {
      FirmwareVersion: '9',
      EthernetInterfaces: link(`${manager}/Ports`),
      NetworkProtocol: link(`${manager}/Protocol`),
    },
    [`${manager}/Ports`]: { Members: [link(`${manager}/usb`), link(`${manager}/lan`)] },
    [`${manager}/usb`]: { IPv4Addresses: [{ Address: '169.254.0.1', SubnetMask: '255.255.0.0' }] },
    [`${manager}/lan`]: {
      IPv4Addresses: [{ Address: '10.0.0.7', SubnetMask: '255.255.255.0', Gateway: '10.0.0.1', AddressOrigin: 'DHCP' }],
      DHCPv4: { DHCPEnabled: true },
      VLAN: { VLANEnable: true, VLANId: 12 },
    },
    [`${manager}/Protocol`]: {
      HostName: 'bmc',
      NTP: { ProtocolEnabled: true, NTPServers: ['a', 'b'] },
      SNMP: { CommunityStrings: [{ Name: 'first', CommunityString: 'public' }] },
    },
    '/redfish/v1/AccountService': { Accounts: link('/redfish/v1/Accounts') },
    '/redfish/v1/Accounts': { Members: [link('/redfish/v1/Accounts/1'), link('/redfish/v1/Accounts/2')] },
    '/redfish/v1/Accounts/1': { Id: '1', UserName: 'admin' },
    '/redfish/v1/Accounts/2': { Id: '2', UserName: 'oper' },
    '/redfish/v1/UpdateService': { FirmwareInventory: link('/redfish/v1/Firmware') },
    '/redfish/v1/Firmware': { Members: [link('/redfish/v1/Firmware/1')] },
    '/redfish/v1/Firmware/1': { Name: 'NIC', Version: '3.2' },
  };
}

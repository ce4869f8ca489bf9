import type { Resource } from '../../protocols/redfish/client.ts';
import { at, flagAt, linkAt, numberAt, textAt } from '../../protocols/redfish/json.ts';
import { rootMember } from '../../protocols/redfish/node-resources.ts';
import {
  accountFindings,
  clockFinding,
  type Finding,
  findingsOf,
  logFinding,
  type Posture,
  type PostureCheck,
  restoreFinding,
  unknown,
} from '../posture.ts';
import { redfishAllAccounts } from './accounts.ts';
import { eventLogOf } from './event-log.ts';
import { managerFor, systemIfAny, type Target } from './target.ts';

export function redfishPosture(target: Target): Posture {
  return {
    async read(signal) {
      const [manager, system] = [await managerFor(target, signal), await systemIfAny(target, signal)];
      const protocols = await target.service.find(linkAt(manager?.body, 'NetworkProtocol'), signal);
      const checks = [
        ...transportChecks(target),
        ...protocolChecks(protocols),
        ...machineChecks(target, manager, system),
      ];
      const versions = { BMC: textAt(manager?.body, 'FirmwareVersion'), BIOS: textAt(system?.body, 'BiosVersion') };
      return {
        firmware: Object.fromEntries(
          Object.entries(versions).filter((entry): entry is [string, string] => entry[1] !== undefined),
        ),
        findings: await findingsOf(checks, signal),
      };
    },
  };
}

const day = 86_400_000;
const soon = 30 * day;

/** How the service itself is reached. */
const transportChecks = ({ service, trust }: Target): readonly PostureCheck[] => [
  {
    name: 'tls',
    async look() {
      const name = 'tls';
      const { peer } = service;
      if (!peer)
        return {
          level: 'danger',
          name,
          message:
            'muster reaches it without TLS: account and commands can be read on the way. Set bmctransport to tls.',
        };
      const isOld = !['TLSv1.2', 'TLSv1.3'].includes(peer.protocol);
      const message = isOld
        ? `It uses ${peer.protocol}, whose protection has been broken: update its firmware.`
        : `It uses ${peer.protocol}.`;
      return { level: isOld ? 'warning' : 'ok', name, message };
    },
  },
  {
    name: 'certificate',
    async look() {
      const name = 'certificate';
      const { peer } = service;
      if (!peer) return [];
      if (peer.ends === undefined) return unknown(name, 'the end of its certificate cannot be read.');
      const ends = new Date(peer.ends).toISOString().slice(0, 10);
      const left = peer.ends - Date.now();
      if (left < 0) return { level: 'warning', name, message: `The certificate ended on ${ends}: give it a new one.` };
      if (left < soon)
        return { level: 'warning', name, message: `The certificate ends on ${ends}: give it a new one.` };
      const isOwn = peer.isSelfSigned && trust.ca === undefined;
      if (!isOwn) return { level: 'ok', name, message: `The certificate is valid until ${ends}.` };
      const message = `The certificate is self-signed and valid until ${ends}; muster accepts no other one. A certificate of your own authority protects the first contact too.`;
      return { level: 'note', name, message };
    },
  },
];

interface Protocol {
  readonly name: string;
  readonly member: string;
  readonly level: Finding['level'];
  readonly on: string;
  readonly off: string;
}

const offered: readonly Protocol[] = [
  {
    name: 'http',
    member: 'HTTP',
    level: 'warning',
    on: 'HTTP without TLS is enabled: disable it, unless it only redirects to HTTPS.',
    off: 'HTTP without TLS is disabled.',
  },
  {
    name: 'ipmi',
    member: 'IPMI',
    level: 'warning',
    on: 'IPMI over LAN is enabled: whoever reaches it gets a hash of each password to guess at. Disable it if nothing uses it.',
    off: 'IPMI over LAN is disabled.',
  },
  {
    name: 'telnet',
    member: 'Telnet',
    level: 'danger',
    on: 'Telnet is enabled: passwords can be read on the way. Disable it.',
    off: 'Telnet is disabled.',
  },
];

/** ManagerNetworkProtocol of the DMTF schemas. */
const protocolChecks = (protocols: Resource | undefined): readonly PostureCheck[] => [
  ...offered.map(
    ({ name, member, level, on, off }): PostureCheck => ({
      name,
      async look() {
        const isOn = flagAt(protocols?.body, member, 'ProtocolEnabled');
        // What a BMC does not list it does not have, but for what most have.
        if (isOn === undefined)
          return name === 'telnet' ? [] : unknown(name, `its BMC does not report whether ${member} is enabled.`);
        return { level: isOn ? level : 'ok', name, message: isOn ? on : off };
      },
    }),
  ),
  {
    name: 'snmp',
    async look() {
      const snmp = at(protocols?.body, 'SNMP');
      const isOld = flagAt(snmp, 'EnableSNMPv1') === true || flagAt(snmp, 'EnableSNMPv2c') === true;
      if (flagAt(snmp, 'ProtocolEnabled') !== true || !isOld) return [];
      const message = 'SNMP without encryption is enabled (versions 1 or 2c): use version 3, or disable it.';
      return { level: 'warning', name: 'snmp', message };
    },
  },
];

const machineChecks = (
  target: Target,
  manager: Resource | undefined,
  system: Resource | undefined,
): readonly PostureCheck[] => [
  { name: 'accounts', look: async (signal) => accountFindings(await redfishAllAccounts(target, signal)) },
  {
    name: 'clock',
    async look() {
      const time = Date.parse(textAt(manager?.body, 'DateTime') ?? '');
      if (Number.isNaN(time)) return unknown('clock', 'its BMC does not report its time.');
      return clockFinding((time - Date.now()) / 1_000);
    },
  },
  { name: 'event-log', look: (signal) => eventLog(target, signal) },
  {
    name: 'power-restore',
    async look() {
      const policies = { AlwaysOn: 'on', AlwaysOff: 'off', LastState: 'last' } as const;
      return restoreFinding(policies[textAt(system?.body, 'PowerRestorePolicy') as keyof typeof policies]);
    },
  },
  { name: 'secure-boot', look: (signal) => secureBoot(target, system, signal) },
  { name: 'updates', look: (signal) => updates(target, signal) },
];

async function eventLog(target: Target, signal: AbortSignal): Promise<Finding> {
  const { log } = await eventLogOf(target, signal);
  const entries = await target.service.find(linkAt(log.body, 'Entries'), signal, 'collection');
  const count = numberAt(entries?.body, 'Members@odata.count');
  if (count === undefined) return unknown('event-log', 'its BMC does not report how many entries its event log has.');
  const wraps = textAt(log.body, 'OverWritePolicy') === 'WrapsWhenFull';
  return logFinding({ entries: count, room: numberAt(log.body, 'MaxNumberOfRecords') || undefined, wraps });
}

/** What boots is checked by its signature. */
async function secureBoot({ service }: Target, system: Resource | undefined, signal: AbortSignal): Promise<Finding> {
  const name = 'secure-boot';
  const found = await service.find(linkAt(system?.body, 'SecureBoot'), signal);
  const now = textAt(found?.body, 'SecureBootCurrentBoot');
  const isOn = now === undefined ? flagAt(found?.body, 'SecureBootEnable') : now === 'Enabled';
  if (isOn === undefined) return unknown(name, 'its BMC does not report whether Secure Boot is enabled.');
  if (isOn) return { level: 'ok', name, message: 'Secure Boot is enabled.' };
  return { level: 'note', name, message: 'Secure Boot is disabled: the machine starts what nobody has signed.' };
}

/** Where the service fetches firmware from, it may not check who that is. */
async function updates({ service }: Target, signal: AbortSignal): Promise<readonly Finding[] | Finding> {
  const found = await rootMember(service, 'UpdateService', signal);
  if (flagAt(found?.body, 'VerifyRemoteServerCertificate') !== false) return [];
  const message =
    'The BMC fetches firmware without checking the certificate of the server: set VerifyRemoteServerCertificate.';
  return { level: 'note', name: 'updates', message };
}

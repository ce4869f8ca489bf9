import { getChassisStatus } from '../../protocols/ipmi/commands/chassis.ts';
import {
  getAuthenticationCapabilities,
  getCipherSuites,
  type OfferedSuite,
} from '../../protocols/ipmi/commands/channel.ts';
import { getDeviceId } from '../../protocols/ipmi/commands/device.ts';
import { getLanParameter, lanChannel } from '../../protocols/ipmi/commands/lan.ts';
import { getSelFill, getSelTime } from '../../protocols/ipmi/commands/sel.ts';
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
import { ipmiUsers } from './accounts.ts';
import type { Bmc } from './bmc.ts';

export function ipmiPosture(bmc: Bmc): Posture {
  const { link } = bmc;
  return {
    async read(signal) {
      const { firmware } = await getDeviceId(link, signal);
      const channel = await lanChannel(link, signal);
      return { firmware: { BMC: firmware }, findings: await findingsOf(checksOf(bmc, channel), signal) };
    },
  };
}

const checksOf = (bmc: Bmc, channel: number): readonly PostureCheck[] => [
  {
    name: 'cipher-suites',
    look: async (signal) =>
      suiteFindings(await getCipherSuites(bmc.link, channel, signal), await closedSuites(bmc, channel, signal)),
  },
  { name: 'authentication', look: (signal) => logins(bmc, channel, signal) },
  { name: 'accounts', look: async (signal) => accountFindings(await ipmiUsers(bmc.link, channel, signal)) },
  {
    name: 'clock',
    async look(signal) {
      const seconds = await getSelTime(bmc.link, signal);
      if (seconds === undefined) return unknown('clock', 'its BMC has not been given the time.');
      return clockFinding(seconds - Date.now() / 1_000);
    },
  },
  { name: 'event-log', look: async (signal) => logFinding(await getSelFill(bmc.link, signal)) },
  {
    name: 'power-restore',
    async look(signal) {
      const { restorePolicy } = await getChassisStatus(bmc.link, signal);
      const policies = { 'Always on': 'on', 'Always off': 'off', 'Last state': 'last' } as const;
      return restoreFinding(policies[restorePolicy as keyof typeof policies]);
    },
  },
];

/** IPMI 2.0 table 23-4, parameters 23 and 24: suites that no level of rights may use are offered and refused. */
async function closedSuites(bmc: Bmc, channel: number, signal: AbortSignal): Promise<ReadonlySet<number>> {
  const ids = await getLanParameter(bmc.link, channel, 'suites', signal);
  const levels = await getLanParameter(bmc.link, channel, 'suiteLevels', signal);
  if (ids === undefined || levels === undefined) return new Set();
  // A byte that is reserved comes first in both; then an id, or the levels of two.
  const levelOf = (place: number): number => ((levels[1 + (place >> 1)] ?? 0xff) >> (place % 2 === 0 ? 0 : 4)) & 0x0f;
  return new Set([...ids.subarray(1)].filter((_, place) => levelOf(place) === 0));
}

/** IPMI 2.0 table 13-19: AES; the others are none, and RC4. */
const strongEncryption = 1;

function suiteFindings(offered: readonly OfferedSuite[], closed: ReadonlySet<number>): readonly Finding[] {
  const name = 'cipher-suites';
  const open = offered.filter(({ id, isOem }) => !isOem && !closed.has(id));
  if (open.length === 0) return [unknown(name, 'its BMC lists no cipher suites.')];
  const listed = (some: readonly OfferedSuite[]): string =>
    [...new Set(some.map(({ id }) => id))].sort((a, b) => a - b).join(', ');
  const findings: Finding[] = [];
  if (open.some(({ authentication }) => authentication === 0)) {
    const message =
      'Cipher suite 0 is offered: whoever knows the name of an account logs in without its password. Disable it.';
    findings.push({ level: 'danger', name, message });
  }
  const plain = open.filter(
    ({ authentication, confidentiality }) => authentication !== 0 && confidentiality !== strongEncryption,
  );
  if (plain.length > 0) {
    const message = `Cipher suites without encryption or with a broken one are offered (${listed(plain)}): disable them, so that only 17 and 3 are left.`;
    findings.push({ level: 'warning', name, message });
  }
  if (findings.length > 0) return findings;
  return [{ level: 'ok', name, message: `All cipher suites encrypt and authenticate (${listed(open)}).` }];
}

async function logins(bmc: Bmc, channel: number, signal: AbortSignal): Promise<readonly Finding[]> {
  const name = 'authentication';
  const found = await getAuthenticationCapabilities(bmc.link, channel, signal);
  const problems: readonly (readonly [boolean, Finding['level'], string])[] = [
    [found.anonymous, 'danger', 'Anonymous logins are enabled: disable user 1.'],
    [found.nullNames, 'warning', 'Accounts without a name may have a password: disable them.'],
    [found.none, 'danger', 'IPMI 1.5 sessions without authentication are allowed: disable them.'],
    [
      found.plainPassword,
      'warning',
      'IPMI 1.5 sessions that send the password in clear text are allowed: disable them.',
    ],
  ];
  const findings = problems.flatMap(([is, level, message]) => (is ? [{ level, name, message }] : []));
  if (findings.length > 0) return findings;
  return [{ level: 'ok', name, message: 'Nobody logs in without a name or without authentication.' }];
}

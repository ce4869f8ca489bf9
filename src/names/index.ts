import type { Ground } from '../access/ground.ts';
import type { Workers } from '../bus/index.ts';
import type { Logger } from '../core/log.ts';
import type { ValuesOf } from '../core/settings.ts';
import type { Questions } from '../database/questions.ts';
import type { Servers } from '../database/servers.ts';
import {
  type DaemonKind,
  daemonKinds,
  DaemonServers,
  daemonTopic,
  differentVersions,
  Unconfirmed,
} from './daemon-servers.ts';
import { Dhcp } from './dhcp/dhcp.ts';
import { dhcpSettings, openDhcp } from './dhcp/open-dhcp.ts';
import { answerForDhcp, DhcpElsewhere, type NodeDhcp } from './dhcp/node-dhcp.ts';
import { Dns } from './dns/dns.ts';
import { checkPath, dnsSettings, packageDirectory, packageUser } from './dns/layout.ts';
import { asSiteSays, Hosts, nameSettings } from './hosts/hosts.ts';
import { thisMachine } from './local-networks.ts';

export { type Daemon, type DaemonSpec, makeDaemon, type User, userNamed } from './daemons/daemon.ts';
export { bindProgram, installedProgram } from './daemons/programs.ts';
export { renderListen } from './dns/named-conf.ts';
export { reservationsOf } from './dhcp/reservations.ts';
export { type NameOrder, nameOrders } from './hosts/own-lines.ts';
export {
  type ConnectedNetwork,
  localAdapters,
  localNetworks,
  type LocalNetworks,
} from './local-networks.ts';
export { addRoute, removeRoute, type StaticRoute } from './local-routes.ts';
/** Of BIND. */
export { checkPath, packageDirectory, packageUser };
export { type DaemonKind, daemonKinds, DaemonServers, daemonTopic, differentVersions, type NodeDhcp, Unconfirmed };
export { asSiteSays, Dhcp, dhcpSettings, Dns, dnsSettings, Hosts, nameSettings };

interface NameSettings {
  readonly names: ValuesOf<typeof nameSettings>;
  readonly dns: ValuesOf<typeof dnsSettings>;
  readonly dhcp: ValuesOf<typeof dhcpSettings>;
}

/** What gives nodes their names and addresses. */
export interface Names {
  readonly hosts: Hosts;
  readonly dns: Dns;
  readonly dhcp: Dhcp;
  /** DHCP as nodes need it, wherever it is. */
  readonly nodeDhcp: NodeDhcp;
  readonly daemons: DaemonServers;
}

interface OtherServers {
  readonly servers: Servers;
  readonly questions: Questions;
  readonly workers: Workers | undefined;
}

export async function openNames(
  settings: NameSettings,
  { data, store, box, log }: Ground,
  others: OtherServers,
): Promise<Names> {
  const hosts = new Hosts(settings.names, data);
  await hosts.finishInterrupted().catch((error: unknown) => log.error({ err: error }, 'the hosts file is incomplete'));
  const machine = thisMachine(() => hosts.resolve());
  const dns = new Dns({ settings: settings.dns, data, hostsFile: settings.names.hostsFile, box, log });
  const dhcp = openDhcp(settings.dhcp, { data, store, log, machine, workers: others.workers });
  const named = { names: settings.names.server, dhcp: settings.dhcp.server };
  const daemons = new DaemonServers(named, { store, ...others });
  answerForDhcp(dhcp, daemons, store);
  const nodeDhcp = daemons.isHere('dhcp') ? dhcp : new DhcpElsewhere(daemons, store);
  return { hosts, dns, dhcp, nodeDhcp, daemons };
}

/** Daemons that this server has are kept up to date from now on; those of others are theirs. */
export function resumeNames({ daemons, dns, dhcp }: Names, log: Logger): void {
  const failed = (error: unknown): void => log.error({ err: error }, 'BIND and Kea could not be looked at');
  if (daemons.isHere('names')) dns.resume();
  else warnOfSecond(dns, log, 'BIND', 'names.server', 'named').catch(failed);
  if (daemons.isHere('dhcp')) dhcp.resume();
  else warnOfSecond(dhcp, log, 'Kea', 'dhcp.server', 'kea-dhcp4-server kea-dhcp6-server').catch(failed);
}

/** A daemon that this server had before would go on serving what it was given last. */
async function warnOfSecond(
  service: Pick<Dns | Dhcp, 'isServing'>,
  log: Logger,
  daemon: string,
  setting: string,
  units: string,
): Promise<void> {
  if (await service.isServing())
    log.warn(
      `${daemon} runs on this machine with what muster configured earlier, but the setting ${setting} names another server. It serves old data: stop it with systemctl disable --now ${units}.`,
    );
}

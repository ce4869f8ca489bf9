import type { Ground } from '../access/ground.ts';
import type { ValuesOf } from '../core/settings.ts';
import { Dhcp } from './dhcp/dhcp.ts';
import { dhcpSettings, openDhcp } from './dhcp/open-dhcp.ts';
import { Dns } from './dns/dns.ts';
import { dnsSettings } from './dns/layout.ts';
import { asSiteSays, Hosts, nameSettings } from './hosts/hosts.ts';
import { thisMachine } from './local-networks.ts';

export { type Daemon, makeDaemon, userNamed } from './daemons/daemon.ts';
export { isOneMachine, normalMac, reservationsOf } from './dhcp/reservations.ts';
export { type NameOrder, nameOrders } from './hosts/own-lines.ts';
export {
  type ConnectedNetwork,
  localAdapters,
  localNetworks,
  type LocalNetworks,
} from './local-networks.ts';
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
}

export async function openNames(settings: NameSettings, { data, store, box, log }: Ground): Promise<Names> {
  const hosts = new Hosts(settings.names, data);
  await hosts.finishInterrupted().catch((error: unknown) => log.error({ err: error }, 'the hosts file is incomplete'));
  const machine = thisMachine(() => hosts.resolve());
  return {
    hosts,
    dns: new Dns({ settings: settings.dns, data, hostsFile: settings.names.hostsFile, box, log }),
    dhcp: openDhcp(settings.dhcp, { data, store, log, machine }),
  };
}

import { Fault } from '../../core/errors.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { type Json, linkAt, listAt, textAt } from '../../protocols/redfish/json.ts';
import { managerFor, type Target } from './target.ts';

/** The network settings of a node's manager. */
export interface ManagementNetwork {
  /** The interface that carries the address we use, else the first with an address, else the first. */
  port(): Promise<Resource>;
  protocols(): Promise<Resource>;
}

export async function managementNetwork(target: Target, signal: AbortSignal): Promise<ManagementNetwork> {
  const manager = await managerFor(target, signal);
  if (!manager) throw new Fault('invalid', 'its Redfish service has no manager whose settings could be read.');
  return {
    async port() {
      const ports = await memberResources(target.service, linkAt(manager.body, 'EthernetInterfaces'), signal);
      const has = ({ body }: Resource, address: string): boolean =>
        addressesIn(body).some((item) => textAt(item, 'Address') === address);
      const port =
        ports.find((one) => has(one, target.access.address)) ??
        ports.find(({ body }) => currentAddress(body) !== undefined) ??
        ports[0];
      if (!port) throw new Fault('invalid', 'its service processor does not show its network interface.');
      // Those of an expanded collection have no ETag to change them by.
      return port.etag === undefined ? target.service.get(port.path, signal) : port;
    },
    async protocols() {
      const protocols = await target.service.find(linkAt(manager.body, 'NetworkProtocol'), signal);
      if (!protocols) throw new Fault('invalid', 'its service processor does not show its network protocols.');
      return protocols;
    },
  };
}

export function addressesIn(body: Json): readonly Json[] {
  return [...listAt(body, 'IPv4Addresses'), ...listAt(body, 'IPv6Addresses')];
}

/** The IPv4 address in use: its Address, SubnetMask and Gateway; undefined if there is none. */
export function currentAddress(body: Json): Json {
  const unset = '0.0.0.0';
  return listAt(body, 'IPv4Addresses').find((item) => (textAt(item, 'Address') ?? unset) !== unset);
}

import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import { ipmiDriver, type IpmiDriverOptions } from '../../../src/drivers/ipmi/index.ts';
import type { IpmiLink } from '../../../src/protocols/ipmi/link.ts';

export const access = { node: 'n1', address: '10.0.0.1', port: undefined, username: 'admin', password: 'secret' };

export const noSerial = () => Promise.reject(new Error('A scripted BMC has no console.'));

/** The capabilities of a node whose BMC is this link. */
export function over(
  link: IpmiLink,
  options: Partial<IpmiDriverOptions> = {},
): Required<Omit<Capabilities, 'subnodes'>> {
  const connections = {
    link: () => link,
    openSerial: noSerial,
    async close() {},
  };
  const capabilities = ipmiDriver({ connections, cycleSettling: 0, powerTimeout: 5_000, ...options }).connect(access);
  return capabilities as Required<Omit<Capabilities, 'subnodes'>>;
}

import { domainStatistics, statistics } from '../../protocols/libvirt/calls/domains.ts';
import type { Subnodes } from '../capabilities.ts';
import type { Machine } from './machine.ts';
import { stateOf } from './power.ts';

/** The machines of a hypervisor, whoever has made them. */
export function kvmSubnodes({ access, hypervisors }: Machine): Subnodes {
  return {
    areMachines: true,
    async list(signal) {
      const host = access.host ?? access.node;
      const { connection } = await hypervisors.at(host, access.route, signal);
      const all = await domainStatistics(connection, statistics.state, [], { signal });
      const entries = all.map(({ domain, values }) => {
        const power = stateOf(Number(values.get('state.state')));
        return [domain.name, { mgt: 'kvm', nodetype: 'vm', vmhost: host, uuid: domain.uuid, power }] as const;
      });
      return Object.fromEntries(entries);
    },
  };
}

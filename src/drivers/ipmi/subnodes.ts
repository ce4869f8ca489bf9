import { Fault } from '../../core/errors.ts';
import type { Subnodes } from '../capabilities.ts';

/** IPMI knows one server per service processor. */
export const ipmiSubnodes: Subnodes = {
  async list() {
    throw new Fault(
      'invalid',
      'it is a single server with mgt=ipmi and has no subnodes; a chassis or management module that has some is managed with mgt=redfish.',
    );
  },
};

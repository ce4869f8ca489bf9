import { formatListen } from '../../core/host-address.ts';
import type { Console } from '../console.ts';
import type { Bmc } from './bmc.ts';

/** Serial over LAN, in a session of its own: commands to the same BMC go on. */
export const ipmiConsole = ({ access: { address, port }, openSerial }: Bmc): Console => ({
  async open(options, signal) {
    const serial = await openSerial(options, signal);
    return { way: `SOL ${port === undefined ? address : formatListen({ host: address, port })}`, ...serial };
  },
});

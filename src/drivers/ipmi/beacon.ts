import { Fault } from '../../core/errors.ts';
import { getChassisStatus, identify } from '../../protocols/ipmi/commands/chassis.ts';
import type { Beacon } from '../capabilities.ts';
import type { Bmc } from './bmc.ts';

/** IPMI leaves the look of the light to the hardware; `blink` is the timed identification, which ends by itself. */
const blinkSeconds = 255;
const states = { off: 'off', timed: 'blink', on: 'on' };

export function ipmiBeacon(bmc: Bmc): Beacon {
  return {
    async state(signal) {
      const { identify: light } = await getChassisStatus(bmc.link, signal);
      if (light === undefined) {
        throw new Fault('invalid', 'its service processor does not tell the state of its identify light.');
      }
      return states[light];
    },
    set(action, signal) {
      const duration = action === 'on' ? 'indefinite' : action === 'blink' ? blinkSeconds : 0;
      return identify(bmc.link, duration, signal);
    },
  };
}

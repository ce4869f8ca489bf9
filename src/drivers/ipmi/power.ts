import { Fault } from '../../core/errors.ts';
import { within } from '../../core/waiting.ts';
import { pause, unanswered } from '../../protocols/ipmi/commands/ask.ts';
import {
  chassisControl,
  type ChassisControl,
  getChassisStatus,
  identify,
} from '../../protocols/ipmi/commands/chassis.ts';
import { coldReset, getDeviceId } from '../../protocols/ipmi/commands/device.ts';
import type { Beacon, Controller, Power, PowerAction, PowerSeen } from '../capabilities.ts';
import type { Bmc } from './bmc.ts';

const known = ['on', 'off', 'softoff', 'reset', 'boot', 'cycle', 'nmi'] as const satisfies readonly PowerAction[];
type KnownAction = (typeof known)[number];
const isKnown = (action: PowerAction): action is KnownAction => (known as readonly PowerAction[]).includes(action);
const firstPoll = 100;
const longestPoll = 2000;
/** After this a command that got no answer and had no effect is sent again. */
const resendAfter = 3000;
const maximumSends = 3;

type State = 'on' | 'off';

/** One action, with one timeout for all its attempts. */
interface Work {
  readonly bmc: Bmc;
  seen: State | undefined;
}

function readState(bmc: Bmc, signal: AbortSignal): Promise<State> {
  return getChassisStatus(bmc.link, signal).then(({ power }) => (power ? 'on' : 'off'));
}

/** False if no answer came, and nobody knows whether the command was carried out. */
async function control(bmc: Bmc, action: ChassisControl, signal: AbortSignal): Promise<boolean> {
  try {
    await chassisControl(bmc.link, action, signal);
    return true;
  } catch (error) {
    if (!unanswered(error, signal)) throw error;
    return false;
  }
}

/** Reads the state until `done` says so or the time is over; false then. One reading may get lost. */
async function watch(
  work: Work,
  timeout: number,
  done: (state: State, elapsed: number) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const start = performance.now();
  let lost = 0;
  for (let wait = firstPoll; ; wait = Math.min(wait * 1.5, longestPoll)) {
    await pause(wait, signal);
    try {
      work.seen = await readState(work.bmc, signal);
      lost = 0;
      if (done(work.seen, performance.now() - start)) return true;
    } catch (error) {
      lost += 1;
      if (lost > 1 || !unanswered(error, signal)) throw error;
    }
    if (performance.now() - start > timeout) return false;
  }
}

/** Commands whose effect shows in the state: sent again only when the state was read and has not changed. */
async function reach(work: Work, action: 'on' | 'off' | 'softoff', signal: AbortSignal): Promise<State> {
  const { bmc } = work;
  const wanted = action === 'on' ? 'on' : 'off';
  const resend = Math.min(resendAfter, bmc.times.powerTimeout / (maximumSends + 1));
  for (let sends = 1; ; sends += 1) {
    const last = (await control(bmc, action, signal)) || sends === maximumSends;
    const timeout = last ? Number.POSITIVE_INFINITY : resend;
    if (await watch(work, timeout, (state) => state === wanted, signal)) return wanted;
  }
}

/** Commands that begin and end with `on`. */
async function restart(work: Work, action: 'reset' | 'cycle', signal: AbortSignal): Promise<State> {
  const { bmc } = work;
  if (!(await control(bmc, action, signal))) {
    throw new Fault(
      'deadline',
      `the power action ${action} got no answer; it is unknown whether its BMC carried it out.`,
    );
  }
  let seenOff = action === 'reset';
  const done = (state: State, elapsed: number) => {
    if (state === 'off') seenOff = true;
    return state === 'on' && (seenOff || elapsed >= bmc.times.cycleSettling);
  };
  await watch(work, Number.POSITIVE_INFINITY, done, signal);
  return 'on';
}

async function interrupt(bmc: Bmc, now: State, signal: AbortSignal): Promise<State> {
  if (now === 'off') throw new Fault('invalid', 'it is off, and nmi needs a running system.');
  if (await control(bmc, 'nmi', signal)) return now;
  throw new Fault('deadline', 'the power action nmi got no answer; it is unknown whether its BMC carried it out.');
}

async function perform(work: Work, action: KnownAction, signal: AbortSignal, from?: PowerSeen): Promise<State> {
  const now = await readState(work.bmc, signal);
  work.seen = now;
  await from?.(now);
  switch (action) {
    case 'on':
      return now === 'on' ? now : await reach(work, 'on', signal);
    case 'off':
    case 'softoff':
      return now === 'off' ? now : await reach(work, action, signal);
    case 'boot':
      return now === 'on' ? await restart(work, 'reset', signal) : await reach(work, 'on', signal);
    case 'reset':
    case 'cycle':
      return now === 'off' ? now : await restart(work, action, signal);
    case 'nmi':
      return await interrupt(work.bmc, now, signal);
  }
}

function tooLate({ bmc, seen }: Work, action: KnownAction): Fault {
  const seconds = Math.round(bmc.times.powerTimeout / 1000);
  if (seen === undefined) return new Fault('deadline', `its power state could not be read within ${seconds} s.`);
  const hint = action === 'softoff' ? ' The operating system may ignore the request; off does not ask it.' : '';
  return new Fault('deadline', `it is still ${seen} ${seconds} s after the power action ${action}.${hint}`);
}

export function ipmiPower(bmc: Bmc): Power {
  return {
    state: (signal) => readState(bmc, signal),
    async set(action, signal, from) {
      if (!isKnown(action)) {
        throw new Fault('invalid', `IPMI has no power action "${action}"; it has ${known.join(', ')}.`, {
          reference: ['Invalid or unsupported command'],
        });
      }
      const work: Work = { bmc, seen: undefined };
      return await within(
        bmc.times.powerTimeout,
        () => tooLate(work, action),
        signal,
        (inTime) => perform(work, action, inTime, from),
      );
    },
    controller: ipmiController(bmc),
  };
}

function ipmiController({ link }: Bmc): Controller {
  return {
    async state(signal) {
      try {
        await getDeviceId(link, signal);
        return 'BMC Ready';
      } catch (error) {
        if (!unanswered(error, signal)) throw error;
        return 'BMC NotReady';
      }
    },
    async restart(signal) {
      try {
        await coldReset(link, signal);
      } catch (error) {
        if (!unanswered(error, signal)) throw error;
        throw new Fault('deadline', 'the restart got no answer; it is unknown whether its BMC carried it out.');
      }
      return 'BMC reboot';
    },
  };
}

/** IPMI leaves the look of the light to the hardware; `blink` is the timed identification, which ends by itself. */
const blinkSeconds = 255;
const states = { off: 'off', timed: 'blink', on: 'on' };

export function ipmiBeacon(bmc: Bmc): Beacon {
  return {
    async state(signal) {
      const { identify: light } = await getChassisStatus(bmc.link, signal);
      if (light === undefined) {
        throw new Fault('invalid', 'its BMC does not report the state of its identify light.');
      }
      return states[light];
    },
    set(action, signal) {
      const duration = action === 'on' ? 'indefinite' : action === 'blink' ? blinkSeconds : 0;
      return identify(bmc.link, duration, signal);
    },
  };
}

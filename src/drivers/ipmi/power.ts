import { Fault } from '../../core/errors.ts';
import { pause, unanswered } from '../../protocols/ipmi/commands/ask.ts';
import { type ChassisControl, chassisControl, getChassisStatus } from '../../protocols/ipmi/commands/chassis.ts';
import type { Power, PowerAction } from '../capabilities.ts';
import type { Bmc } from './bmc.ts';

const known = ['on', 'off', 'softoff', 'reset', 'boot', 'cycle', 'nmi'] as const satisfies readonly PowerAction[];
const isKnown = (action: PowerAction): action is (typeof known)[number] =>
  (known as readonly PowerAction[]).includes(action);
const firstPoll = 100;
const longestPoll = 2000;
/** After this a command that got no answer and had no effect is sent again. */
const resendAfter = 3000;
const maximumSends = 3;

type State = 'on' | 'off';

async function readState(bmc: Bmc, signal: AbortSignal): Promise<State> {
  return (await getChassisStatus(bmc.link, signal)).power ? 'on' : 'off';
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
  bmc: Bmc,
  patience: number,
  done: (state: State, elapsed: number) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const start = performance.now();
  let lost = 0;
  for (let wait = firstPoll; ; wait = Math.min(wait * 1.5, longestPoll)) {
    await pause(wait, signal);
    try {
      const state = await readState(bmc, signal);
      lost = 0;
      if (done(state, performance.now() - start)) return true;
    } catch (error) {
      lost += 1;
      if (lost > 1 || !unanswered(error, signal)) throw error;
    }
    if (performance.now() - start > patience) return false;
  }
}

/** Commands whose effect shows in the state: sent again only when the state was read and has not changed. */
async function reach(bmc: Bmc, action: 'on' | 'off' | 'softoff', signal: AbortSignal): Promise<State> {
  const wanted = action === 'on' ? 'on' : 'off';
  const { powerDeadline } = bmc.times;
  for (let sends = 1; ; sends += 1) {
    const answered = await control(bmc, action, signal);
    const last = answered || sends === maximumSends;
    const patience = last ? powerDeadline : Math.min(resendAfter, powerDeadline);
    if (await watch(bmc, patience, (state) => state === wanted, signal)) return wanted;
    if (!last) continue;
    const other = wanted === 'on' ? 'off' : 'on';
    const hint = action === 'softoff' ? ' The operating system may ignore the request; off does not ask it.' : '';
    const seconds = Math.round(powerDeadline / 1000);
    throw new Fault('deadline', `it is still ${other} ${seconds} s after the power action ${action}.${hint}`);
  }
}

/** Commands that begin and end with `on`. */
async function restart(bmc: Bmc, action: 'reset' | 'cycle', signal: AbortSignal): Promise<State> {
  if (!(await control(bmc, action, signal))) {
    throw new Fault('deadline', `the power action ${action} got no answer; whether it was carried out is not known.`);
  }
  const { powerDeadline, cycleSettling } = bmc.times;
  let seenOff = action === 'reset';
  const done = (state: State, elapsed: number) => {
    if (state === 'off') seenOff = true;
    return state === 'on' && (seenOff || elapsed >= cycleSettling);
  };
  if (await watch(bmc, powerDeadline, done, signal)) return 'on';
  throw new Fault('deadline', `it is off ${Math.round(powerDeadline / 1000)} s after the power action ${action}.`);
}

async function interrupt(bmc: Bmc, now: State, signal: AbortSignal): Promise<State> {
  if (now === 'off') throw new Fault('invalid', 'it is off, and nmi needs a running system.');
  if (await control(bmc, 'nmi', signal)) return now;
  throw new Fault('deadline', 'the power action nmi got no answer; whether it was carried out is not known.');
}

export function ipmiPower(bmc: Bmc): Power {
  return {
    state: (signal) => readState(bmc, signal),
    async set(action, signal) {
      if (!isKnown(action)) {
        throw new Fault('invalid', `IPMI has no power action "${action}"; it has ${known.join(', ')}.`);
      }
      const now = await readState(bmc, signal);
      switch (action) {
        case 'on':
          return now === 'on' ? now : await reach(bmc, 'on', signal);
        case 'off':
        case 'softoff':
          return now === 'off' ? now : await reach(bmc, action, signal);
        case 'boot':
          return now === 'on' ? await restart(bmc, 'reset', signal) : await reach(bmc, 'on', signal);
        case 'reset':
        case 'cycle':
          return now === 'off' ? now : await restart(bmc, action, signal);
        case 'nmi':
          return await interrupt(bmc, now, signal);
      }
    },
  };
}

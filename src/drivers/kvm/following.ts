import { Fault } from '../../core/errors.ts';
import type { HypervisorListener, MachineSight } from '../../core/machine-sights.ts';
import { pause, unlessAborted } from '../../core/waiting.ts';
import { domainStatistics, type LifecycleEvent, statistics } from '../../protocols/libvirt/calls/domains.ts';
import { domainStates, lifecycles, startReasons, stopReasons } from '../../protocols/libvirt/domain.ts';
import type { Hypervisor } from './hypervisor.ts';

const firstPause = 500;
const longestPause = 120_000;

const isOn = (state: number): boolean => state !== domainStates.off && state !== domainStates.crashed;

/** Tells what happens on a hypervisor until the signal says that it is enough. */
export async function followHypervisor(
  connect: (signal: AbortSignal) => Promise<Hypervisor>,
  listener: HypervisorListener,
  signal: AbortSignal,
): Promise<void> {
  for (let wait = firstPause; !signal.aborted; wait = Math.min(wait * 2, longestPause)) {
    try {
      const hypervisor = await connect(signal);
      const missed = Promise.withResolvers<Fault>();
      // Before the list is made, so that nothing is missed in between.
      const leave = hypervisor.listen(teller(hypervisor, listener, missed.resolve));
      try {
        listener.listed(...(await listOf(hypervisor, signal)));
        wait = firstPause;
        listener.lost(await unlessAborted(Promise.race([hypervisor.connection.ended, missed.promise]), signal));
      } finally {
        leave();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Fault)) throw error;
      listener.lost(error);
    }
    await pause(wait, signal).catch(() => undefined);
  }
}

async function listOf(
  { connection, place }: Hypervisor,
  signal: AbortSignal,
): Promise<[place: string, MachineSight[]]> {
  const all = await domainStatistics(connection, statistics.state, [], { signal });
  const machines = all.map(({ domain: { name, uuid }, values }) => ({
    name,
    uuid,
    isOn: isOn(Number(values.get('state.state'))),
  }));
  return [place, machines];
}

/**
 * The order of events does not tell what is there in the end: that is looked at, after the last of them. What could not be looked at is
 * missed, and only a new list tells.
 */
function teller(
  hypervisor: Hypervisor,
  listener: HypervisorListener,
  missed: (reason: Fault) => void,
): (event: LifecycleEvent) => void {
  /** Events that a look is under way for, by machine: answers may come in another order than the questions. */
  const latest = new Map<string, LifecycleEvent>();
  const look = async (event: LifecycleEvent): Promise<void> => {
    const { name } = event.domain;
    latest.set(name, event);
    const state = await hypervisor.states.read(name);
    if (latest.get(name) !== event) return;
    latest.delete(name);
    const domain = state === undefined ? undefined : hypervisor.known.get(name);
    listener.changed(name, domain && { name, uuid: domain.uuid, isOn: isOn(state!) });
  };
  return (event) => {
    if (!listener.wants(event.domain.name)) return;
    const to = switchedTo(event);
    if (to) listener.switched(event.domain.name, to);
    look(event).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error;
      missed(error);
    });
  };
}

function switchedTo({ event, detail }: LifecycleEvent): 'on' | 'off' | undefined {
  if (event === lifecycles.started && detail !== startReasons.migrated) return 'on';
  if (event === lifecycles.stopped && detail !== stopReasons.migrated) return 'off';
  return undefined;
}

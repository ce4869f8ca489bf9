import type { IpmiLink } from '../link.ts';
import { ask } from './ask.ts';
import { atLeast, byteAt } from './bytes.ts';

/** IPMI 2.0 sections 30.3 and 30.4: platform event filtering, table 30-6. */
const sensorEvent = 0x04;
const commands = { setParameter: 0x12, getParameter: 0x13 };
const parameters = { control: 1, actions: 2, alertPolicy: 9 };
const enabled = { control: 0x01, alertAction: 0x01, policy: 0x08 };
const firstPolicy = 1;
/** Policy set 1, sent always. */
const policySet = 0x10;

async function get(link: IpmiLink, parameter: number, selector: number, signal: AbortSignal): Promise<Buffer> {
  const data = Buffer.of(parameter, selector, 0);
  const what = 'to tell its alert settings';
  const request = { netfn: sensorEvent, command: commands.getParameter, data, privilege: 'operator' } as const;
  const answer = await ask(link, request, what, signal);
  return atLeast(answer, 2, what).subarray(1);
}

async function set(link: IpmiLink, parameter: number, value: readonly number[], signal: AbortSignal): Promise<void> {
  const data = Buffer.of(parameter, ...value);
  const request = { netfn: sensorEvent, command: commands.setParameter, data, privilege: 'administrator' } as const;
  await ask(link, request, 'its alert settings', signal);
}

/** Whether events lead to alerts: filtering on, alerts among its actions, and the first policy in force. */
export async function getAlerting(link: IpmiLink, signal: AbortSignal): Promise<boolean> {
  const control = await get(link, parameters.control, 0, signal);
  const actions = await get(link, parameters.actions, 0, signal);
  const policy = await get(link, parameters.alertPolicy, firstPolicy, signal);
  return (
    (byteAt(control, 0) & enabled.control) !== 0 &&
    (byteAt(actions, 0) & enabled.alertAction) !== 0 &&
    (byteAt(policy, 1) & enabled.policy) !== 0
  );
}

/** Off takes only the policy out of force; other actions of the filter, such as a power-off, stay as they are. */
export async function setAlerting(link: IpmiLink, channel: number, on: boolean, signal: AbortSignal): Promise<void> {
  const policy = await get(link, parameters.alertPolicy, firstPolicy, signal);
  if (!on) {
    const bits = byteAt(policy, 1) & ~enabled.policy;
    await set(link, parameters.alertPolicy, [firstPolicy, bits, byteAt(policy, 2), byteAt(policy, 3)], signal);
    return;
  }
  const control = await get(link, parameters.control, 0, signal);
  const actions = await get(link, parameters.actions, 0, signal);
  const destination = byteAt(policy, 2) || (channel << 4) | firstPolicy;
  const bits = (byteAt(policy, 1) || policySet) | enabled.policy;
  await set(link, parameters.alertPolicy, [firstPolicy, bits, destination, byteAt(policy, 3)], signal);
  await set(link, parameters.actions, [byteAt(actions, 0) | enabled.alertAction], signal);
  await set(link, parameters.control, [byteAt(control, 0) | enabled.control], signal);
}

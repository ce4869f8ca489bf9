import type { Severity } from '../../core/event-kinds.ts';
import type { ReportedEvent } from '../../drivers/index.ts';
import { sensorTypeName, stateName } from '../../protocols/ipmi/commands/sel-text.ts';
import { shownValue, type Trap } from '../../protocols/snmp/trap.ts';
import { isBelow, parseOid } from '../../protocols/snmp/values.ts';
import { severityOf } from './log-lines.ts';

/** IPMI Platform Event Trap 1.0: the enterprise, and the value that has the event. */
const petTraps = parseOid('1.3.6.1.4.1.3183.1.1.0');
const petData = parseOid('1.3.6.1.4.1.3183.1.1');
/** Of that value (table 3). */
const severityAt = 26;
const sensorAt = 28;
const shortestPet = 47;

const petSeverities: Readonly<Record<number, Severity>> = { 0x08: 'warning', 0x10: 'critical', 0x20: 'critical' };

/** RFC 3418. */
const generic: Readonly<Record<string, string>> = {
  '1.3.6.1.6.3.1.1.5.1': 'It has started (coldStart).',
  '1.3.6.1.6.3.1.1.5.2': 'It has started again (warmStart).',
  '1.3.6.1.6.3.1.1.5.3': 'A link has gone down (linkDown).',
  '1.3.6.1.6.3.1.1.5.4': 'A link has come up (linkUp).',
  '1.3.6.1.6.3.1.1.5.5': 'It has refused a community (authenticationFailure).',
};

const mostValues = 8;

export function eventOfTrap(trap: Trap): ReportedEvent {
  return eventOfPet(trap) ?? eventOfOther(trap);
}

/** Type of sensor, of event and what has happened are in the number of the trap (table 2). */
function eventOfPet({ oid, bindings }: Trap): ReportedEvent | undefined {
  if (!isBelow(oid, petTraps) || oid.length !== petTraps.length + 1) return undefined;
  const number = oid.at(-1)!;
  const [sensorType, eventType, offset] = [(number >> 16) & 0xff, (number >> 8) & 0xff, number & 0x0f];
  const data = bindings.find((binding) => isBelow(binding.oid, petData))?.content;
  const isWhole = data !== undefined && data.length >= shortestPet;
  const isOver = (number & 0x80) !== 0;
  const state = stateName(sensorType, eventType & 0x7f, offset);
  const sensor = isWhole ? ` (sensor ${data[sensorAt]})` : '';
  return {
    severity: isOver || !isWhole ? 'ok' : (petSeverities[data[severityAt]!] ?? 'ok'),
    message: `${sensorTypeName(sensorType)}: ${state}${isOver ? ' - Recovered' : ''}${sensor}`,
  };
}

function eventOfOther({ oid, bindings }: Trap): ReportedEvent {
  const name = oid.join('.');
  const known = generic[name];
  const values = bindings.flatMap((binding) => shownValue(binding) ?? []).slice(0, mostValues);
  if (known !== undefined) return { severity: 'ok', message: [known, ...values].join(' ') };
  return { severity: severityOf(values.join(' ')), message: `SNMP trap ${name}: ${values.join(', ') || 'no text'}` };
}

import { decodeInteger } from '../../../protocols/snmp/ber.ts';
import type { Binding } from '../../../protocols/snmp/message.ts';
import { type SnmpAgent, walk } from '../../../protocols/snmp/walk.ts';

/** RFC 4188 and RFC 4363: behind which port of the bridge a MAC address was seen, in all VLANs together or in each. */
const ports = [1, 3, 6, 1, 2, 1, 17, 4, 3, 1, 2];
const portsByVlan = [1, 3, 6, 1, 2, 1, 17, 7, 1, 2, 2, 1, 2];
/** Which interface a port of the bridge is, and what that is called (RFC 2863). */
const interfaces = [1, 3, 6, 1, 2, 1, 17, 1, 4, 1, 2];
const names = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1];

/** The names of a switch's ports by the MAC addresses seen behind them. */
export async function readForwarding(agent: SnmpAgent, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const byVlan = await walk(agent, portsByVlan, signal);
  const rows = byVlan.length > 0 ? byVlan : await walk(agent, ports, signal);
  const interfaceOf = new Map(
    (await walk(agent, interfaces, signal)).map(({ oid, content }) => [oid[0], numberIn(content)]),
  );
  const nameOf = new Map(
    (await walk(agent, names, signal)).map(({ oid, content }) => [oid[0], content.toString('latin1')]),
  );
  const found = new Map<string, string>();
  for (const row of rows) {
    const port = numberIn(row.content);
    const mac = macOf(row);
    // Port 0: it was learned in no way that tells one.
    if (mac === undefined || !port) continue;
    found.set(mac, nameOf.get(interfaceOf.get(port)) || String(port));
  }
  return found;
}

const numberIn = (content: Buffer): number | undefined =>
  content.length > 0 && content.length <= 5 ? decodeInteger(content) : undefined;

/** The last six numbers of the name. */
function macOf({ oid }: Binding): string | undefined {
  const bytes = oid.slice(-6);
  if (bytes.length < 6 || bytes.some((byte) => byte > 255)) return undefined;
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}

import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { siteValue } from '../../objects/effective.ts';

/** Which network interfaces DHCP serves: undefined for all; the value says whether machines on it are told what to boot. */
export type ServedNics = ReadonlyMap<string, { readonly boot: boolean }> | undefined;

/** The name of this server among the groups of site.dhcpinterfaces. */
const managementNode = 'xcatmn';

/** site.dhcpinterfaces: `nic,nic` or `group|nic,nic;group|nic`, each nic with `:noboot` if machines on it must not boot from here. */
export function servedNics(snapshot: Snapshot): ServedNics {
  const text = siteValue(snapshot, 'dhcpinterfaces')?.trim();
  if (!text) return undefined;
  const nics = new Map<string, { boot: boolean }>();
  for (const part of text.split(';')) {
    const mark = part.indexOf('|');
    if (mark >= 0 && part.slice(0, mark).trim() !== managementNode) continue;
    for (const item of part.slice(mark + 1).split(/[\s,]+/)) {
      if (item === '') continue;
      const [nic = '', flag, ...more] = item.split(':');
      if (!/^[\w.@-]{1,15}$/.test(nic) || more.length > 0 || (flag !== undefined && flag !== 'noboot'))
        throw new Fault('invalid', `Site attribute dhcpinterfaces: "${item}" is not the name of a network interface.`);
      nics.set(nic, { boot: flag === undefined });
    }
  }
  return nics;
}

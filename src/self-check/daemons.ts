import { type Finding, wellOf, wrongOf } from '../core/finding.ts';
import type { Ground } from './self-check.ts';

/** What muster configures, and what it needs besides. */
export async function checkDaemons({ dns, dhcp, workers }: Ground): Promise<Finding[]> {
  const findings: Finding[] = [];
  const add = (answers: boolean | undefined, daemon: string, set: string, unit: string): unknown =>
    findings.push(
      answers === undefined
        ? wellOf('daemons', `${daemon} is not set up here; "${set}" does it`)
        : answers
          ? wellOf('daemons', `${daemon} answers`)
          : wrongOf(
              'daemons',
              `${daemon} does not answer: see why with "systemctl status ${unit}", start it, and run "${set}"`,
            ),
    );
  add(await dns.isServing().catch(() => false), 'BIND', 'makedns -n', 'named');
  add(await dhcp.isServing().catch(() => false), 'Kea', 'makedhcp -n', 'kea-dhcp4-server kea-dhcp6-server');
  if (workers)
    findings.push(
      workers.problem === undefined
        ? wellOf('daemons', 'NATS is connected')
        : wrongOf('daemons', `NATS: ${workers.problem}`),
    );
  return findings;
}

/** What firmware of nodes loads first. */
export function checkLoaders({ boot }: Ground): Finding[] {
  if (!boot.isServed)
    return [wellOf('loaders', 'nodes do not boot from here: boot.listen and boot.tftpListen are off')];
  const missing = boot.missingLoaders();
  if (missing.length === 0) return [wellOf('loaders', 'all that machines ask for are here')];
  return missing.map((sentence) => wrongOf('loaders', `missing: ${sentence.replace(/\.$/, '')}`));
}

import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { judgeBackups, readBackupState } from '../admin/backup-state.ts';
import { databaseName, keyName } from '../access/open-data.ts';
import { Fault } from '../core/errors.ts';
import { checkSafeDirectory } from '../core/files.ts';
import { type Finding, wellOf, wrongOf } from '../core/finding.ts';
import { checkIntegrity } from '../database/sqlite/integrity.ts';
import type { Ground } from './self-check.ts';

/** Of everybody else. */
const others = 0o077;
const secretFiles = [databaseName, keyName, 'tls/ca.key', 'tls/server.key', 'ssh/id_ed25519'];

/** Whether nobody else can read what is secret, or put something in its place. */
export function checkPermissions({ config }: Ground): Finding[] {
  const { data } = config;
  const findings: Finding[] = [];
  const own = process.geteuid!();
  for (const file of secretFiles.map((name) => join(data, name)).filter((path) => existsSync(path))) {
    const { mode, uid } = statSync(file);
    if ((mode & others) !== 0) findings.push(wrongOf('permissions', `others can use ${file}: chmod 600 ${file}`));
    if (uid !== own) findings.push(wrongOf('permissions', `${file} belongs to another user: chown ${own} ${file}`));
  }
  try {
    checkSafeDirectory(dirname(realpathSync(data)));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    findings.push(wrongOf('permissions', error.message.replace(/\.$/, '')));
  }
  if (own !== 0)
    findings.push(
      wellOf(
        'permissions',
        'muster does not run as root: it has no hosts file, DNS, DHCP, images and ports below 1024',
      ),
    );
  return findings.some(({ well }) => !well)
    ? findings
    : [wellOf('permissions', `only muster can read what is secret in ${data}`), ...findings];
}

/** In SQLite every page is read; PostgreSQL looks after its own. */
export async function checkDatabase({ config, store }: Ground): Promise<Finding[]> {
  if (!store.healthy)
    return [wrongOf('database', 'it cannot be written or followed. The log says why: "journalctl -u muster -p err"')];
  if (config.database !== undefined) return [wellOf('database', 'PostgreSQL answers')];
  const problem = await checkIntegrity(join(config.data, databaseName));
  return [
    problem === undefined
      ? wellOf('database', 'SQLite finds no damage')
      : wrongOf(
          'database',
          `it is damaged (${problem}). Stop muster, copy ${config.data} aside, and run "muster restore FILE --replace" with the latest backup`,
        ),
  ];
}

export function checkBackups({ config }: Ground): Finding[] {
  const { data, database, backup } = config;
  if (database !== undefined)
    return [wellOf('backup', `muster makes none of PostgreSQL: save it with pg_dump, and ${data} with it`)];
  const { isWell, sentence } = judgeBackups(backup, readBackupState(data), Date.now());
  return [isWell ? wellOf('backup', sentence) : wrongOf('backup', sentence)];
}

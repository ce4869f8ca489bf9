import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Finding, wellOf, wrongOf } from '../core/finding.ts';
import { loadCredentials } from '../rest/http/certificates.ts';
import type { Ground } from './self-check.ts';

const day = 86_400_000;
const warnDays = 30;
/** Every client has to be given a new one, which takes a while. */
const warnAuthorityDays = 180;

/** When the certificates of this server end. */
export function checkCertificates({ config }: Ground): Finding[] {
  const { tls, data } = config;
  const remedy = tls
    ? `Put a new one into ${tls.certificate}, and run "systemctl reload muster"`
    : 'Restart muster, which renews it';
  const own = daysOf(new X509Certificate(loadCredentials(config).cert));
  const findings = [
    own < warnDays
      ? wrongOf('certificate', `that of the server ends in ${own} days. ${remedy}`)
      : wellOf('certificate', `that of the server is valid for ${own} days more`),
  ];
  if (tls) return findings;
  const authority = join(data, 'tls/ca.pem');
  const left = daysOf(new X509Certificate(readFileSync(authority)));
  findings.push(
    left < warnAuthorityDays
      ? wrongOf(
          'certificate',
          `the authority ${authority} ends in ${left} days. Remove the files in ${join(data, 'tls')}, restart muster, which makes new ones, and run "muster login" on every client`,
        )
      : wellOf('certificate', `the authority is valid for ${left} days more`),
  );
  return findings;
}

const daysOf = ({ validToDate }: X509Certificate): number => Math.floor((validToDate.getTime() - Date.now()) / day);

/** A machine without a battery begins in 1970 or where it was last off: certificates, tokens and leases go by the clock. */
export async function checkTime({ config, store }: Ground): Promise<Finding[]> {
  const built = statSync(import.meta.filename).mtimeMs;
  if (Date.now() < built - day)
    return [
      wrongOf(
        'time',
        `the clock shows ${new Date().toISOString()}, which is before this muster was built. Set it: "timedatectl set-ntp true", or install chrony`,
      ),
    ];
  const kept = keptSentence(await isSynchronized());
  if (config.database === undefined) return [wellOf('time', kept)];
  const before = Date.now();
  const there = await store.database.shared.clock();
  return [wellOf('time', kept), compareClocks(there, before, Date.now())];
}

function keptSentence(isKept: boolean | undefined): string {
  if (isKept === undefined) return 'nothing here says whether a time server keeps the clock right';
  return isKept
    ? 'a time server keeps the clock right'
    : 'no time server keeps the clock right yet, unless the machine that this one runs on does: install chrony';
}

/** Servers see each other by the clock of PostgreSQL, and say when something happened by their own. */
const mostApart = 5_000;

/** `there`: what PostgreSQL said at some moment between the two times of this machine. */
export function compareClocks(there: number, before: number, after: number): Finding {
  const ahead = there > after ? there - after : Math.min(0, there - before);
  if (Math.abs(ahead) < mostApart) return wellOf('time', 'PostgreSQL shows the same time as this machine');
  const seconds = Math.round(Math.abs(ahead) / 1_000);
  return wrongOf(
    'time',
    `the clock of PostgreSQL is ${seconds} seconds ${ahead > 0 ? 'ahead of' : 'behind'} that of this machine. Install chrony on both, with the same time servers`,
  );
}

/** As systemd has it from the kernel; undefined: there is no systemd. The service itself may not ask the kernel. */
async function isSynchronized(): Promise<boolean | undefined> {
  try {
    const { stdout } = await promisify(execFile)('timedatectl', ['show', '--property=NTPSynchronized', '--value'], {
      timeout: 10_000,
    });
    return stdout.trim() === 'yes';
  } catch {
    return undefined;
  }
}

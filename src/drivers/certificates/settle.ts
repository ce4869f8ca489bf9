import type { X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault, Unreachable } from '../../core/errors.ts';
import { Refusal } from '../../protocols/redfish/faults.ts';
import type { Certificates } from '../certificates.ts';

/** `refused`: the BMC does not have the new one. `waiting`: it has the new one, and shows the one before. */
export type SettledCertificate =
  | { readonly is: 'shown' | 'waiting' }
  | { readonly is: 'refused' | 'unknown'; readonly fault: Fault };

const firstPause = 250;
const longestPause = 5_000;

/** Installs a certificate once, and finds out by new connections which one the BMC shows. */
export async function settleCertificate(
  certificates: Certificates,
  leaf: X509Certificate,
  before: X509Certificate,
  pem: string,
  signal: AbortSignal,
): Promise<SettledCertificate> {
  let refusal: Fault | undefined;
  try {
    await certificates.install(pem, signal);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    refusal = error;
  }
  if (refusal && !mayArrive(refusal)) {
    // It has answered no; what it shows has to be what it showed.
    const shown = await look(certificates, signal);
    if (shown === undefined || shown instanceof Fault || shown.fingerprint256 === before.fingerprint256)
      return { is: 'refused', fault: refusal };
  }
  const end = performance.now() + certificates.timeout;
  let shown: X509Certificate | Fault | undefined;
  for (let wait = firstPause; ; wait = Math.min(wait * 1.5, longestPause)) {
    shown = await look(certificates, signal);
    if (!(shown instanceof Fault) && shown?.fingerprint256 === leaf.fingerprint256) return { is: 'shown' };
    const left = end - performance.now();
    if (left <= 0 || signal.aborted) break;
    await sleep(Math.min(wait, left));
  }
  if (shown === undefined || shown instanceof Fault) return { is: 'unknown', fault: unknownNow(refusal ?? shown) };
  if (shown.fingerprint256 !== before.fingerprint256) return { is: 'refused', fault: foreign(shown) };
  if (refusal) return { is: 'unknown', fault: unknownNow(refusal) };
  if (await has(certificates, leaf, signal)) return { is: 'waiting' };
  return {
    is: 'refused',
    fault: new Fault('invalid', 'its BMC accepted a certificate, but has kept the one before.'),
  };
}

/** What the BMC shows; a Fault where that cannot be known now. */
async function look(certificates: Certificates, signal: AbortSignal): Promise<X509Certificate | Fault | undefined> {
  try {
    return await certificates.served(signal);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return error;
  }
}

async function has(certificates: Certificates, leaf: X509Certificate, signal: AbortSignal): Promise<boolean> {
  try {
    return (await certificates.stored(signal)).some(({ fingerprint256 }) => fingerprint256 === leaf.fingerprint256);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return false;
  }
}

/** Without an answer, or with one that it has failed, the BMC may install it later. */
const mayArrive = (refusal: Fault): boolean =>
  refusal instanceof Unreachable ||
  (refusal instanceof Refusal && refusal.ofService) ||
  ['deadline', 'unavailable', 'garbled'].includes(refusal.kind);

const unknownNow = (cause: Fault | undefined): Fault =>
  new Fault(cause?.kind ?? 'unavailable', [
    `it is not known whether its BMC has the new certificate: ${cause?.message ?? 'it does not answer.'}`,
    'muster accepts the one before and the new one, until the BMC has shown the new one.',
  ]);

const foreign = (shown: X509Certificate): Fault =>
  new Fault(
    'invalid',
    `its BMC now shows a certificate that is neither the new one nor the one before (${shown.fingerprint256}). muster sends nothing to it. Look at the BMC.`,
  );

import type { Trust } from '../../../src/protocols/redfish/client.ts';

export interface MemoryTrust extends Trust {
  readonly fingerprints: Map<string, string>;
  learn: Trust['learn'];
}

export function memoryTrust(ca?: string): MemoryTrust {
  const fingerprints = new Map<string, string>();
  return {
    fingerprints,
    ca,
    known: (key) => fingerprints.get(key),
    async learn(key, fingerprint) {
      fingerprints.set(key, fingerprint);
    },
  };
}

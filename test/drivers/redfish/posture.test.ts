import { expect, it } from 'vitest';
import { redfishPosture } from '../../../src/drivers/redfish/posture.ts';
import { serverTree, treeTarget } from './tree.ts';

const signal = new AbortController().signal;
const system = '/redfish/v1/Systems/S';
const protocol = '/redfish/v1/Managers/M/Protocol';

/** Level and message of a finding, after members of resources were changed. */
async function found(name: string, changes: Record<string, object>) {
  const tree = serverTree();
  for (const [path, members] of Object.entries(changes)) tree[path] = { ...tree[path], ...members };
  const { findings } = await redfishPosture(treeTarget(tree).target).read(signal);
  return findings.filter((finding) => finding.name === name).map(({ level, message }) => `${level} ${message}`);
}

const boot = (members: object) => ({
  [system]: { SecureBoot: { '@odata.id': '/redfish/v1/SecureBoot' } },
  '/redfish/v1/SecureBoot': members,
});

it.each([
  ['secure-boot', {}, [/^note Unknown: /]],
  [
    'secure-boot',
    boot({ SecureBootEnable: true, SecureBootCurrentBoot: 'Disabled' }),
    [/^note Secure Boot is disabled/],
  ],
  ['secure-boot', boot({ SecureBootEnable: true }), [/^ok Secure Boot is enabled/]],
  ['secure-boot', boot({ SecureBootEnable: 'yes', SecureBootCurrentBoot: 7 }), [/^note Unknown: /]],
  [
    'updates',
    { '/redfish/v1/UpdateService': { VerifyRemoteServerCertificate: false } },
    [/^note The BMC fetches firmware/],
  ],
  ['updates', {}, []],
  [
    'snmp',
    { [protocol]: { SNMP: { ProtocolEnabled: true, EnableSNMPv2c: true } } },
    [/^warning SNMP without encryption/],
  ],
  ['snmp', { [protocol]: { SNMP: { ProtocolEnabled: false, EnableSNMPv2c: true } } }, []],
  ['ipmi', { [protocol]: { IPMI: { ProtocolEnabled: true } } }, [/^warning IPMI over LAN is enabled/]],
  ['telnet', {}, []],
  ['power-restore', {}, [/^ok .* returns to its last state/]],
  ['power-restore', { [system]: { PowerRestorePolicy: 'AlwaysOff' } }, [/^note .* stays off/]],
  [
    'clock',
    { '/redfish/v1/Managers/M': { DateTime: '1970-01-01T00:10:00Z' } },
    [/^warning The clock is \d+ days behind/],
  ],
  ['clock', { '/redfish/v1/Managers/M': { DateTime: 'soon' } }, [/^note Unknown: /]],
  ['tls', {}, [/^danger muster reaches it without TLS/]],
] as const)('%s with %j', async (name, changes, wanted) => {
  expect(await found(name, changes)).toEqual(wanted.map((form) => expect.stringMatching(form)));
});

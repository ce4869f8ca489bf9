import { Type } from 'typebox';
import { Count, kind, Networks, oneOf, Path, setting } from '../core/settings.ts';
import { defaultSocket } from './kvm/ways.ts';

const CipherSuites = kind('a list of the IPMI cipher suites 17 and 3', Type.Array(Type.Enum([17, 3]), { minItems: 1 }));

export const hardwareSettings = Type.Object({
  powerDeadline: setting(Count, 'seconds until a power command must have reached its state', {
    default: 60,
    variable: 'MUSTER_POWER_DEADLINE',
  }),
  ipmiTimeout: setting(
    Count,
    'seconds without an answer after which a command on a BMC fails, over IPMI; up to twice as long while all BMCs or muster itself are slow',
    { default: 5, variable: 'MUSTER_IPMI_TIMEOUT' },
  ),
  ipmiSuites: setting(CipherSuites, 'IPMI cipher suites that may be used, in this order', {
    default: [17, 3],
    variable: 'MUSTER_IPMI_SUITES',
  }),
  libvirtSocket: setting(Path, 'the socket of libvirt on hypervisors, here and elsewhere', {
    default: defaultSocket,
    variable: 'MUSTER_LIBVIRT_SOCKET',
  }),
  libvirtCertificates: setting(
    Path,
    'directory with `cacert.pem`, `clientcert.pem` and `clientkey.pem`: hypervisors elsewhere are reached by TLS, port 16514',
    { defaultText: 'none: they are reached through SSH', variable: 'MUSTER_LIBVIRT_CERTIFICATES' },
  ),
  accelerator: setting(
    oneOf('kvm', 'qemu'),
    'what runs virtual machines: the processor itself, or an emulation of it',
    {
      default: 'kvm',
      variable: 'MUSTER_ACCELERATOR',
    },
  ),
  networks: setting(Networks, 'networks that service processors are in; elsewhere no account is sent', {
    defaultText: 'anywhere, which the log tells at the start',
  }),
  ca: setting(Path, 'authority, in PEM, that vouches for Redfish certificates', { defaultText: 'trust on first use' }),
});

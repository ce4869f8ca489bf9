import type { Prefix } from '../../core/ip.ts';
import type { Subnet } from './subnets.ts';

export const firmwareClassName = 'firmware';
const longestLease = 3_600;

/**
 * Firmware and boot loaders in IPv4, by the architecture they name. They need their address for a short while only, and by its time
 * muster knows a boot from what a running system asks. Users of such a system can send what they like to a DHCP server, but not from
 * the address 0.0.0.0, which firmware has. Behind a relay the two look the same, so a relay is believed for its own network only.
 */
export function firmwareClass(relayed: readonly Prefix[], leaseTime: number) {
  const sources = ['pkt.src == 0.0.0.0', ...(relayed.length > 0 ? [`(${relayTest(relayed)})`] : [])];
  return {
    name: firmwareClassName,
    test: `option[93].exists and (${sources.join(' or ')})`,
    'valid-lifetime': leaseTime > longestLease ? longestLease : leaseTime + 1,
  };
}

/** By options 118 and 82.5 a packet names another network than that of its relay. */
const relayTest = (networks: readonly Prefix[]): string =>
  `not option[118].exists and not relay4[5].exists and (${networks.map(relayIsWithin).join(' or ')})`;

/** Kea compares whole bytes only: those that the network shares, and each value that the byte behind them can have. */
export function relayIsWithin({ value, bits }: Prefix): string {
  if (bits === 0) return 'not (pkt4.giaddr == 0.0.0.0)';
  const whole = Math.floor(bits / 8);
  const bytes = value.toString(16).padStart(8, '0');
  const shared = whole > 0 ? [`substring(pkt4.giaddr,0,${whole}) == 0x${bytes.slice(0, whole * 2)}`] : [];
  if (bits % 8 === 0) return shared.join('');
  const first = Number.parseInt(bytes.slice(whole * 2, whole * 2 + 2), 16);
  const next = Array.from({ length: 2 ** (8 - (bits % 8)) }, (_, i) => (first + i).toString(16).padStart(2, '0'));
  const choice = next.map((byte) => `substring(pkt4.giaddr,${whole},1) == 0x${byte}`).join(' or ');
  return [...shared, `(${choice})`].join(' and ');
}

export interface BootSettings {
  readonly script: string;
  readonly httpPort: string;
}

interface ClientClass {
  readonly name: string;
  /** Absent: reservations say who is in it. */
  readonly test?: string;
  readonly 'only-if-required'?: true;
  readonly 'boot-file-name'?: string;
  readonly 'option-data'?: readonly object[];
}

/** Options 93 and 77 in DHCPv4; 61 and 15 in DHCPv6, where a length comes first. Firmware lists its best architecture first. */
const terms = {
  4: { ipxe: "substring(option[77].hex,0,4) == 'iPXE'", architecture: 'substring(option[93].hex,0,2)' },
  6: { ipxe: "substring(option[15].hex,2,4) == 'iPXE'", architecture: 'substring(option[61].hex,0,2)' },
} as const;

const architectureTest = (family: 4 | 6, { architectures }: BootFile): string =>
  architectures
    .map((value) => `${terms[family].architecture} == 0x${value.toString(16).padStart(4, '0')}`)
    .join(' or ');

/** The classes for every server of boot files, and which of them a subnet asks for; other subnets get nothing. */
export function bootClasses(
  family: 4 | 6,
  subnets: readonly Subnet[],
  settings: BootSettings,
): { classes: readonly ClientClass[]; of(subnet: Subnet): readonly string[] } {
  const servers = [...new Set(subnets.flatMap(({ bootServer }) => bootServer ?? []))];
  const byServer = new Map(servers.map((server) => [server, classesFor(family, server, settings)]));
  return {
    classes: servers.length > 0 ? [{ name: grubClass }, ...[...byServer.values()].flat()] : [],
    of: ({ bootServer }) => (byServer.get(bootServer ?? '') ?? []).map(({ name }) => name),
  };
}

/** Never on a reservation: an installer on the node asks too, and would take the boot file for its own. */
function classesFor(family: 4 | 6, server: string, { script, httpPort }: BootSettings): ClientClass[] {
  const authority = httpAuthority(server, httpPort);
  const { ipxe } = terms[family];
  const tftp = family === 4 ? '' : `tftp://${httpAuthority(server, '')}/`;
  const files = bootFiles.filter(({ name }) => family === 4 || name !== 'bios');
  return [
    {
      name: `ipxe ${server}`,
      test: ipxe,
      'only-if-required': true,
      ...loading[family](script.replaceAll('SERVER', family === 4 ? nextServer(httpPort) : authority), false),
    },
    ...files.map(
      (file): ClientClass => ({
        name: `${file.name} ${server}`,
        test: `not (${ipxe}) and ${loaderTest(file)}(${architectureTest(family, file)})`,
        'only-if-required': true,
        ...loading[family](file.http ? `http://${authority}/${file.file}` : `${tftp}${file.file}`, file.http),
      }),
    ),
  ];
}

/** iPXE writes the address there that it was given: that of the node's own server of boot files, if it has one. */
const nextServer = (httpPort: string): string => httpAuthority('${next-server}', httpPort);

type Loading = Pick<ClientClass, 'boot-file-name' | 'option-data'>;

/** How machines learn what to load. By HTTP, firmware takes only offers that name its own kind. */
const loading: Readonly<Record<4 | 6, (what: string, http: boolean) => Loading>> = {
  4: (what, http) => ({
    'boot-file-name': what,
    ...(http && { 'option-data': [{ name: 'vendor-class-identifier', data: 'HTTPClient', 'always-send': true }] }),
  }),
  6: (what, http) => ({
    'option-data': [
      { name: 'bootfile-url', data: what, 'always-send': true },
      ...(http ? [{ code: 16, 'csv-format': false, data: httpClient6, 'always-send': true }] : []),
    ],
  }),
};

/** Option 16 of RFC 8415 with Intel's enterprise number, which UEFI's HTTP boot uses, and "HTTPClient". */
const httpClient6 = '00000157000a48545450436c69656e74';

/** The class of machines whose node has a `netboot` of GRUB: their reservations name it. */
const grubClass = 'grub';

const loaderTest = ({ by }: BootFile): string =>
  by === undefined ? '' : `${by === 'grub' ? '' : 'not '}member('${grubClass}') and `;

/**
 * What a machine that boots from the network is to load, by the architecture it names. All but iPXE itself get iPXE, or the signed
 * shim, which loads the signed GRUB that lies beside it. What a node then does is decided by a script that the loader fetches under the
 * MAC address. Paths are below the root of the TFTP and of the HTTP server.
 */
interface BootFile {
  readonly name: string;
  /** RFC 4578 and its registry. */
  readonly architectures: readonly number[];
  readonly file: string;
  readonly http: boolean;
  /** For nodes with this loader only; absent: whatever their `netboot` says. */
  readonly by?: 'grub' | 'ipxe';
}

const bootFiles: readonly BootFile[] = [
  { name: 'bios', architectures: [0x00], file: 'undionly.kpxe', http: false },
  { name: 'uefi-ia32', architectures: [0x06], file: 'ipxe-ia32.efi', http: false },
  { name: 'uefi-x64', architectures: [0x07, 0x09], file: 'ipxe.efi', http: false, by: 'ipxe' },
  { name: 'uefi-arm64', architectures: [0x0b], file: 'ipxe-arm64.efi', http: false, by: 'ipxe' },
  { name: 'http-ia32', architectures: [0x0f], file: 'ipxe-ia32.efi', http: true },
  { name: 'http-x64', architectures: [0x10], file: 'ipxe.efi', http: true, by: 'ipxe' },
  { name: 'http-arm64', architectures: [0x13], file: 'ipxe-arm64.efi', http: true, by: 'ipxe' },
  { name: 'uefi-riscv32', architectures: [0x19], file: 'ipxe-riscv32.efi', http: false },
  { name: 'http-riscv32', architectures: [0x1a], file: 'ipxe-riscv32.efi', http: true },
  { name: 'uefi-riscv64', architectures: [0x1b], file: 'ipxe-riscv64.efi', http: false },
  { name: 'http-riscv64', architectures: [0x1c], file: 'ipxe-riscv64.efi', http: true },
  { name: 'uefi-riscv128', architectures: [0x1d], file: 'ipxe-riscv128.efi', http: false },
  { name: 'http-riscv128', architectures: [0x1e], file: 'ipxe-riscv128.efi', http: true },
  { name: 'uefi-loong32', architectures: [0x25], file: 'ipxe-loong32.efi', http: false },
  { name: 'http-loong32', architectures: [0x26], file: 'ipxe-loong32.efi', http: true },
  { name: 'uefi-loong64', architectures: [0x27], file: 'ipxe-loong64.efi', http: false },
  { name: 'http-loong64', architectures: [0x28], file: 'ipxe-loong64.efi', http: true },
  { name: 'grub-x64', architectures: [0x07, 0x09], file: 'shimx64.efi', http: false, by: 'grub' },
  { name: 'grub-arm64', architectures: [0x0b], file: 'shimaa64.efi', http: false, by: 'grub' },
  { name: 'grub-http-x64', architectures: [0x10], file: 'shimx64.efi', http: true, by: 'grub' },
  { name: 'grub-http-arm64', architectures: [0x13], file: 'shimaa64.efi', http: true, by: 'grub' },
];

/** An address as a URL has it, with the port unless it is the usual one. */
function httpAuthority(address: string, port: string): string {
  const host = address.includes(':') ? `[${address}]` : address;
  return port === '80' || port === '' ? host : `${host}:${port}`;
}

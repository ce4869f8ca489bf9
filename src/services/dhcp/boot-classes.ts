import type { Subnet } from './subnets.ts';

export interface BootSettings {
  readonly script: string;
  readonly httpPort: string;
}

/** A client class of Kea's configuration. */
interface ClientClass {
  readonly name: string;
  readonly test: string;
  readonly 'only-if-required': true;
  readonly 'boot-file-name'?: string;
  readonly 'option-data'?: readonly object[];
}

/** The classes of all subnets, and which of them each subnet asks for; machines on other subnets are told nothing. */
interface BootClasses {
  readonly classes: readonly ClientClass[];
  of(subnet: Subnet): readonly string[];
}

/**
 * Options 93 and 77 in DHCPv4, 61 and 15 in DHCPv6, whose user class begins with its length. Firmware may list several architectures,
 * the preferred one first.
 */
const terms = {
  4: { ipxe: "substring(option[77].hex,0,4) == 'iPXE'", architecture: 'substring(option[93].hex,0,2)' },
  6: { ipxe: "substring(option[15].hex,2,4) == 'iPXE'", architecture: 'substring(option[61].hex,0,2)' },
} as const;

const architectureTest = (family: 4 | 6, { architectures }: BootFile): string =>
  architectures
    .map((value) => `${terms[family].architecture} == 0x${value.toString(16).padStart(4, '0')}`)
    .join(' or ');

/** Classes are made for every address that boot files come from. */
export function bootClasses(family: 4 | 6, subnets: readonly Subnet[], settings: BootSettings): BootClasses {
  const servers = [...new Set(subnets.flatMap(({ bootServer }) => bootServer ?? []))];
  const named = (server: string): ClientClass[] =>
    family === 4 ? classes4(server, settings) : classes6(server, settings);
  const byServer = new Map(servers.map((server) => [server, named(server)]));
  return {
    classes: [...byServer.values()].flat(),
    of: ({ bootServer }) => (byServer.get(bootServer ?? '') ?? []).map(({ name }) => name),
  };
}

/** Never on a reservation: an installer on the node asks too, and would take the boot file for its own. */
function classes4(server: string, { script, httpPort }: BootSettings): ClientClass[] {
  const authority = httpAuthority(server, httpPort);
  const boot: ClientClass[] = bootFiles.map((file) => ({
    name: `${file.name} ${server}`,
    test: `not (${terms[4].ipxe}) and (${architectureTest(4, file)})`,
    'only-if-required': true,
    'boot-file-name': file.http ? `http://${authority}/${file.file}` : file.file,
    // Firmware takes only offers that name its own kind.
    ...(file.http && {
      'option-data': [{ name: 'vendor-class-identifier', data: 'HTTPClient', 'always-send': true }],
    }),
  }));
  const ipxe: ClientClass = {
    name: `ipxe ${server}`,
    test: terms[4].ipxe,
    'only-if-required': true,
    'boot-file-name': script.replaceAll('SERVER', authority),
  };
  return [ipxe, ...boot];
}

/** Option 16 of RFC 8415 with Intel's enterprise number, which UEFI's HTTP boot uses, and "HTTPClient". */
const httpClient6 = '00000157000a48545450436c69656e74';

function classes6(server: string, { script, httpPort }: BootSettings): ClientClass[] {
  const authority = httpAuthority(server, httpPort);
  const url = (data: string) => ({ name: 'bootfile-url', data, 'always-send': true });
  const boot: ClientClass[] = bootFiles
    .filter(({ name }) => name !== 'bios')
    .map((file) => ({
      name: `${file.name} ${server}`,
      test: `not (${terms[6].ipxe}) and (${architectureTest(6, file)})`,
      'only-if-required': true,
      'option-data': file.http
        ? [
            url(`http://${authority}/${file.file}`),
            { code: 16, 'csv-format': false, data: httpClient6, 'always-send': true },
          ]
        : [url(`tftp://${httpAuthority(server, '')}/${file.file}`)],
    }));
  const ipxe: ClientClass = {
    name: `ipxe ${server}`,
    test: terms[6].ipxe,
    'only-if-required': true,
    'option-data': [url(script.replaceAll('SERVER', authority))],
  };
  return [ipxe, ...boot];
}

/**
 * What a machine that boots from the network is told to load, by the architecture it names. All but iPXE itself get iPXE; what a node
 * then does is decided by a script that iPXE fetches under the MAC address. Paths are below the root of the TFTP and of the HTTP server.
 */
interface BootFile {
  readonly name: string;
  /** RFC 4578 and its registry. */
  readonly architectures: readonly number[];
  readonly file: string;
  readonly http: boolean;
}

const bootFiles: readonly BootFile[] = [
  { name: 'bios', architectures: [0x00], file: 'undionly.kpxe', http: false },
  { name: 'uefi-x64', architectures: [0x07, 0x09], file: 'ipxe.efi', http: false },
  { name: 'uefi-arm64', architectures: [0x0b], file: 'ipxe-arm64.efi', http: false },
  { name: 'http-x64', architectures: [0x10], file: 'ipxe.efi', http: true },
  { name: 'http-arm64', architectures: [0x13], file: 'ipxe-arm64.efi', http: true },
];

/** An address as a URL has it, with the port unless it is the usual one. */
function httpAuthority(address: string, port: string): string {
  const host = address.includes(':') ? `[${address}]` : address;
  return port === '80' || port === '' ? host : `${host}:${port}`;
}

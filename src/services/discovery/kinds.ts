/** What a device is managed by and how its definition names its address. */
export interface Kind {
  /** The reference system's word for it, in small letters. */
  readonly name: string;
  readonly nodetype: string;
  readonly mgt: string | undefined;
  /** The attribute that says where it is managed. */
  readonly contact: 'hcp' | 'mpa' | 'bmc';
  readonly services: readonly string[];
}

const hardware = 'service:management-hardware.IBM';
const software = 'service:management-software.IBM';
const lenovo = 'service:management-hardware.Lenovo';

const power = { nodetype: 'ppc', contact: 'hcp' } as const;
const blade = { nodetype: 'mp', mgt: 'blade', contact: 'mpa' } as const;
const server = { nodetype: 'mp', mgt: 'ipmi', contact: 'bmc' } as const;

export const kinds = {
  fsp: { name: 'fsp', ...power, mgt: 'fsp', services: [`${hardware}:cec-service-processor`] },
  bpa: { name: 'bpa', ...power, mgt: 'bpa', services: [`${hardware}:bulk-power-controller`] },
  hmc: { name: 'hmc', ...power, mgt: 'hmc', services: [`${software}:hardware-management-console`] },
  ivm: { name: 'ivm', ...power, mgt: 'ivm', services: [`${software}:integrated-virtualization-manager`] },
  mm: { name: 'mm', ...blade, services: [`${hardware}:management-module`] },
  cmm: { name: 'cmm', ...blade, services: [`${hardware}:chassis-management-module`] },
  rsa: {
    name: 'rsa',
    ...blade,
    services: [`${hardware}:remote-supervisor-adapter`, `${hardware}:remote-supervisor-adapter-2`],
  },
  imm2: { name: 'imm2', ...server, services: [`${hardware}:integrated-management-module2`] },
  xcc: { name: 'xcc', ...server, services: [`${lenovo}:lenovo-xclarity-controller`] },
  smm: { name: 'smm', ...server, services: ['service:lenovo-smm', 'service:lenovo-smm2'] },
  redfish: { name: 'redfish', ...server, mgt: 'redfish', services: [] },
  // These two announce nothing: their BMCs and power controllers do it for them.
  cec: { name: 'cec', ...power, mgt: 'fsp', services: [] },
  frame: { name: 'frame', ...power, mgt: 'bpa', services: [] },
} as const satisfies Record<string, Kind>;

/** Abstract types: whoever is of the family answers, known here or not. */
const families = [hardware, software, lenovo];

const announcing: readonly Kind[] = Object.values(kinds).filter(({ services }) => services.length > 0);

/** The types of services in small letters with their kinds, and the kinds by the last part of the type. */
const byService = announcing.flatMap((kind) => kind.services.map((service) => [service.toLowerCase(), kind] as const));
const byLastPart = new Map(byService.map(([service, kind]) => [service.slice(service.lastIndexOf(':') + 1), kind]));
const familyTypes = families.map((family) => family.toLowerCase());

const ownWords = ['mm', 'ivm', 'rsa', 'hmc', 'cmm', 'imm2', 'fsp', 'bpa', 'xcc', 'smm', 'redfish'] as const;

/** The kinds of devices that can be asked for, by the words the reference system has for them and our own. */
export const askable: Readonly<Record<string, Kind>> = {
  CEC: kinds.fsp,
  FRAME: kinds.bpa,
  ...Object.fromEntries(ownWords.map((word) => [word.toUpperCase(), kinds[word]])),
};

/** The service types to ask for; without a kind, for all there are. */
export const servicesOf = (asked: Kind | undefined): readonly string[] =>
  asked?.services ?? [...announcing.flatMap(({ services }) => services), ...families];

/**
 * The kind of a device by the type of its service, which a protocol may follow, and what its attribute `type` says; that one goes
 * first: newer devices are also found by the types of their forerunners. Undefined: a service of something else.
 */
export function kindOfService(type: string, said: readonly string[] = []): Kind | undefined {
  const given = type.toLowerCase();
  const known =
    said.map((each) => byLastPart.get(each.toLowerCase())).find((kind) => kind !== undefined) ??
    byService.find(([service]) => isOf(given, service))?.[1];
  if (known) return known;
  if (!familyTypes.some((family) => isOf(given, family))) return undefined;
  const [family = '', ...rest] = given.replace(/^service:/, '').split(':');
  const name = (rest.join('') || family.replace(/\..*/, '')).replaceAll(/[^a-z0-9-]/g, '');
  return { name, nodetype: 'mp', mgt: undefined, contact: 'bmc', services: [] };
}

/** Whether it is of the type, which a protocol may follow. */
const isOf = (given: string, service: string): boolean =>
  given.startsWith(service) && (given.length === service.length || given[service.length] === ':');

/** Newer kinds have higher numbers than their forerunners; -1 for a kind that nobody knows. */
export const rankOf = (kind: Kind): number => announcing.indexOf(kind);

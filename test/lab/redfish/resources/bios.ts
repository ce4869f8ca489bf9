import { gzipSync } from 'node:zlib';
import type { Bmc } from '../bmc.ts';
import { type BiosMaker, biosMakers } from '../bios-makers.ts';
import {
  collection,
  done,
  failure,
  type Json,
  link,
  type Reply,
  root,
  textOf,
  unknownMember,
  unknownMembers,
} from '../resource.ts';

/** The settings of the BIOS of a machine. */
export interface BiosSettings {
  readonly current: Record<string, unknown>;
  readonly waiting: Record<string, unknown>;
  /** What waits is taken on at the next start. */
  isScheduled: boolean;
  isResetting: boolean;
}

export const newBiosSettings = ({ maker }: Pick<Bmc, 'maker'>): BiosSettings => ({
  current: defaultsOf(biosMakers[maker]),
  waiting: {},
  isScheduled: false,
  isResetting: false,
});

const defaultsOf = ({ settings }: BiosMaker): Record<string, unknown> =>
  Object.fromEntries(settings.map(({ AttributeName, now }) => [AttributeName, now]));

/** At a start of the machine. */
export function takeOnBios({ bios, maker }: Bmc): void {
  if (bios.isResetting) Object.assign(bios.current, defaultsOf(biosMakers[maker]));
  if (bios.isScheduled) Object.assign(bios.current, bios.waiting);
  if (bios.isScheduled) forget(bios);
  bios.isResetting = false;
}

function forget(bios: BiosSettings): void {
  for (const name of Object.keys(bios.waiting)) delete bios.waiting[name];
  bios.isScheduled = false;
}

/** The resources of a machine's BIOS. Answers the member that its system has. */
export function addBios(bmc: Bmc, system: string): Json {
  const maker = biosMakers[bmc.maker];
  const { bios, resources } = bmc;
  const path = `${system}/Bios`;
  const waiting = `${path}/${maker.waiting}`;
  const reset = `${path}/Actions/Bios.ResetBios`;
  const settings = {
    '@Redfish.Settings': {
      SettingsObject: link(waiting),
      ...(maker.applyTimes ? { SupportedApplyTimes: maker.applyTimes } : {}),
    },
  };
  resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#Bios.v1_2_0.Bios',
      Id: 'Bios',
      Name: 'BIOS Configuration Current Settings',
      AttributeRegistry: maker.registry,
      ...(maker.isLinked ? settings : {}),
      Attributes: { ...bios.current },
      ...(bios.isResetting ? { ResetBiosToDefaultsPending: true } : {}),
      ...(bmc.maker === 'hpe' ? { Oem: { Hpe: {} } } : {}),
      Actions: {
        '#Bios.ResetBios': {
          target: reset,
          ...(maker.resetType?.listed ? { 'ResetType@Redfish.AllowableValues': [maker.resetType.word] } : {}),
        },
      },
    }),
  });
  resources.set(waiting, {
    get: () => ({
      '@odata.id': waiting,
      '@odata.type': '#Bios.v1_2_0.Bios',
      Id: maker.waiting,
      Name: 'BIOS Configuration Pending Settings',
      Attributes: { ...(maker.shows === 'all' ? bios.current : {}), ...bios.waiting },
    }),
    patch: (body) => change(bmc, maker, body),
    privilege: 'ConfigureComponents',
    demandsETag: bmc.maker === 'ami',
  });
  resources.set(reset, {
    post: (body) => {
      const { word } = maker.resetType ?? {};
      if (word !== undefined && body.ResetType !== word)
        return failure(400, 'ActionParameterMissing', 'The action ResetBios requires the parameter ResetType.');
      forget(bios);
      bios.isResetting = true;
      return done;
    },
    privilege: 'ConfigureComponents',
  });
  addRegistry(bmc, maker, path);
  return { Bios: link(path) };
}

function addRegistry({ resources, maker: name }: Bmc, maker: BiosMaker, bios: string): void {
  const files = `${root}/Registries`;
  const file = `${files}/${name === 'ami' ? 'BiosAttributeRegistry' : maker.registry}`;
  const place = name === 'dell' ? `${bios}/BiosRegistry` : `${root}/RegistryStore/en/${maker.registry}.json`;
  resources.set(
    files,
    collection(files, 'MessageRegistryFile', () => [`${files}/Base.1.13.0`, file]),
  );
  resources.set(`${files}/Base.1.13.0`, { get: () => ({ Id: 'Base.1.13.0', Registry: 'Base.1.13', Location: [] }) });
  resources.set(file, {
    get: () => ({
      '@odata.id': file,
      Id: file.slice(files.length + 1),
      Registry: maker.registry,
      Location: [
        { Language: 'zh', Uri: `${place}-zh` },
        { Language: 'en', Uri: place },
      ],
    }),
  });
  const text = JSON.stringify({
    Id: maker.registry,
    Language: 'en',
    RegistryEntries: { Attributes: maker.settings, Menus: [], Dependencies: maker.dependencies ?? [] },
  });
  resources.set(place, {
    raw: maker.isPacked ? gzipSync(text) : Buffer.from(text),
    get: () => ({}),
  });
}

function change(bmc: Bmc, maker: BiosMaker, body: Json): Reply {
  const { bios } = bmc;
  const [unknown] = unknownMembers(body, ['Attributes', '@Redfish.SettingsApplyTime']);
  if (unknown !== undefined) return unknownMember(unknown);
  const time = (body['@Redfish.SettingsApplyTime'] as { ApplyTime?: string } | undefined)?.ApplyTime;
  if (time !== undefined && !maker.applyTimes?.includes(time))
    return failure(400, 'PropertyValueNotInList', `The apply time ${time} is not supported.`);
  if (maker.needsTime && bios.isScheduled)
    return failure(
      400,
      'ResourceInUse',
      'A configuration job is scheduled already; delete it, or restart the machine.',
    );
  const wanted = Object.entries((body.Attributes ?? {}) as Json);
  const wrong = wanted.filter(([name, value]) => bmc.stubborn.includes(name) || !fits(maker, name, value));
  if (wrong.length > 0 && maker.takes === 'all-or-nothing') return refusal(wrong.map(([name]) => name));
  const taken = wanted.filter((entry) => !wrong.includes(entry));
  if (!bmc.forgetful) Object.assign(time === 'Immediate' ? bios.current : bios.waiting, Object.fromEntries(taken));
  if (time !== 'Immediate' && (time !== undefined || !maker.needsTime)) bios.isScheduled = true;
  if (wrong.length > 0)
    return {
      status: 200,
      body: Object.fromEntries(wrong.map(([name]) => [`Attributes/${name}@Message.ExtendedInfo`, [remark(name)]])),
    };
  // The work begins at the next start, and its task says nothing before.
  if (time !== undefined) return { status: 202, headers: { Location: `${root}/TaskService/Tasks/JID_1` } };
  return done;
}

function fits({ settings }: BiosMaker, name: string, value: unknown): boolean {
  const setting = settings.find(({ AttributeName }) => AttributeName === name);
  if (!setting || setting.Immutable === true) return false;
  return typeof value === (setting.Type === 'Integer' ? 'number' : setting.Type === 'Boolean' ? 'boolean' : 'string');
}

const remark = (name: string): Json => ({
  MessageId: 'Base.1.13.PropertyNotUpdated',
  Message: 'The property %1 was not updated, because the BIOS has locked it.',
  MessageArgs: [name],
  Severity: 'Warning',
  RelatedProperties: [`#/Attributes/${name}`],
});

const refusal = (names: readonly string[]): Reply => ({
  status: 400,
  body: {
    error: {
      code: 'Base.1.13.GeneralError',
      message: textOf('See ExtendedInfo.'),
      '@Message.ExtendedInfo': names.map(remark),
    },
  },
});

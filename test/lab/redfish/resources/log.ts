import { type Bmc, type LogEntry } from '../bmc.ts';
import { collection, done, link, type Json, textOf } from '../resource.ts';

/** Entries of the log a request shows at once; odd services have so small pages that `Members@odata.nextLink` matters. */
const pageSize = ({ index, kind }: Bmc): number => (kind === 'plain' && index % 2 === 1 ? 2 : 100);

/** The event log below a system or a manager. Answers the path of the log services. */
export function addEventLog(bmc: Bmc, owner: string): string {
  const services = `${owner}/LogServices`;
  const service = `${services}/${bmc.kind === 'openbmc' ? 'EventLog' : `Events-${bmc.tag}`}`;
  const entries = `${service}/Entries`;
  const clear = `${service}/Actions/LogService.ClearLog`;
  const { resources } = bmc;
  resources.set(
    services,
    collection(services, 'LogService', () => [service]),
  );
  resources.set(service, {
    get: () => ({
      '@odata.id': service,
      '@odata.type': '#LogService.v1_3_0.LogService',
      Id: service.slice(services.length + 1),
      Name: 'System Event Log',
      ...(bmc.kind === 'sparse'
        ? {}
        : {
            LogEntryType: 'SEL',
            OverWritePolicy: bmc.weak ? 'NeverOverWrites' : 'WrapsWhenFull',
            MaxNumberOfRecords: bmc.weak ? bmc.log.length : 1000,
          }),
      Entries: link(entries),
      Actions: { '#LogService.ClearLog': { target: clear } },
    }),
  });
  resources.set(clear, {
    post: () => {
      for (const { id } of bmc.log) resources.delete(`${entries}/${id}`);
      bmc.log = [];
      return done;
    },
    privilege: 'ConfigureManager',
  });
  addPage(bmc, entries, 0);
  return services;
}

function addPage(bmc: Bmc, entries: string, first: number): void {
  const pathOf = (start: number): string => (start === 0 ? entries : `${entries}?$skip=${start}`);
  bmc.resources.set(pathOf(first), {
    get: () => {
      const next = first + pageSize(bmc);
      const more = next < bmc.log.length;
      if (more) addPage(bmc, entries, next);
      const members = bmc.log.slice(first, next).map((entry) => entryBody(bmc, `${entries}/${entry.id}`, entry));
      for (const member of members) bmc.resources.set(textOf(member['@odata.id']), { get: () => member });
      return {
        '@odata.id': pathOf(first),
        '@odata.type': '#LogEntryCollection.LogEntryCollection',
        Name: 'Log Entries',
        'Members@odata.count': bmc.log.length,
        Members: members,
        ...(more ? { 'Members@odata.nextLink': pathOf(next) } : {}),
      };
    },
  });
}

function entryBody(bmc: Bmc, path: string, { id, created, severity, message }: LogEntry): Json {
  return {
    '@odata.id': path,
    '@odata.type': '#LogEntry.v1_12_0.LogEntry',
    Id: id,
    Name: `Log Entry ${id}`,
    EntryType: bmc.kind === 'openbmc' ? 'Event' : 'SEL',
    ...(bmc.kind === 'sparse' ? {} : { Severity: severity }),
    Created: created,
    Message: message,
  };
}

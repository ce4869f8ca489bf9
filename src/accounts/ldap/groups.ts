import { type Client, type Entry, escapeFilter, FilterParser, ResultCodeError } from 'ldapts';
import { Fault } from '../../core/errors.ts';
import { groupName } from '../../access/policy-rule.ts';
import { calledBy, isBelow, nameKey } from './names.ts';
import { isCut, valuesOf } from './person.ts';
import type { LdapSettings } from './settings.ts';

const pageSize = 500;
/** Groups that are looked through for one account. */
const mostEntries = 2_000;
/** Groups in groups in groups. */
const deepest = 16;
const groupsInFilter = 50;
/** What a directory answers where it finds more than it sends. */
const serverLimits = new Set([4, 11]);

/** Puts values into a filter so that they stay values (RFC 4515). */
export const filledFilter = (
  template: string,
  values: Readonly<Record<string, string>>,
): ReturnType<typeof FilterParser.parseString> =>
  FilterParser.parseString(
    template.replaceAll(/\{(\w+)\}/g, (whole, key: string) => {
      const value = values[key];
      return value === undefined ? whole : escapeFilter`${value}`;
    }),
  );

/** The names of an account's groups: those that its entry says, and those that have it as a member. */
export async function groupsOfEntry(
  client: Client,
  settings: LdapSettings,
  name: string,
  entry: Entry,
): Promise<string[]> {
  const { groupFilter, groupAttribute, nested } = settings;
  const base = settings.groupBase ?? settings.base!;
  // Active Directory sends 1,500 values and leaves the others out.
  if (isCut(entry, 'memberOf')) throw tooMany(name);
  const isGroup = (dn: string): boolean => isBelow(dn, base);
  const found = new Map<string, string | undefined>();
  const add = (dn: string, called: string | undefined): boolean => {
    const key = nameKey(dn);
    if (key === undefined || found.has(key) || !isGroup(dn)) return false;
    if (found.size >= mostEntries) throw tooMany(name);
    found.set(key, called);
    return true;
  };
  let latest = valuesOf(entry, 'memberOf').filter((dn) => add(dn, calledBy(dn, groupAttribute)));
  const search = async (filter: ReturnType<typeof filledFilter>): Promise<string[]> => {
    const { searchEntries } = await client
      .search(base, {
        scope: 'sub',
        filter,
        attributes: [groupAttribute],
        paged: { pageSize },
      })
      .catch((error: unknown) => {
        throw error instanceof ResultCodeError && serverLimits.has(error.code) ? tooMany(name) : error;
      });
    return searchEntries.flatMap((group) =>
      add(group.dn, valuesOf(group, groupAttribute)[0] ?? calledBy(group.dn, groupAttribute)) ? group.dn : [],
    );
  };
  latest.push(...(await search(filledFilter(groupFilter, { dn: entry.dn, name }))));
  for (let depth = 0; nested && latest.length > 0; depth++) {
    if (depth >= deepest) throw tooMany(name);
    const next: string[] = [];
    for (let from = 0; from < latest.length; from += groupsInFilter) {
      const some = latest.slice(from, from + groupsInFilter);
      const each = some.map((dn) => filledFilter('(|(member={dn})(uniqueMember={dn}))', { dn }).toString());
      next.push(...(await search(FilterParser.parseString(`(|${each.join('')})`))));
    }
    latest = next;
  }
  return [...found.values()].flatMap((called) => (called === undefined ? [] : groupName(called)));
}

/** What is left out may be what a rule refuses, so nothing is. */
const tooMany = (name: string): Fault =>
  new Fault('unavailable', [
    `The account ${name} is in more groups of the directory than muster (${mostEntries}) or the directory takes.`,
    'Let somebody with full rights narrow ldap.groupBase and ldap.groupFilter.',
  ]);

import { useState } from 'preact/hooks';
import { get } from '../api/client.ts';
import { Card, Filter, PageTitle, Read } from '../design/parts.tsx';
import { byName } from '../model/ranges.ts';
import { linkTo } from '../model/route.ts';
import { tables as texts } from '../texts/tables.ts';

interface Described {
  readonly meaning: string;
  readonly type: string;
}
export type Meanings = Readonly<Record<string, Readonly<Record<string, Described>>>>;

/** All tables, with what they are for. */
export function Tables() {
  const [filter, setFilter] = useState('');
  const wanted = filter.trim().toLowerCase();
  return (
    <>
      <PageTitle title={texts.title} about={texts.about} />
      <Card
        title={texts.all}
        side={<Filter label={texts.filter} hint={texts.filterHint} value={filter} onValue={setFilter} />}
      >
        <Read of="" read={(signal) => get<Meanings>('/attributes/tables', signal)}>
          {({ tables: all = {} }) => {
            const shown = Object.entries(all)
              .filter(([name, { meaning }]) => `${name} ${meaning}`.toLowerCase().includes(wanted))
              .sort(([a], [b]) => byName(a, b));
            if (shown.length === 0) return <p class="empty">{texts.noneMatches}</p>;
            return (
              <ul class="list table-list">
                {shown.map(([name, { meaning }]) => (
                  <li key={name}>
                    <a class="mono" href={linkTo(`/tables/${encodeURIComponent(name)}`)}>
                      {name}
                    </a>
                    <span class="muted">{meaning}</span>
                  </li>
                ))}
              </ul>
            );
          }}
        </Read>
      </Card>
    </>
  );
}

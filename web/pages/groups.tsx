import { useState } from 'preact/hooks';
import { getAt } from '../api/client.ts';
import type { Attributes, NodesReply } from '../api/types.ts';
import { Badge, Card, Filter, PageTitle, Read } from '../design/parts.tsx';
import { changesSeen } from '../model/live.ts';
import { byName, folded } from '../model/ranges.ts';
import { select } from '../model/selection.ts';
import { useStore } from '../model/store.ts';
import { common } from '../texts/common.ts';
import { groups as texts } from '../texts/groups.ts';
import { givenBy, GroupForm, GroupRemoval, isDynamic, membersOf } from './group-form.tsx';
import { Written } from './write-dialog.tsx';

const NoGroups = () => (
  <div class="empty">
    <strong>{texts.none}</strong>
    <p>{texts.firstStep}</p>
    <pre class="code">{texts.firstLine}</pre>
  </div>
);

/** What a group is and gives, in a line. */
function aboutOf(group: Attributes): string {
  const given = givenBy(group).map(([name, value]) => `${name}=${value}`);
  const condition = isDynamic(group) ? [group['wherevals'] ?? ''] : [];
  return [...condition, ...given].join(' · ');
}

function Details({ group }: { group: Attributes }) {
  const members = membersOf(group);
  const given = givenBy(group);
  return (
    <div class="stack">
      {isDynamic(group) && (
        <p>
          <span class="muted">{texts.conditions}</span> <code>{group['wherevals']}</code>
        </p>
      )}
      {members.length === 0 ? <p class="muted">{texts.noMembers}</p> : <pre class="code">{folded(members)}</pre>}
      {given.length === 0 ? (
        <p class="muted">{texts.givesNothing}</p>
      ) : (
        <dl class="pairs">
          {given.map(([name, value]) => [
            <dt key={name} class="muted">
              {name}
            </dt>,
            <dd key={`${name} value`} class="mono">
              {value}
            </dd>,
          ])}
        </dl>
      )}
    </div>
  );
}

type Asked = { readonly kind: 'form' | 'removal'; readonly name: string | undefined; readonly group: Attributes };

/** All groups, with what they have and who is in them. */
export function Groups() {
  const seen = useStore(changesSeen);
  const [filter, setFilter] = useState('');
  const [open, setOpen] = useState<string>();
  const [asked, setAsked] = useState<Asked & { readonly revision: number }>();
  const [written, setWritten] = useState<number>();
  const close = (): void => setAsked(undefined);
  return (
    <>
      <PageTitle title={texts.title} about={texts.about} />
      {written !== undefined && <Written key={written} change={written} onClose={() => setWritten(undefined)} />}
      <Card
        title={texts.all}
        side={
          <>
            <Filter label={texts.filter} hint={texts.filterHint} value={filter} onValue={setFilter} />
            <button
              type="button"
              class="button"
              onClick={() => setAsked({ kind: 'form', name: undefined, group: {}, revision: 0 })}
            >
              {texts.add}
            </button>
          </>
        }
      >
        <Read of={String(seen)} read={(signal) => getAt<NodesReply>('/groups/ALLRESOURCES', signal)}>
          {({ value: all, revision }) => {
            const names = Object.keys(all).sort(byName);
            if (names.length === 0) return <NoGroups />;
            const shown = names.filter((name) => name.toLowerCase().includes(filter.trim().toLowerCase()));
            if (shown.length === 0) return <p class="empty">{texts.noneMatches}</p>;
            return (
              <ul class="list">
                {shown.map((name) => {
                  const group = all[name]!;
                  const members = membersOf(group);
                  const kind = isDynamic(group) ? 'dynamic' : 'static';
                  const isOpen = open === name;
                  return (
                    <li key={name}>
                      <div class="grow stack">
                        <div class="row wrap">
                          <div class="grow-wide">
                            <div class="row">
                              <span class="cut" title={name}>
                                {name}
                              </span>
                              <Badge tone={kind === 'dynamic' ? 'accent' : ''}>{texts.kinds[kind]}</Badge>
                            </div>
                            <div class="muted small cut">{aboutOf(group)}</div>
                          </div>
                          <button
                            type="button"
                            class="button"
                            title={common.selectThese}
                            disabled={members.length === 0}
                            onClick={() => select(name, members)}
                          >
                            {common.nodes(members.length)}
                          </button>
                          <button
                            type="button"
                            class="button quiet"
                            aria-label={`${common.edit} ${name}`}
                            onClick={() => setAsked({ kind: 'form', name, group, revision })}
                          >
                            {common.edit}
                          </button>
                          <button
                            type="button"
                            class="button quiet"
                            aria-label={`${common.remove} ${name}`}
                            onClick={() => setAsked({ kind: 'removal', name, group, revision })}
                          >
                            {common.remove}
                          </button>
                          <button
                            type="button"
                            class="button quiet"
                            aria-label={common.showOrHideIt(name, isOpen)}
                            aria-expanded={isOpen}
                            onClick={() => setOpen(isOpen ? undefined : name)}
                          >
                            {common.showOrHide(isOpen)}
                          </button>
                        </div>
                        {isOpen && <Details group={group} />}
                      </div>
                    </li>
                  );
                })}
              </ul>
            );
          }}
        </Read>
      </Card>
      {asked?.kind === 'form' && <GroupForm {...asked} onClose={close} onWritten={setWritten} />}
      {asked?.kind === 'removal' && (
        <GroupRemoval {...asked} name={asked.name!} onClose={close} onWritten={setWritten} />
      )}
    </>
  );
}

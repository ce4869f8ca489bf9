import { useState } from 'preact/hooks';
import { getAt } from '../api/client.ts';
import type { Attributes, NodesReply } from '../api/types.ts';
import { Badge, Card, PageTitle, Read } from '../design/parts.tsx';
import { changesSeen } from '../model/live.ts';
import { byName } from '../model/ranges.ts';
import { useStore } from '../model/store.ts';
import { common } from '../texts/common.ts';
import { policies as texts } from '../texts/policies.ts';
import { PolicyQuestion } from './policy-question.tsx';
import { permits, RuleForm, RuleRemoval } from './rule-form.tsx';
import { Written } from './write-dialog.tsx';

/** Lists get room to break behind their commas. */
const spaced = (list: string): string => list.replaceAll(/,\s*/g, ', ');

const isAny = (value: string | undefined): boolean => value === undefined || value === '' || value === '*';

/** What narrows a rule, in words. */
const limitsOf = (rule: Attributes): [label: string, value: string][] =>
  Object.entries(texts.limits).flatMap(([attribute, label]) =>
    isAny(rule[attribute]) ? [] : [[label, rule[attribute]!]],
  );

function RuleLine({ rule }: { rule: Attributes }) {
  const { name, commands, usercomment = '' } = rule;
  return (
    <div class="grow-wide">
      <div class="row wrap">
        <Badge tone={permits(rule) ? 'ok' : 'critical'}>{permits(rule) ? texts.allows : texts.refuses}</Badge>
        <strong class="break">{isAny(name) ? texts.anybody : name}</strong>
        <span class="break">{isAny(commands) ? texts.anything : spaced(commands!)}</span>
      </div>
      <div class="muted small break">
        {limitsOf(rule).map(([label, value], i) => (
          <span key={label}>
            {i > 0 && ' · '}
            {label} <code>{value}</code>
          </span>
        ))}
        {limitsOf(rule).length === 0 && texts.everywhere}
      </div>
      {usercomment !== '' && <div class="small break">{usercomment}</div>}
    </div>
  );
}

interface Asked {
  readonly kind: 'form' | 'removal';
  readonly priority: string | undefined;
  readonly rule: Attributes;
  readonly revision: number;
}

/** The rules of the policy, and what follows from them for somebody. */
export function Policies() {
  const seen = useStore(changesSeen);
  const [asked, setAsked] = useState<Asked>();
  const [written, setWritten] = useState<number>();
  const close = (): void => setAsked(undefined);
  return (
    <>
      <PageTitle title={texts.title} about={texts.about} />
      {written !== undefined && <Written key={written} change={written} onClose={() => setWritten(undefined)} />}
      <div class="policy-page">
        <Card
          title={texts.rules}
          side={
            <button
              type="button"
              class="button"
              onClick={() => setAsked({ kind: 'form', priority: undefined, rule: { rule: 'allow' }, revision: 0 })}
            >
              {texts.add}
            </button>
          }
        >
          <Read of={String(seen)} read={(signal) => getAt<NodesReply>('/policy/ALLRESOURCES', signal)}>
            {({ value: rules, revision }) => {
              const priorities = Object.keys(rules).sort((a, b) => Number(a) - Number(b) || byName(a, b));
              if (priorities.length === 0) return <p class="empty">{texts.none}</p>;
              return (
                <ol class="list">
                  {priorities.map((priority) => {
                    const rule = rules[priority]!;
                    return (
                      <li key={priority}>
                        <span class="rule-number mono muted">{priority}</span>
                        <div class="grow row wrap">
                          <RuleLine rule={rule} />
                          <div class="row">
                            {(['form', 'removal'] as const).map((kind) => {
                              const label = kind === 'form' ? common.edit : common.remove;
                              return (
                                <button
                                  key={kind}
                                  type="button"
                                  class="button quiet"
                                  aria-label={`${label} ${texts.rule(priority)}`}
                                  onClick={() => setAsked({ kind, priority, rule, revision })}
                                >
                                  {label}
                                </button>
                              );
                            })}
                          </div>
                        </div>
                      </li>
                    );
                  })}
                </ol>
              );
            }}
          </Read>
        </Card>
        <PolicyQuestion seen={seen} />
      </div>
      {asked?.kind === 'form' && <RuleForm {...asked} onClose={close} onWritten={setWritten} />}
      {asked?.kind === 'removal' && <RuleRemoval {...asked} onClose={close} onWritten={setWritten} />}
    </>
  );
}

import { useMemo, useState } from 'preact/hooks';
import { get, inPath, Refusal } from '../api/client.ts';
import { Message, TableHead } from '../design/parts.tsx';
import {
  type BiosState,
  type Difference,
  differencesOf,
  readProfile,
  sharedSettings,
  type Texts,
} from '../model/bios.ts';
import { folded } from '../model/ranges.ts';
import { texts } from '../texts/actions.ts';
import { common } from '../texts/common.ts';
import { AskForm, type AskProps, curlOf, quoted, useBegin } from './ask.tsx';
import { ReadingState, useReadings } from './node-readings.tsx';

const words = texts.bios;
type When = keyof typeof words.times;

/** The settings of a node that others can have. */
async function settingsOf(node: string): Promise<Texts> {
  const reply = await get<Readonly<Record<string, BiosState>>>(`/nodes/${inPath(node)}/bios?allowed=1`);
  const [state, ...more] = Object.values(reply);
  if (!state || more.length > 0) throw new Refusal(400, [words.notOneNode(node, Object.keys(reply).length)]);
  const shared = sharedSettings(state);
  if (Object.keys(shared).length > 0) return shared;
  throw new Refusal(400, [words.notShared(node)]);
}

interface RowProps {
  readonly difference: Difference;
  readonly isChosen: boolean;
  onChoose(isChosen: boolean): void;
}

const Row = ({ difference: { name, wanted, found }, isChosen, onChoose }: RowProps) => (
  <tr>
    <td>
      <label class="row">
        <input type="checkbox" checked={isChosen} onChange={(event) => onChoose(event.currentTarget.checked)} />
        <span>{name}</span>
      </label>
    </td>
    <td class="mono">{wanted === '' ? words.empty : wanted}</td>
    <td>
      {found.map(([value, names]) => (
        <div key={value ?? ''}>
          <span class={value === undefined ? 'muted' : 'mono'}>{value ?? words.missing}</span>{' '}
          <span class="muted small" title={names.join(', ')}>
            {folded(names)} {common.count(names.length)}
          </span>
        </div>
      ))}
    </td>
  </tr>
);

interface Wanted {
  readonly settings: Texts;
  /** What they are from, as it was chosen then. */
  readonly key: string;
}

/** Compares the BIOS settings of nodes with those of another node or of a profile, and gives them those that are chosen. */
export function AskBios({ range, count, onClose }: AskProps) {
  const { error, isBusy, start, setError } = useBegin(onClose);
  const [isProfile, setIsProfile] = useState(false);
  const [node, setNode] = useState('');
  const [profile, setProfile] = useState('');
  const [when, setWhen] = useState<When>('restart');
  const [asked, setAsked] = useState<Wanted>();
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const key = JSON.stringify(isProfile ? { profile } : { node: node.trim() });
  const wanted = asked?.key === key ? asked : undefined;
  const path = `/nodes/${inPath(range)}/bios`;
  const readings = useReadings<BiosState>(wanted && path);
  const differences = useMemo(
    () => (wanted && readings.isDone ? differencesOf(wanted.settings, readings.values) : []),
    [wanted, readings],
  );
  const chosen = differences.filter(({ name }) => !left.has(name));
  const settings = Object.fromEntries(chosen.map(({ name, wanted: value }) => [name, value]));
  const body = { settings, ...(when === 'now' && { when }) };
  const compare = async (): Promise<void> => {
    setError('');
    try {
      const found = await (isProfile ? readProfile(profile) : settingsOf(node.trim()));
      setLeft(new Set());
      setAsked({ settings: found, key });
    } catch (failed) {
      setError((failed as Error).message);
    }
  };
  const choose = (name: string, isChosen: boolean): void => {
    const next = new Set(left);
    if (isChosen) next.delete(name);
    else next.add(name);
    setLeft(next);
  };
  const pairs = chosen.map(({ name, wanted: value }) => ` ${quoted(`${name}=${value}`)}`).join('');
  return (
    <AskForm
      title={words.title(count)}
      about={range}
      harm={words.harm}
      verb={wanted ? words.verb(chosen.length, count) : words.compare}
      isDangerous={wanted !== undefined}
      isReady={wanted ? chosen.length > 0 : (isProfile ? profile : node).trim() !== ''}
      isBusy={isBusy}
      error={error}
      line={`muster bios set ${quoted(range)}${pairs || ' NAME=VALUE'}${when === 'now' ? ' --now' : ''}`}
      curl={curlOf('PUT', path, body)}
      isWide
      onSubmit={() => void (wanted ? start({ method: 'PUT', path, body, count }) : compare())}
      onClose={onClose}
    >
      <fieldset class="choice">
        <legend>{words.against}</legend>
        <label>
          <input type="radio" name="against" checked={!isProfile} onChange={() => setIsProfile(false)} /> {words.asNode}
        </label>
        <label>
          <input type="radio" name="against" checked={isProfile} onChange={() => setIsProfile(true)} />{' '}
          {words.asProfile}
        </label>
      </fieldset>
      {isProfile ? (
        <ProfileField profile={profile} onProfile={setProfile} onError={setError} />
      ) : (
        <label class="label">
          {words.node}
          <input
            class="field mono"
            spellcheck={false}
            value={node}
            onInput={(event) => setNode(event.currentTarget.value)}
          />
        </label>
      )}
      {wanted && (
        <>
          <ReadingState readings={readings} count={count} />
          {differences.length === 0 && readings.isDone && readings.values.size > 0 && (
            <Message tone="ok">{words.same}</Message>
          )}
          {differences.length > 0 && (
            <div class="scrolled" tabIndex={0} role="region" aria-label={words.differences}>
              <table class="grid-table">
                <TableHead columns={words.columns} />
                <tbody>
                  {differences.map((difference) => (
                    <Row
                      key={difference.name}
                      difference={difference}
                      isChosen={!left.has(difference.name)}
                      onChoose={(isChosen) => choose(difference.name, isChosen)}
                    />
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </>
      )}
      <label class="label">
        {words.when}
        <select class="field" value={when} onChange={(event) => setWhen(event.currentTarget.value as When)}>
          {Object.entries(words.times).map(([time, text]) => (
            <option key={time} value={time}>
              {text}
            </option>
          ))}
        </select>
      </label>
    </AskForm>
  );
}

interface ProfileProps {
  readonly profile: string;
  onProfile(text: string): void;
  onError(sentence: string): void;
}

const ProfileField = ({ profile, onProfile, onError }: ProfileProps) => (
  <>
    <label class="label">
      {words.profile}
      <textarea
        class="field mono"
        rows={6}
        spellcheck={false}
        placeholder={words.profileHint}
        value={profile}
        onInput={(event) => onProfile(event.currentTarget.value)}
      />
    </label>
    <label class="label">
      {words.fromFile}
      <input
        type="file"
        class="field file"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          file?.text().then(onProfile, (failed: Error) => onError(failed.message));
        }}
      />
    </label>
  </>
);

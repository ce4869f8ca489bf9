import { useMemo, useState } from 'preact/hooks';
import { inPath } from '../api/client.ts';
import { Message, TableHead } from '../design/parts.tsx';
import { archiveOf } from '../model/archive.ts';
import { type Component, componentsOf, type NodeFirmware } from '../model/firmware.ts';
import { foldReasons, mostFirst } from '../model/folds.ts';
import { folded } from '../model/ranges.ts';
import { texts } from '../texts/actions.ts';
import { common } from '../texts/common.ts';
import { AskForm, type AskProps, curlOf, curlOfFiles, fileWord, quoted, useBegin } from './ask.tsx';
import { type DryRun, Reasons, useDryRun } from './dry-run.tsx';
import { ReadingState, useReadings } from './node-readings.tsx';

const words = texts.firmware;
type Time = keyof typeof words.times;

function Installed({ components }: { components: readonly Component[] }) {
  if (components.length === 0) return null;
  return (
    <div class="scrolled" tabIndex={0} role="region" aria-label={words.installed}>
      <table class="grid-table">
        <TableHead columns={words.columns} />
        <tbody>
          {components.flatMap(({ label, versions }) =>
            versions.map(([version, names], index) => (
              <tr key={`${label} ${version}`}>
                <td>{index === 0 ? label : <span class="hidden">{label}</span>}</td>
                <td class="mono">{version === '' ? words.noVersion : version}</td>
                <td title={names.join(', ')}>
                  <span class="mono">{folded(names)}</span>{' '}
                  <span class="muted small numbers">{common.count(names.length)}</span>
                </td>
              </tr>
            )),
          )}
        </tbody>
      </table>
    </div>
  );
}

/** Which nodes would get the image, by what they have now. */
function Plan({ plan: { targets = {}, refused = {} } }: { plan: DryRun }) {
  const now = mostFirst(foldReasons(Object.entries(targets).map(([node, { now: has = '' }]) => [node, String(has)])));
  return (
    <>
      <Message tone={Object.keys(targets).length > 0 ? 'ok' : 'critical'}>
        {words.plan(Object.keys(targets).length)}
        {now.map(([has, names]) => (
          <span key={has} class="line">
            <strong>{folded(names)}</strong>
            {words.now(has)}
          </span>
        ))}
      </Message>
      <Reasons reasons={refused} />
    </>
  );
}

/** The settings of an update that have a value. */
const filled = (settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== ''));

/** Shows the firmware of nodes, and updates it after a look at what that would do. */
export function AskFirmware({ range, count, onClose }: AskProps) {
  const { error, isBusy, start } = useBegin(onClose);
  const { problem, isTrying, attempt, planOf } = useDryRun();
  const path = `/nodes/${inPath(range)}/firmware`;
  const readings = useReadings<NodeFirmware>(path);
  const components = useMemo(() => componentsOf(readings.values), [readings]);
  const [isFile, setIsFile] = useState(false);
  const [url, setUrl] = useState('');
  const [file, setFile] = useState<File>();
  const [component, setComponent] = useState('');
  const [version, setVersion] = useState('');
  const [apply, setApply] = useState<Time>('now');
  const settings = filled({
    component: component.trim(),
    version: version.trim(),
    apply: apply === 'now' ? '' : apply,
  });
  const query = new URLSearchParams(settings).toString();
  const sent = `${path}${query === '' ? '' : `?${query}`}`;
  const body = { url: url.trim(), ...settings };
  const key = JSON.stringify([isFile, file?.name, file?.size, file?.lastModified, body]);
  const plan = planOf(key);
  const tried = isFile
    ? ({ method: 'PUT', path: sent, count } as const)
    : ({ method: 'POST', path, body, count } as const);
  const submit = (): void => {
    if (!plan) void attempt(key, tried);
    else void start(isFile ? { ...tried, body: archiveOf([file!]) } : tried);
  };
  const named = [
    component.trim() && ` --component ${quoted(component.trim())}`,
    apply === 'now' ? '' : ` --apply ${apply}`,
  ];
  const versioned = version.trim() && ` --image-version ${quoted(version.trim())}`;
  const image = isFile ? fileWord(file?.name ?? 'FILE') : `--url ${quoted(body.url || 'URL')}`;
  return (
    <AskForm
      title={words.title(count)}
      about={range}
      harm={words.harm}
      verb={isTrying || !plan ? common.showFirst : isBusy ? common.sending : words.verb(count)}
      isDangerous={plan !== undefined}
      isReady={(isFile ? file !== undefined : body.url !== '') && (!plan || Object.keys(plan.targets ?? {}).length > 0)}
      isBusy={isBusy || isTrying}
      error={problem || error}
      line={`muster rflash ${quoted(range)} ${image}${named.join('')}${versioned}`}
      curl={isFile ? curlOfFiles(sent, [file?.name ?? 'FILE']) : curlOf('POST', path, body)}
      isWide
      onSubmit={submit}
      onClose={onClose}
    >
      <ReadingState readings={readings} count={count} />
      <Installed components={components} />
      <fieldset class="choice">
        <legend>{words.from}</legend>
        <label>
          <input type="radio" name="from" checked={!isFile} onChange={() => setIsFile(false)} /> {words.fromAddress}
        </label>
        <label>
          <input type="radio" name="from" checked={isFile} onChange={() => setIsFile(true)} /> {words.fromFile}
        </label>
      </fieldset>
      {isFile ? (
        <label class="label">
          {words.file}
          <input
            type="file"
            class="field file"
            onChange={(event) => setFile(event.currentTarget.files?.[0] ?? undefined)}
          />
        </label>
      ) : (
        <label class="label">
          {words.address}
          <input
            class="field mono"
            inputMode="url"
            spellcheck={false}
            placeholder={words.addressHint}
            value={url}
            onInput={(event) => setUrl(event.currentTarget.value)}
          />
        </label>
      )}
      <div class="columns">
        <label class="label">
          {words.component}
          <input
            class="field"
            list="firmware-components"
            spellcheck={false}
            value={component}
            onInput={(event) => setComponent(event.currentTarget.value)}
          />
          <span>{words.componentHelp}</span>
        </label>
        <datalist id="firmware-components">
          {components.map(({ label, name }) => name !== undefined && <option key={label} value={name} />)}
        </datalist>
        <label class="label">
          {words.version}
          <input
            class="field"
            spellcheck={false}
            value={version}
            onInput={(event) => setVersion(event.currentTarget.value)}
          />
          <span>{words.versionHelp}</span>
        </label>
        <label class="label">
          {words.apply}
          <select class="field" value={apply} onChange={(event) => setApply(event.currentTarget.value as Time)}>
            {Object.entries(words.times).map(([time, text]) => (
              <option key={time} value={time}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </div>
      {plan && <Plan plan={plan} />}
    </AskForm>
  );
}

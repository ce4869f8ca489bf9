import { useState } from 'preact/hooks';
import { inPath } from '../api/client.ts';
import { texts } from '../texts/images.ts';
import { AskForm, curlOf, quoted, useBegin } from './ask.tsx';

/** What is done with an image; `pack`: the id of one of its packs. */
export type ImageAct =
  | { readonly action: 'gen' | 'pack' }
  | { readonly action: 'rollback' | 'tag'; readonly pack: string }
  | { readonly action: 'untag'; readonly tag: string };

interface Props {
  readonly image: string;
  readonly act: ImageAct;
  /** Nodes that are set to the image. */
  readonly users: number;
  onClose(): void;
}

interface Told {
  readonly line: string;
  readonly params: Readonly<Record<string, string>>;
}

/** What the format can be compressed with. */
const compressions: Readonly<Record<string, readonly string[]>> = {
  '': [],
  squashfs: ['zstd', 'xz', 'gzip', 'lz4'],
  cpio: ['gzip', 'pigz', 'xz'],
};

/** Builds, packs, rolls back or tags an image; each is a run. */
export function AskImage({ image, act, users, onClose }: Props) {
  const { error, isBusy, start } = useBegin(onClose);
  const [tag, setTag] = useState('');
  const [method, setMethod] = useState('');
  const [compress, setCompress] = useState('');
  const [noSyncFiles, setNoSyncFiles] = useState(false);
  const name = quoted(image);
  const told = (): Told => {
    switch (act.action) {
      case 'gen':
        return { line: `muster genimage ${name}`, params: {} };
      case 'pack': {
        const words = [method && ` -m ${method}`, compress && ` -c ${compress}`, noSyncFiles ? ' --nosyncfiles' : ''];
        const params = {
          ...(method && { method }),
          ...(compress && { compress }),
          ...(noSyncFiles && { nosyncfiles: '' }),
        };
        return { line: `muster packimage ${name}${words.join('')}`, params };
      }
      case 'rollback':
        return { line: `muster image rollback ${name} ${act.pack}`, params: { pack: act.pack } };
      case 'tag':
        return {
          line: `muster image tag ${name} ${quoted(tag.trim() || 'TAG')} ${act.pack}`,
          params: { tag: tag.trim(), pack: act.pack },
        };
      case 'untag':
        return {
          line: `muster image untag ${name} ${quoted(act.tag)}`,
          params: { tag: act.tag, remove: '' },
        };
    }
  };
  const { line, params } = told();
  const verb = texts.verbs[act.action];
  const path = `/osimages/${inPath(image)}/instance`;
  const given = Object.entries(params).map(([key, value]) => ({ [key]: value }));
  const action = act.action === 'untag' ? 'tag' : act.action;
  const body = { action, ...(given.length > 0 && { params: given }) };
  const title = act.action === 'untag' ? texts.removeTag(act.tag) : 'pack' in act ? texts.onPack(verb, act.pack) : verb;
  return (
    <AskForm
      title={title}
      about={image}
      harm={`${texts[act.action]} ${texts.setTo(users)}`}
      verb={verb}
      isDangerous={act.action === 'rollback'}
      isReady={act.action !== 'tag' || tag.trim() !== ''}
      isBusy={isBusy}
      error={error}
      line={line}
      curl={curlOf('POST', path, body)}
      onSubmit={() => void start({ method: 'POST', path, body })}
      onClose={onClose}
    >
      {act.action === 'tag' && (
        <label class="label">
          {texts.tagName}
          <input class="field mono" autofocus value={tag} onInput={(event) => setTag(event.currentTarget.value)} />
        </label>
      )}
      {act.action === 'pack' && (
        <>
          <div class="columns">
            <Choice
              label={texts.method}
              value={method}
              values={Object.keys(compressions)}
              onChoose={(chosen) => {
                setMethod(chosen);
                setCompress('');
              }}
            />
            <Choice
              label={texts.compress}
              value={compress}
              values={['', ...compressions[method]!]}
              onChoose={setCompress}
            />
          </div>
          <label>
            <input
              type="checkbox"
              checked={noSyncFiles}
              onChange={(event) => setNoSyncFiles(event.currentTarget.checked)}
            />{' '}
            {texts.noSyncFiles}
          </label>
        </>
      )}
    </AskForm>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly values: readonly string[];
  onChoose(value: string): void;
}

const Choice = ({ label, value, values, onChoose }: ChoiceProps) => (
  <label class="label">
    {label}
    <select class="field" value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
      {values.map((each) => (
        <option key={each} value={each}>
          {each === '' ? texts.usual : each}
        </option>
      ))}
    </select>
  </label>
);

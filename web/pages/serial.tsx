import { useState } from 'preact/hooks';
import { get, inPath, write } from '../api/client.ts';
import type { NodesReply } from '../api/types.ts';
import { Badge, Card, Dialog, Message, Read, type Tone } from '../design/parts.tsx';
import { changesSeen } from '../model/live.ts';
import { linkTo } from '../model/route.ts';
import type { ConsoleState, LineState } from '../model/serial-line.ts';
import { useStore } from '../model/store.ts';
import { common } from '../texts/common.ts';
import { keys, texts } from '../texts/serial.ts';
import { NodeLog } from './serial-log.tsx';
import { Screen, type Serial, useLine } from './serial-screen.tsx';

/** In a word, how it is with the line to the machine. */
export function toneOf({ phase, shown }: LineState): readonly [tone: Tone, word: string] {
  if (phase === 'opening') return ['', texts.opening];
  if (phase !== 'open' || shown?.state === 'waiting') return ['warning', common.notConnected];
  return shown?.state === 'connected' ? ['ok', texts.connected] : ['', texts.connecting];
}

const encoder = new TextEncoder();

/** Keys that browsers keep for themselves, and that phones have not. */
function Keys({ serial, isOff }: { serial: Serial | undefined; isOff: boolean }) {
  const send = (name: string): void => {
    const sent = keys.find(([each]) => each === name)?.[1];
    if (sent !== undefined) serial?.line.type(encoder.encode(sent));
    serial?.terminal.focus();
  };
  return (
    <select
      class="field"
      aria-label={texts.keys}
      disabled={isOff}
      value=""
      onChange={(event) => {
        const { value } = event.currentTarget;
        event.currentTarget.value = '';
        send(value);
      }}
    >
      <option value="">{texts.keys}</option>
      {keys.map(([name]) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

/** Who has the keyboard, and how it changes hands. */
function Keyboard({ serial, shown }: { serial: Serial | undefined; shown: ConsoleState | undefined }) {
  if (!serial || !shown) return null;
  const { line, terminal } = serial;
  if (!shown.mayWrite) return <span class="muted small">{texts.mayOnlyLook}</span>;
  const hasOther = shown.viewers.some(({ writes }) => writes);
  if (shown.writes)
    return (
      <button type="button" class="button" onClick={() => line.ask({ type: 'release' })}>
        {texts.release}
      </button>
    );
  const take = (): void => {
    line.ask({ type: 'take' });
    terminal.focus();
  };
  return (
    <>
      {hasOther && (
        <button type="button" class="button" onClick={() => line.ask({ type: 'ask' })}>
          {texts.ask}
        </button>
      )}
      <button type="button" class={hasOther ? 'button' : 'button primary'} onClick={take}>
        {texts.take}
      </button>
    </>
  );
}

/** Why nothing comes from the machine, and what can be done about it. */
function Trouble({ serial, state }: { serial: Serial | undefined; state: LineState }) {
  const { phase, why, shown } = state;
  const [asks, setAsks] = useState(false);
  const isLost = phase === 'waiting' || phase === 'refused';
  if (!serial || (!isLost && shown?.state !== 'waiting')) return null;
  const { line } = serial;
  const connect = (): void => (isLost ? line.connectNow() : line.ask({ type: 'reconnect' }));
  const takeOver = (): void => {
    setAsks(false);
    line.ask({ type: 'takeover' });
  };
  return (
    <div class="row wrap">
      <div class="grow">
        <Message tone={phase === 'refused' ? 'critical' : 'warning'}>{isLost ? why : (shown?.message ?? '')}</Message>
      </div>
      {(isLost || shown?.mayWrite === true) && (
        <button type="button" class="button" onClick={connect}>
          {phase === 'refused' ? common.tryAgain : texts.connectNow}
        </button>
      )}
      {!isLost && shown?.writes === true && (
        <button type="button" class="button" onClick={() => setAsks(true)}>
          {texts.takeOver}
        </button>
      )}
      {asks && (
        <Dialog label={texts.takeOver} onClose={() => setAsks(false)}>
          <div class="stack">
            <h1>{texts.takeOverAsks(shown?.node ?? '')}</h1>
            <p>{texts.takeOverSays}</p>
            <div class="row">
              <button type="button" class="button danger" onClick={takeOver}>
                {texts.takeOver}
              </button>
              <button type="button" class="button" onClick={() => setAsks(false)}>
                {common.cancel}
              </button>
            </div>
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** Everybody at the console. */
function Viewers({ serial, shown }: { serial: Serial | undefined; shown: ConsoleState | undefined }) {
  if (!shown) return null;
  return (
    <Card title={texts.here} side={<span class="muted small mono">{shown.way ?? ''}</span>}>
      <ul class="list">
        {shown.viewers.map(({ viewer, user, client, writes }) => (
          <li key={viewer}>
            <span class="cut" title={user}>
              {user} {viewer === shown.viewer && <span class="muted">{texts.isYou}</span>}
            </span>
            <span class="muted small cut grow">{client}</span>
            {shown.writes && viewer !== shown.viewer && (
              <button
                type="button"
                class="button quiet"
                aria-label={texts.giveTo(user, viewer)}
                onClick={() => serial?.line.ask({ type: 'give', to: viewer })}
              >
                {texts.give}
              </button>
            )}
            <Badge tone={writes ? 'accent' : ''}>{writes ? texts.types : texts.looksOn}</Badge>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Whether muster keeps the console open when nobody looks. */
function Keep({ node }: { node: string }) {
  const seen = useStore(changesSeen);
  const [error, setError] = useState('');
  const set = (action: 'on' | 'off'): void => {
    setError('');
    write('PUT', '/services/console', { body: { nodes: [node], action } }).catch((failed: Error) =>
      setError(failed.message),
    );
  };
  return (
    <Read
      of={`${node} ${seen}`}
      read={(signal) => get<NodesReply>(`/nodes/${inPath(node)}/attrs/consoleenabled`, signal)}
    >
      {({ [node]: attributes = {} }) => {
        const isKept = attributes['consoleenabled'] === '1';
        return (
          <div class="row wrap">
            <span class="muted small">{isKept ? texts.kept : texts.onDemand}</span>
            <button type="button" class="button" onClick={() => set(isKept ? 'off' : 'on')}>
              {isKept ? texts.keepNot : texts.keep}
            </button>
            {error !== '' && <Message tone="critical">{error}</Message>}
          </div>
        );
      }}
    </Read>
  );
}

/** The serial console of a node: to look on, and to type. */
export function SerialPage({ node }: { node: string }) {
  const [serial, setSerial] = useState<Serial>();
  const state = useLine(serial);
  const { shown, phase, notices } = state;
  const isTyping = phase === 'open' && shown?.writes === true;
  const [tone, word] = toneOf(state);
  return (
    <>
      <header>
        <h1>
          <a href={linkTo(`/nodes/${inPath(node)}`)}>{node}</a> <span class="muted">{common.serialConsole}</span>
        </h1>
        <Badge tone={tone}>{word}</Badge>
        {phase === 'open' && <Badge tone={isTyping ? 'accent' : ''}>{isTyping ? texts.you : texts.youLook}</Badge>}
        <span class="grow" />
        <Keyboard serial={serial} shown={phase === 'open' ? shown : undefined} />
        <Keys serial={serial} isOff={!isTyping} />
        <button type="button" class="button" disabled={!isTyping} onClick={() => serial?.line.ask({ type: 'break' })}>
          {texts.sendBreak}
        </button>
        <button type="button" class="button" onClick={() => serial?.terminal.reset()}>
          {texts.clear}
        </button>
      </header>
      <Trouble serial={serial} state={state} />
      <div class="serial-page">
        <div class="stack">
          <Screen node={node} onSerial={setSerial} />
          <div class="notices" role="log" aria-label={texts.notices}>
            {notices.map((notice, i) => (
              <p key={i}>{notice}</p>
            ))}
          </div>
          <div class="row wrap between">
            <span class="muted small only-wide">{texts.leaveHint}</span>
            <Keep node={node} />
          </div>
        </div>
        <div class="stack aside">
          <Viewers serial={serial} shown={phase === 'open' ? shown : undefined} />
          <NodeLog node={node} />
        </div>
      </div>
    </>
  );
}

import { setTimeout as sleep } from 'node:timers/promises';
import { Refused } from './errors.ts';
import { mayHaveArrived, noneReached, notReached, reasonOf } from './not-reached.ts';
import type { Place } from './places.ts';
import { refusedBy, textOf } from './replies.ts';
import { socketOpener } from './sockets.ts';
import { Unsent, Wire, type WireReply, type WireRequest } from './wire.ts';

/** Milliseconds that a connection may take while other servers are left to ask. */
const connectTimeout = 5_000;
/** Milliseconds that a server which does not answer may take to start while the others refuse, as in an upgrade. */
const startTimeout = 15_000;
const startPoll = 500;

/** A server that did not do what it was asked for. */
export interface PassedOver {
  readonly place: Place;
  readonly error: Error;
}

/** A reply, whose it is, and which servers were tried besides. */
export interface Answered {
  readonly reply: WireReply;
  readonly place: Place;
  readonly passedOver: readonly PassedOver[];
}

/**
 * Servers of one cluster, of which one is asked: the first that answers, for as long as it does. A reading may be sent to one after the
 * other. What changes something goes to the next only if it was not sent, or if the server says that it did nothing.
 */
export class Servers {
  readonly places: readonly Place[];
  readonly #wires = new Map<Place, Wire>();
  #current = 0;

  constructor(places: readonly Place[]) {
    this.places = places;
  }

  /** The one that is asked. */
  get place(): Place {
    return this.places[this.#current]!;
  }

  /** From now on the next one is asked instead of this one. */
  leave(place: Place): void {
    if (this.place === place) this.#current = this.#after(this.#current);
  }

  #after(index: number): number {
    return (index + 1) % this.places.length;
  }

  async ask(requestFor: (place: Place) => WireRequest, isReading: boolean): Promise<Answered> {
    const deadline = Date.now() + startTimeout;
    for (;;) {
      const answered = await this.#askEach(requestFor, isReading);
      const isStarting = answered.passedOver.some(({ error }) => !(error instanceof Refused));
      if (!isLeftToOthers(answered.reply, isReading) || !isStarting || Date.now() >= deadline) return answered;
      await sleep(startPoll);
    }
  }

  async #askEach(requestFor: (place: Place) => WireRequest, isReading: boolean): Promise<Answered> {
    const passedOver: PassedOver[] = [];
    let refusal: Pick<Answered, 'reply' | 'place'> | undefined;
    // Other requests may be under way, and move on by themselves.
    let index = this.#current;
    for (let left = this.places.length - 1; left >= 0; left--, index = this.#after(index)) {
      const place = this.places[index]!;
      const request = { ...requestFor(place), ...(left > 0 && { connectTimeout }) };
      try {
        const reply = await (await this.#wireTo(place)).request(request);
        if (this.places.length === 1 || !isLeftToOthers(reply, isReading)) {
          this.#current = index;
          return { reply, place, passedOver };
        }
        const text = await textOf(reply, place.shown);
        refusal = { place, reply: { ...reply, body: piecesOf(text) } };
        passedOver.push({ place, error: refusedBy(reply, text) });
      } catch (error) {
        // Not about the server.
        if (request.signal?.aborted || error instanceof TypeError) throw error;
        passedOver.push({ place, error: this.#acceptable(place, error as Error, isReading) });
      }
    }
    if (!refusal) throw noneReached(passedOver.map(({ place, error }) => [place, error] as const));
    return { ...refusal, passedOver: passedOver.filter(({ place }) => place !== refusal.place) };
  }

  /** Why a server is passed over; thrown if it must not be, because what was sent may have arrived. */
  #acceptable(place: Place, error: Error, isReading: boolean): Error {
    const cause = error instanceof Unsent ? error.cause : error;
    if (this.places.length === 1) throw notReached(place, cause);
    if (error instanceof Unsent || isReading) return cause;
    throw mayHaveArrived(place, cause);
  }

  /** The process ends by itself only when no connection is left. */
  close(): void {
    for (const wire of this.#wires.values()) wire.close();
  }

  async #wireTo(place: Place): Promise<Wire> {
    let wire = this.#wires.get(place);
    if (!wire) {
      wire = new Wire(await socketOpener(place), place.socket === undefined ? place.shown : 'localhost');
      this.#wires.set(place, wire);
    }
    return wire;
  }
}

/** A server that cannot do it now: one that stops, or whose database is away. */
const isLeftToOthers = ({ status, headers }: WireReply, isReading: boolean): boolean =>
  status === 503 && (headers['x-muster-done'] === 'nothing' || (isReading && headers['retry-after'] !== undefined));

async function* piecesOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

/** Why a server was passed over, for people. */
export const whyPassedOver = ({ place, error }: PassedOver): string =>
  `${place.shown}: ${error instanceof Refused ? error.message.replace(/\.$/, '') : reasonOf(place, error)}`;

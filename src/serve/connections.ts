/**
 * Open connections: how many there are, which have not shown the token yet, and which of their requests wait for an answer.
 *
 * A connection that has shown no token within GRACE_MS is closed in favor of a new one, the oldest first, so that idle
 * connections keep no sender out. A younger one is closed only when all places are taken: senders that connect at the same
 * moment would otherwise cut each other off before their requests are read.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

export const MOST_CONNECTIONS = 1_024;
const MOST_UNAUTHENTICATED = 256;
const GRACE_MS = 1_000;

export class Connections {
  count = 0;
  /** By address and port. */
  readonly #unauthenticated = new Map<string, { socket: Socket; sinceMs: number }>();
  readonly #unanswered = new Map<Socket, Set<IncomingMessage>>();
  readonly #closing = new WeakSet<Socket>();
  readonly #afterAnswers = new WeakMap<Socket, () => void>();

  opened(socket: Socket, nowMs: number): void {
    const peer = peerOf(socket);
    this.count += 1;
    this.#unauthenticated.set(peer, { socket, sinceMs: nowMs });
    socket.once('close', () => {
      this.count -= 1;
      this.#unauthenticated.delete(peer);
    });
    const [oldest] = this.#unauthenticated.values();
    if (oldest === undefined) return;
    const isLate = this.#unauthenticated.size > MOST_UNAUTHENTICATED && nowMs - oldest.sinceMs > GRACE_MS;
    if (isLate || this.count > MOST_CONNECTIONS) oldest.socket.destroy();
  }

  tokenShown(socket: Socket): void {
    this.#unauthenticated.delete(peerOf(socket));
  }

  /** The last answer of the connection is sent. A request behind it would get none, so none is taken. */
  closes(socket: Socket): void {
    this.#closing.add(socket);
  }

  isClosing(socket: Socket): boolean {
    return this.#closing.has(socket);
  }

  requestBegan(request: IncomingMessage): void {
    const { socket } = request;
    this.#unanswered.set(socket, (this.#unanswered.get(socket) ?? new Set()).add(request));
  }

  requestEnded(request: IncomingMessage): void {
    const { socket } = request;
    const others = this.#unanswered.get(socket);
    others?.delete(request);
    if (others?.size === 0) this.#unanswered.delete(socket);
    if (!this.#waitsForAnswer(socket)) this.#afterAnswers.get(socket)?.();
  }

  /** Runs `then` when all complete requests of the connection are answered. */
  afterAnswers(socket: Socket, then: () => void): void {
    if (this.#waitsForAnswer(socket)) this.#afterAnswers.set(socket, then);
    else then();
  }

  /** A request that is not complete does not count: it gets no answer of its own. */
  #waitsForAnswer(socket: Socket): boolean {
    for (const { complete } of this.#unanswered.get(socket) ?? []) if (complete) return true;
    return false;
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

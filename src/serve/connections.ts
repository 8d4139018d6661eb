/**
 * Counts open connections, and records which of them have not shown the token yet and which of their requests wait for
 * an answer.
 *
 * If there are too many connections, a new one evicts the oldest one that has shown no token within GRACE_MS, so that
 * idle connections do not block senders. A younger one is evicted only if all places are taken: otherwise, senders that
 * connect at the same moment would evict each other before their requests are read.
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

  /** The last answer of the connection is sent. A later request would get no answer, so the server reads none. */
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

  /** An incomplete request does not count, because it gets no answer. */
  #waitsForAnswer(socket: Socket): boolean {
    for (const { complete } of this.#unanswered.get(socket) ?? []) if (complete) return true;
    return false;
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

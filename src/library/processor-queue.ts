/**
 * Reads the queue of a batch span processor. A full queue drops spans without an error, and there is no public method
 * for its length. These fields have the same names in SDK 1, 2 and 3. For a processor without them, the state is
 * unknown.
 */

interface Queue {
  _finishedSpans: { length: number };
  _maxQueueSize: number;
  _droppedSpansCount?: number;
}

function queueOf(processor: object): Queue | undefined {
  const { _finishedSpans: spans, _maxQueueSize: most } = processor as Partial<Queue>;
  return Array.isArray(spans) && typeof most === 'number' ? (processor as Queue) : undefined;
}

export function isFull(processor: object): boolean {
  const queue = queueOf(processor);
  return queue !== undefined && queue._finishedSpans.length >= queue._maxQueueSize;
}

/** Returns the processors of an SDK's provider, if its fields are known. */
export function processorsIn(provider: object): readonly object[] {
  const { _activeSpanProcessor: active } = provider as { _activeSpanProcessor?: { _spanProcessors?: unknown } };
  const all = active?._spanProcessors;
  return Array.isArray(all) ? all : active === undefined ? [] : [active];
}

/**
 * The queue of a batch span processor. A full queue drops spans without an error, and no public method tells how full it
 * is. These fields have the same names in SDK 1, 2 and 3; of a processor without them nothing is known.
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

/** The processors of an SDK's provider, as far as it shows them. */
export function processorsIn(provider: object): readonly object[] {
  const { _activeSpanProcessor: active } = provider as { _activeSpanProcessor?: { _spanProcessors?: unknown } };
  const all = active?._spanProcessors;
  return Array.isArray(all) ? all : active === undefined ? [] : [active];
}

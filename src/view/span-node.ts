/** A span's attributes, read back into what a person wants to see of it. */
import { development, ours, stable } from '../telemetry/names.ts';
import type { Node } from './tree.ts';

export interface SpanLike {
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  startMs: number;
  endMs: number;
  isError: boolean;
  attributes: Readonly<Record<string, unknown>>;
}

export function nodeOf(span: SpanLike): Node {
  const { attributes } = span;
  const said = (name: string): string | undefined =>
    attributes[name] === undefined ? undefined : String(attributes[name]);
  const notes: string[] = [];
  const outcome = said(ours.actionOutcome) ?? said(ours.turnOutcome) ?? said(ours.subagentOutcome);
  const decision = said(ours.decisionOutcome);
  // What passes unasked is no news.
  const isUsual = decision === 'allow' && said(ours.decisionSource) === 'config';
  if (decision !== undefined && !isUsual) {
    const basis = said(ours.decisionBasis) === 'inferred' ? ', inferred' : '';
    notes.push(
      `${decision === 'allow' ? 'allowed' : decision === 'deny' ? 'denied' : 'asked'} (${said(ours.decisionSource)}${basis})`,
    );
  }
  if (
    outcome !== undefined &&
    outcome !== 'success' &&
    outcome !== 'completed' &&
    outcome !== 'failure' &&
    decision !== 'deny' &&
    !span.isError
  )
    notes.push(outcome);
  if (said(ours.endReason) !== undefined) notes.push(said(ours.endReason) ?? '');
  const exit = said(development.processExitCode);
  if (exit !== undefined && exit !== '0') notes.push(`exit ${exit}`);
  const wait = Number(attributes[ours.actionWaitMs] ?? 0);
  if (wait > 0) notes.push(`waited ${Math.round(wait)}ms`);
  const attempt = said(ours.retryAttempt);
  if (attempt !== undefined) notes.push(`attempt ${attempt}`);
  if (said(ours.loopDetected) !== undefined)
    notes.push(said(ours.loopAborted) === undefined ? 'loop' : 'loop, aborted');
  const budget = said(ours.budgetState);
  if (budget !== undefined) notes.push(`budget ${budget}`);
  const level = said(ours.riskLevel);
  if (level !== undefined && level !== 'low') notes.push(`risk ${level}`);
  const source = said(ours.durationSource);
  if (source === 'none' || source === 'clamped') notes.push(`length ${source === 'none' ? 'unknown' : 'clamped'}`);
  const program = said(development.processExecutableName);
  return {
    id: span.spanId,
    parent: span.parentSpanId,
    name: program === undefined ? span.name : `${span.name} (${program})`,
    startMs: span.startMs,
    endMs: span.endMs,
    error: span.isError ? (said(stable.errorType) ?? 'error') : undefined,
    notes,
  };
}

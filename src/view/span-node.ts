/** Turns a span into a node of the drawn tree, with short notes from its attributes. */
import { own } from '../lib/read.ts';
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
  const text = textsOf(span);
  const program = text(development.processExecutableName);
  return {
    id: span.spanId,
    parent: span.parentSpanId,
    name: program === undefined ? span.name : `${span.name} (${program})`,
    startMs: span.startMs,
    endMs: span.endMs,
    error: span.isError ? (text(stable.errorType) ?? 'error') : undefined,
    notes: [...outcomeNotes(span), ...detailNotes(span)],
  };
}

const textsOf =
  ({ attributes }: SpanLike) =>
  (name: string): string | undefined =>
    attributes[name] === undefined ? undefined : String(attributes[name]);

/** Outcomes that the drawing does not mention: the usual ones, and `failure`, which is drawn as an error. */
const usualOutcomes = ['success', 'completed', 'failure'];

const decisionWords: Readonly<Record<string, string>> = { allow: 'allowed', deny: 'denied' };

/** Notes about decision, outcome and end. A default allow is not noted, because most actions have one. */
function outcomeNotes(span: SpanLike): string[] {
  const text = textsOf(span);
  const notes: string[] = [];
  const decision = text(ours.decisionOutcome);
  const source = text(ours.decisionSource);
  if (decision !== undefined && !(decision === 'allow' && source === 'config')) {
    const basis = text(ours.decisionBasis) === 'inferred' ? ', inferred' : '';
    notes.push(`${own(decisionWords, decision) ?? 'asked'} (${source}${basis})`);
  }
  const outcome = text(ours.actionOutcome) ?? text(ours.turnOutcome) ?? text(ours.subagentOutcome);
  if (outcome !== undefined && !usualOutcomes.includes(outcome) && decision !== 'deny' && !span.isError)
    notes.push(outcome);
  const end = text(ours.endReason);
  if (end !== undefined) notes.push(end);
  return notes;
}

function detailNotes(span: SpanLike): string[] {
  const text = textsOf(span);
  const notes: string[] = [];
  const exit = text(development.processExitCode);
  if (exit !== undefined && exit !== '0') notes.push(`exit ${exit}`);
  const wait = Number(span.attributes[ours.actionWaitMs] ?? 0);
  if (wait > 0) notes.push(`waited ${Math.round(wait)}ms`);
  const attempt = text(ours.retryAttempt);
  if (attempt !== undefined) notes.push(`attempt ${attempt}`);
  if (text(ours.loopDetected) !== undefined)
    notes.push(text(ours.loopAborted) === undefined ? 'loop' : 'loop, aborted');
  const budget = text(ours.budgetState);
  if (budget !== undefined) notes.push(`budget ${budget}`);
  const level = text(ours.riskLevel);
  if (level !== undefined && level !== 'low') notes.push(`risk ${level}`);
  const source = text(ours.durationSource);
  if (source === 'none' || source === 'clamped') notes.push(`length ${source === 'none' ? 'unknown' : 'clamped'}`);
  return notes;
}

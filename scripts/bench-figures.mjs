/** The table of figures: each beside its limits and the figures of other programs. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Reads what a benchmark noted; the last line about a work counts. */
export function figuresIn(file, benchmark, folder) {
  if (!existsSync(file)) return [];
  const peers = JSON.parse(readFileSync(join(folder, 'peers.json'), 'utf8'));
  const figures = new Map();
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue;
    const { work, value, unit, limits } = JSON.parse(line);
    const key = `${benchmark}: ${work}`;
    figures.set(key, {
      benchmark,
      work,
      value,
      unit,
      limits,
      peers: peers.filter(each => each.figures.includes(key)),
    });
  }
  return [...figures.values()];
}

/** A ratio to something too short for the clock is infinite, which JSON writes as null. */
const isMet = (value, { most, least }) =>
  value !== null && (most === undefined || value <= most) && (least === undefined || value >= least);

/** The limits that are aims have several names; the first is the goal. */
const partsOf = ({ limits }) => ({
  gate: limits.find(({ name }) => name === 'gate'),
  goal: limits.find(({ name }) => name !== 'gate'),
});

export function jsonOf(figures) {
  const limitOf = (value, limit) =>
    limit === undefined ? undefined : { most: limit.most, least: limit.least, met: isMet(value, limit) };
  return figures.map(figure => {
    const { gate, goal } = partsOf(figure);
    const { benchmark, work, value, unit } = figure;
    const peers = figure.peers.map(({ figures: _, ...peer }) => peer);
    return { benchmark, work, value, unit, gate: limitOf(value, gate), goal: limitOf(value, goal), peers };
  });
}

export function printFigures(figures) {
  if (figures.length === 0) return;
  const numberOf = (value, unit) =>
    value === null
      ? 'not measured'
      : `${value.toFixed(unit === 'x' ? 3 : value < 10 ? 2 : 0)}${unit === 'x' ? 'x' : ` ${unit}`}`;
  const limitOf = (value, unit, limit) => {
    if (limit === undefined) return '-';
    const bound = limit.most === undefined ? `>= ${limit.least}` : `<= ${limit.most}`;
    return `${bound}${unit === 'x' ? 'x' : ` ${unit}`} ${isMet(value, limit) ? 'met' : 'missed'}`;
  };
  const heads = ['figure', 'ours', 'gate', 'goal', 'others'];
  const rows = figures.flatMap(figure => {
    const { benchmark, work, value, unit, peers } = figure;
    const { gate, goal } = partsOf(figure);
    const others = peers.map(each => `${each.value} ${each.peer} (${each.kind} ${each.date}: ${each.source})`);
    const [first = '-', ...more] = others;
    const own = [`${benchmark}: ${work.replace(/ {2,}/g, ' ')}`, numberOf(value, unit)];
    return [
      [...own, limitOf(value, unit, gate), limitOf(value, unit, goal), first],
      ...more.map(each => ['', '', '', '', each]),
    ];
  });
  const widths = heads.map((head, i) => Math.max(head.length, ...rows.map(row => row[i].length)));
  console.log();
  for (const row of [heads, ...rows])
    console.log(row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]))).join('  '));
}

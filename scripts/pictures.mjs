/**
 * npm run pictures: draws docs/images from the data in the stack of docker-compose.yml, with the queries of the
 * dashboards' own panels. It needs no browser and no Grafana; the pictures show the content of the panels.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'docs', 'images');
const at = (port, name) => process.env[name] ?? `http://127.0.0.1:${port}`;
const tempo = at(3200, 'TEMPO');
const loki = at(3100, 'LOKI');
const prometheus = at(9090, 'PROMETHEUS');
const RANGE_S = 3_600;
const nowS = Math.floor(Date.now() / 1_000);
const WIDTH = 960;
const GAP = 8;
const COLORS = [
  '#73bf69',
  '#5794f2',
  '#f2cc0c',
  '#ff9830',
  '#b877d9',
  '#f2495c',
  '#8ab8ff',
  '#96d98d',
  '#fade2a',
  '#ca95e5',
];

// ---------------------------------------------------------------- the data in the back ends

async function json(base, path, query) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}

function exprOf(uid, title) {
  const { panels } = JSON.parse(readFileSync(join(root, 'grafana', 'dashboards', `${uid}.json`), 'utf8'));
  const panel = panels.find(each => each.title === title);
  if (panel === undefined) throw new Error(`${uid} has no panel "${title}"`);
  return panel.targets[0].expr;
}

const filled = (expr, change = {}) =>
  Object.entries({
    $__range: `${RANGE_S}s`,
    $__interval: `${RANGE_S}s`,
    $agent: '.+',
    $tool: '.*',
    $model: '.*',
    $counts: 'anchored',
    ...change,
  }).reduce((text, [name, value]) => text.replaceAll(name, value), expr);

async function vector(expr) {
  const { data } = await json(prometheus, '/api/v1/query', { query: expr });
  return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
}

/** The newest session with a subagent, or the newest. */
async function latestTrace() {
  const window = { start: nowS - RANGE_S, end: nowS, limit: 50 };
  for (const q of [
    '{ name =~ "session .*" } && { name =~ "invoke_agent .*" && span.gen_ai.agent.id != nil }',
    '{ name =~ "session .*" }',
  ]) {
    const { traces = [] } = await json(tempo, '/api/search', { q, ...window });
    const [newest] = traces.sort((a, b) => Number(BigInt(b.startTimeUnixNano) - BigInt(a.startTimeUnixNano)));
    if (newest === undefined) continue;
    const { trace } = await json(tempo, `/api/v2/traces/${newest.traceID}`, {});
    return trace.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(scope => scope.spans)).map(spanOf);
  }
  throw new Error('no session in the last hour: npm run stack plays one');
}

function spanOf({ spanId, parentSpanId, name, startTimeUnixNano, endTimeUnixNano, status, attributes }) {
  const plain = Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
  const ms = nanos => Number(BigInt(nanos) / 1_000n) / 1_000;
  return {
    id: spanId,
    parent: parentSpanId,
    name,
    start: ms(startTimeUnixNano),
    end: ms(endTimeUnixNano),
    isError: status?.code === 'STATUS_CODE_ERROR',
    plain,
  };
}

// ---------------------------------------------------------------- panels: { height, body(width) }

function tracePanel(all) {
  const children = new Map();
  for (const span of all) children.set(span.parent ?? '', [...(children.get(span.parent ?? '') ?? []), span]);
  const rows = [];
  const walk = (parent, depth) => {
    for (const span of (children.get(parent) ?? []).sort((a, b) => a.start - b.start)) {
      rows.push({ ...span, depth });
      walk(span.id, depth + 1);
    }
  };
  walk('', 0);
  const start = Math.min(...rows.map(row => row.start));
  const length = Math.max(...rows.map(row => row.end)) - start || 1;
  const [left, rowHeight] = [330, 20];
  return panel('Trace of a session, in Tempo', rows.length * rowHeight + 6, width => {
    const room = width - left - 90;
    return rows.map((row, i) => {
      const y = i * rowHeight;
      const x = left + ((row.start - start) / length) * room;
      const wide = Math.max(2, ((row.end - row.start) / length) * room);
      const color = row.isError
        ? '#f2495c'
        : row.name.startsWith('chat')
          ? '#b877d9'
          : row.name.startsWith('execute_tool')
            ? '#5794f2'
            : '#73bf69';
      const decision = row.plain['agent_hooks.decision.outcome'];
      const note = decision === 'deny' ? 'denied' : row.plain['agent_hooks.risk.level'] === 'high' ? 'high risk' : '';
      return [
        i % 2 === 0 ? `<rect y="${y}" width="${width}" height="${rowHeight}" fill="#ffffff" opacity=".025"/>` : '',
        text(8 + row.depth * 14, y + 14, row.name, { color: '#ccccdc' }),
        `<rect x="${x.toFixed(1)}" y="${y + 5}" width="${wide.toFixed(1)}" height="10" rx="2" fill="${color}"/>`,
        text(Math.min(x + wide + 6, width - 84), y + 14, `${duration(row.end - row.start)} ${note}`, {
          color: '#8e8e9a',
        }),
      ].join('');
    });
  });
}

async function timelinePanel(all) {
  const session = all.find(({ plain }) => plain['session.id'])?.plain['session.id'];
  const start = Math.min(...all.map(span => span.start));
  const end = Math.max(...all.map(span => span.end));
  const stepMs = Math.max(100, Math.ceil((end - start) / 40 / 100) * 100);
  const expr = filled(exprOf('otel-hooks-session', 'Timeline'), { $session: session, $__interval: `${stepMs}ms` });
  const { data } = await json(loki, '/loki/api/v1/query_range', {
    query: expr,
    start: `${Math.floor(start - stepMs)}000000`,
    end: `${Math.ceil(end + stepMs)}000000`,
    step: `${stepMs}ms`,
  });
  const series = data.result
    .map(({ metric, values }) => ({
      name: metric.agent_hooks_event_type,
      values: values.map(([atS, value]) => [atS * 1_000, Number(value)]),
    }))
    .sort((a, b) => total(b) - total(a))
    .slice(0, COLORS.length);
  const sums = new Map();
  for (const { values } of series) for (const [atMs, value] of values) sums.set(atMs, (sums.get(atMs) ?? 0) + value);
  const most = Math.max(1, ...sums.values());
  const high = 110;
  return panel('Timeline of the session, records in Loki by type of event', high + 44, width => {
    const [left, room] = [30, width - 46];
    const wide = Math.max(2, (room / ((end - start) / stepMs + 2)) * 0.8);
    const stacked = new Map();
    const bars = series.flatMap(({ values }, i) =>
      values.map(([atMs, value]) => {
        const below = stacked.get(atMs) ?? 0;
        stacked.set(atMs, below + value);
        const x = left + ((atMs - start + stepMs) / (end - start + 2 * stepMs)) * (room - wide);
        const y = 6 + high - ((below + value) / most) * high;
        return `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${wide.toFixed(1)}" height="${((value / most) * high).toFixed(1)}" fill="${COLORS[i]}"/>`;
      }),
    );
    return [
      ...axis(most, high, left, width),
      ...bars,
      ...legend(
        series.map(({ name }) => name),
        high + 18,
        width,
      ),
    ];
  });
}

async function tiles(uid, titles) {
  const values = await Promise.all(
    titles.map(async title => (await vector(filled(exprOf(uid, title))))[0]?.value ?? 0),
  );
  return {
    height: 86,
    body: width => {
      const wide = (width - GAP * (titles.length - 1)) / titles.length;
      return titles.map((title, i) => {
        const shown = title === 'Cost' ? `$${values[i].toFixed(2)}` : String(Math.round(values[i]));
        const x = i * (wide + GAP);
        return (
          frame(x, 0, wide, 86, title) + text(x + wide / 2, 64, shown, { size: 28, color: '#73bf69', anchor: 'middle' })
        );
      });
    },
  };
}

async function ranking(uid, title, nameOf) {
  const rows = (await vector(filled(exprOf(uid, title))))
    .filter(({ value }) => value >= 0.5)
    .sort((a, b) => b.value - a.value)
    .slice(0, 10);
  const most = Math.max(1, ...rows.map(({ value }) => value));
  return panel(title, rows.length * 22 + 6, width =>
    rows.map(({ metric, value }, i) => {
      const wide = (value / most) * (width - 270);
      return [
        text(8, i * 22 + 15, nameOf(metric), { color: '#ccccdc' }),
        `<rect x="200" y="${i * 22 + 4}" width="${Math.max(2, wide).toFixed(1)}" height="14" rx="2" fill="${COLORS[i % COLORS.length]}"/>`,
        text(206 + wide, i * 22 + 15, String(Math.round(value)), { color: '#8e8e9a' }),
      ].join('');
    }),
  );
}

function panel(title, inner, draw) {
  return {
    height: inner + 34,
    body: (width, height = inner + 34) => [
      frame(0, 0, width, height, title),
      `<g transform="translate(0 30)">`,
      ...draw(width),
      '</g>',
    ],
  };
}

function pair(left, right) {
  const height = Math.max(left.height, right.height);
  return {
    height,
    body: width => {
      const half = (width - GAP) / 2;
      return [
        ...left.body(half, height),
        `<g transform="translate(${half + GAP} 0)">`,
        ...right.body(half, height),
        '</g>',
      ];
    },
  };
}

// ---------------------------------------------------------------- drawing

async function written(file, panels) {
  let y = GAP;
  const parts = panels.map(({ height, body }) => {
    const part = `<g transform="translate(${GAP} ${y})">${body(WIDTH - 2 * GAP).join('')}</g>`;
    y += height + GAP;
    return part;
  });
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" font-family="Inter, Helvetica, Arial, sans-serif">`;
  writeFileSync(
    join(folder, file),
    `${head}<rect width="${WIDTH}" height="${y}" fill="#111217"/>${parts.join('\n')}</svg>\n`,
  );
  console.log(`docs/images/${file}`);
}

const frame = (x, y, width, height, title) =>
  `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${height}" rx="3" fill="#181b1f" stroke="#2c3235"/>${text(x + 8, y + 19, title, { color: '#ccccdc', size: 13, weight: 600 })}`;

function text(x, y, words, { color, size = 12, anchor = 'start', weight = 400 }) {
  const safe = String(words).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x.toFixed(1)}" y="${y}" font-size="${size}" font-weight="${weight}" fill="${color}" text-anchor="${anchor}">${safe}</text>`;
}

const axis = (most, high, left, width) =>
  [0, most].flatMap(value => {
    const y = 6 + high - (value / most) * high;
    return [
      `<line x1="${left}" x2="${width - 8}" y1="${y}" y2="${y}" stroke="#2c3235"/>`,
      text(left - 6, y + 4, value, { color: '#8e8e9a', size: 10, anchor: 'end' }),
    ];
  });

function legend(names, y, width) {
  let x = 30;
  let row = y;
  return names.flatMap((name, i) => {
    const wide = 22 + name.length * 6.2;
    if (x + wide > width) [x, row] = [30, row + 16];
    const drawn = [
      `<rect x="${x.toFixed(1)}" y="${row - 8}" width="12" height="4" rx="1" fill="${COLORS[i]}"/>`,
      text(x + 16, row, name, { color: '#8e8e9a', size: 11 }),
    ];
    x += wide;
    return drawn;
  });
}

function total({ values }) {
  return values.reduce((sum, [, value]) => sum + value, 0);
}

function duration(ms) {
  return ms < 1_000 ? `${Math.round(ms)}ms` : `${(ms / 1_000).toFixed(2)}s`;
}

// ---------------------------------------------------------------- the pictures

const spans = await latestTrace();
mkdirSync(folder, { recursive: true });
await written('session.svg', [tracePanel(spans), await timelinePanel(spans)]);
await written('fleet.svg', [
  await tiles('otel-hooks-fleet', [
    'Sessions',
    'Prompts',
    'Actions',
    'Failed actions',
    'Denied',
    'Loops',
    'Cost',
    'Machines',
  ]),
  pair(
    await ranking('otel-hooks-tools', 'Calls by tool', ({ job, gen_ai_tool_name: tool }) => `${tool} (${job})`),
    await ranking('otel-hooks-fleet', 'Events by type', ({ agent_hooks_event_type: type }) => type),
  ),
]);

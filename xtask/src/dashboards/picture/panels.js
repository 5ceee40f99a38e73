// Panels, by plugin: each draws into an element with what its queries were answered.

function element(parent, tag, name, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

const without = (panel, box) => element(box, 'div', 'none', panel.fieldConfig.defaults.noValue);

function stat(panel, box) {
  const all = series(panel);
  if (all.length === 0) return without(panel, box);
  const row = element(box, 'div', 'stats');
  for (const one of all) {
    const field = settings(panel.fieldConfig, one.name);
    const value = last(one.values);
    const word = mapped(value, field.mappings);
    const tile = element(row, 'div', 'stat');
    const shade = word ? color(word.color) : colored(value, field.thresholds);
    tile.style.background = shade === NAMED.green ? '#2f8f3f' : shade === NAMED.blue ? '#1f60c4' : shade;
    if (panel.options.textMode === 'value_and_name') element(tile, 'i', '', one.name);
    element(tile, 'b', '', word?.text ?? written(value, field.unit, field.decimals));
    if (one.values.length > 1 && !word) spark(tile, one);
  }
}

function spark(tile, { times, values }) {
  const canvas = element(tile, 'canvas');
  [canvas.width, canvas.height] = [tile.clientWidth, tile.clientHeight * 0.5];
  const [most, least] = [Math.max(...values), Math.min(...values, 0)];
  const pen = canvas.getContext('2d');
  pen.fillStyle = 'rgba(255, 255, 255, 0.25)';
  pen.beginPath();
  pen.moveTo(0, canvas.height);
  times.forEach((time, at) => {
    const x = ((time - answers.begin) / (answers.end - answers.begin)) * canvas.width;
    pen.lineTo(x, canvas.height - ((values[at] - least) / (most - least || 1)) * (canvas.height - 2));
  });
  pen.lineTo(canvas.width, canvas.height);
  pen.fill();
}

/** All series on one axis of times, with gaps where a series has no value. */
function aligned(all) {
  const times = [];
  for (let time = answers.begin; time <= answers.end; time += 1) times.push(time);
  const place = (one) => {
    const known = new Map(one.times.map((time, at) => [Math.round(time - answers.begin), one.values[at]]));
    return times.map((_, at) => known.get(at) ?? null);
  };
  return [times, ...all.map(place)];
}

function timeseries(panel, box) {
  const all = series(panel);
  if (all.length === 0) return without(panel, box);
  const graph = element(box, 'div', 'graph');
  const plot = element(graph, 'div');
  const names = element(element(graph, 'div', 'legend'), 'table');
  const head = element(names, 'tr');
  for (const title of ['Name', 'Last', 'Max']) element(head, 'th', '', title);
  const fields = all.map((one) => settings(panel.fieldConfig, one.name));
  const shades = fields.map((field, at) => color(field.color?.fixedColor ?? PALETTE[at % PALETTE.length]));
  const order = all.map((_, at) => at).sort((a, b) => Math.max(...all[b].values) - Math.max(...all[a].values));
  for (const at of order) {
    const row = element(names, 'tr');
    const name = element(row, 'td');
    element(name, 's').style.background = shades[at];
    name.append(all[at].name);
    for (const value of [last(all[at].values), Math.max(...all[at].values)]) {
      element(row, 'td', '', written(value, fields[at].unit, fields[at].decimals));
    }
  }
  const data = aligned(all);
  const defaults = panel.fieldConfig.defaults;
  const isStacked = defaults.custom.stacking?.mode === 'normal';
  const drawn = structuredClone(data);
  if (isStacked) {
    for (let at = 2; at < drawn.length; at += 1) {
      drawn[at] = drawn[at].map((value, time) => (value ?? 0) + (drawn[at - 1][time] ?? 0));
    }
  }
  const steps = defaults.custom.thresholdsStyle?.mode === 'dashed' ? defaults.thresholds.steps : [];
  const right = fields.find((field) => field.custom.axisPlacement === 'right');
  const ofField = (field, at) => ({
    label: all[at].name,
    scale: field.custom.axisPlacement === 'right' ? 'right' : 'y',
    stroke: shades[at],
    width: 2,
    dash: field.custom.lineStyle?.dash,
    fill: field.custom.fillOpacity ? shades[at] + Math.round(field.custom.fillOpacity * 2.55).toString(16).padStart(2, '0') : undefined,
    paths: field.custom.drawStyle === 'bars' ? uPlot.paths.bars({ size: [0.8, 12] }) : undefined,
    points: { show: data[at + 1].filter((value) => value !== null).length < 3 },
  });
  const axis = (scale, unit) => ({
    scale,
    side: scale === 'right' ? 1 : 3,
    stroke: '#9fa7b3',
    font: '12px sans-serif',
    size: 76,
    grid: { show: scale !== 'right', stroke: '#26292f', width: 1 },
    ticks: { show: false },
    values: (_, values) => values.map((value) => written(value, unit)),
  });
  const range = (_, least, most) => {
    const top = defaults.max ?? Math.max(most ?? 0, 0) * 1.1;
    return [defaults.min ?? Math.min(least ?? 0, 0), top > 0 ? top : 1];
  };
  const options = {
    width: box.clientWidth - 264,
    height: box.clientHeight - 36,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: true, range: () => [answers.begin, answers.end] }, y: { range }, right: { range: (_, __, most) => [0, (most || 1) * 1.1] } },
    axes: [
      { stroke: '#9fa7b3', font: '12px sans-serif', grid: { stroke: '#26292f', width: 1 }, ticks: { show: false }, values: (_, times) => times.map(clock) },
      axis('y', defaults.unit),
      ...(right ? [axis('right', right.unit)] : []),
    ],
    series: [{}, ...fields.map(ofField)],
    hooks: { draw: [(chart) => limits(chart, steps), annotations] },
  };
  // What is below is drawn last.
  if (isStacked) {
    options.series = [{}, ...options.series.slice(1).reverse()];
    drawn.splice(1, drawn.length - 1, ...drawn.slice(1).reverse());
  }
  new uPlot(options, drawn, plot);
}

function limits(chart, steps) {
  for (const { value, color: name } of steps) {
    if (value === null || value > chart.scales.y.max) continue;
    const y = chart.valToPos(value, 'y', true);
    stroke(chart, color(name), [chart.bbox.left, y], [chart.bbox.left + chart.bbox.width, y]);
  }
}

/** Where a finding begins. */
function annotations(chart) {
  for (const one of answers.panels?.[0]?.A ?? []) {
    const x = chart.valToPos(Number(one.values[0][0]), 'x', true);
    stroke(chart, NAMED.red, [x, chart.bbox.top], [x, chart.bbox.top + chart.bbox.height]);
  }
}

function stroke({ ctx }, shade, from, to) {
  ctx.save();
  ctx.strokeStyle = shade;
  ctx.lineWidth = 1;
  ctx.setLineDash([6, 4]);
  ctx.beginPath();
  ctx.moveTo(...from);
  ctx.lineTo(...to);
  ctx.stroke();
  ctx.restore();
}

function bargauge(panel, box) {
  const all = series(panel);
  if (all.length === 0) return without(panel, box);
  const bars = element(box, 'div', 'bars');
  const { min = 0, max } = panel.fieldConfig.defaults;
  const most = max ?? Math.max(...all.map((one) => last(one.values)), 1e-9);
  for (const one of all) {
    const field = settings(panel.fieldConfig, one.name);
    const value = last(one.values);
    const bar = element(bars, 'div', 'bar');
    element(bar, 'div', 'name', one.name);
    const fill = element(element(bar, 'div', 'track'), 'div');
    fill.style.width = `${Math.max(0, Math.min(100, (100 * (value - min)) / (most - min)))}%`;
    fill.style.background = colored(value, field.thresholds);
    const shown = element(bar, 'div', 'value', written(value, field.unit, field.decimals));
    shown.style.color = colored(value, field.thresholds);
  }
}

function lanes(panel, box, all, paint) {
  const states = element(box, 'div', 'states');
  const width = answers.end - answers.begin;
  for (const one of all) {
    const lane = element(states, 'div', 'lane');
    element(lane, 'div', 'name', one.name);
    const cells = element(lane, 'div', 'cells');
    let open;
    one.times.forEach((time, at) => {
      const { shade, text } = paint(one.values[at], one.name);
      if (open && open.shade === shade && time - open.end < 2.5) {
        open.end = time;
      } else {
        open = { shade, begin: time, end: time, cell: element(cells, 'div', '', text) };
        open.cell.style.background = shade;
      }
      open.cell.style.left = `${(100 * (open.begin - answers.begin)) / width}%`;
      open.cell.style.width = `${(100 * (open.end + 1 - open.begin)) / width}%`;
    });
  }
  const times = element(states, 'div', 'times');
  for (let part = 0; part <= 4; part += 1) element(times, 'span', '', clock(answers.begin + (width * part) / 4));
}

function stateTimeline(panel, box) {
  const all = series(panel);
  if (all.length === 0) return without(panel, box);
  lanes(panel, box, all, (value, name) => {
    const field = settings(panel.fieldConfig, name);
    const word = mapped(value, field.mappings);
    const text = word?.text ?? written(value, field.unit, field.decimals);
    const shade = word ? color(word.color) : colored(value, field.thresholds);
    return { shade, text: panel.options.showValue === 'never' ? '' : text };
  });
}

function heatmap(panel, box) {
  const all = series(panel);
  if (all.length === 0) return without(panel, box);
  const most = Math.max(...all.flatMap((one) => one.values), 1e-9);
  lanes(panel, box, all, (value) => {
    const share = Math.round(8 * Math.sqrt(Math.max(0, value / most))) / 8;
    return { shade: `hsl(${40 - 26 * share} ${30 + 65 * share}% ${14 + 46 * share}%)`, text: '' };
  });
}

/** Rows of a table, as Grafana's Prometheus source and the transformations `merge` and `organize` make them. */
function table(panel, box) {
  const frames = panel.targets.map((target) => {
    const rows = answers.panels?.[panel.id]?.[target.refId] ?? [];
    return { letter: target.refId, rows };
  }).filter(({ rows }) => rows.length > 0);
  if (frames.length === 0) return without(panel, box);
  const value = (letter) => (panel.targets.length > 1 ? `Value #${letter}` : 'Value');
  const flat = frames.map(({ letter, rows }) =>
    rows.map((row) => ({ ...row.metric, [value(letter)]: Number(row.value[1]) })));
  const names = flat.map((rows) => new Set(rows.flatMap(Object.keys)));
  const keys = [...names[0]].filter((name) => names.every((other) => other.has(name)));
  const merged = [];
  for (const row of flat.flat()) {
    const fits = (other) => [...keys, ...Object.keys(row)].every((name) =>
      (keys.includes(name) ? other[name] === row[name] : !(name in other)));
    const found = frames.length > 1 ? merged.find(fits) : undefined;
    if (found) Object.assign(found, row);
    else merged.push(row);
  }
  const organize = panel.transformations.find(({ id }) => id === 'organize').options;
  const has = (name) => merged.some((row) => row[name] !== undefined && row[name] !== '');
  const place = organize.indexByName;
  const columns = Object.keys(place).filter(has).sort((a, b) => place[a] - place[b]);
  const title = (column) => organize.renameByName[column] ?? column;
  const by = panel.options.sortBy?.[0];
  const sorted = by && columns.find((column) => title(column) === by.displayName);
  if (sorted) {
    const sign = by.desc ? -1 : 1;
    merged.sort((a, b) => sign * (a[sorted] > b[sorted] ? 1 : a[sorted] < b[sorted] ? -1 : 0));
  }
  const grid = element(box, 'table', 'table');
  const head = element(grid, 'tr');
  for (const column of columns) element(head, 'th', '', title(column));
  for (const row of merged) {
    const line = element(grid, 'tr');
    for (const column of columns) {
      const field = settings(panel.fieldConfig, title(column));
      const content = row[column];
      const word = mapped(content, field.mappings);
      const number = typeof content === 'number' ? written(content, field.unit, field.decimals) : content;
      const cell = element(line, 'td', '', word?.text ?? number ?? '');
      if (field.custom.cellOptions?.type === 'color-background') {
        cell.style.background = word ? color(word.color) : colored(content, field.thresholds);
        cell.style.color = '#111';
      }
      if (field.links?.length) cell.style.color = '#6e9fff';
    }
  }
}

// Values as Grafana writes and colours them.

const NAMED = { green: '#73bf69', orange: '#ff9830', red: '#f2495c', blue: '#5794f2', grey: '#808080', purple: '#b877d9', yellow: '#fade2a' };
const PALETTE = ['#73bf69', '#f2cc0c', '#8ab8ff', '#ff780a', '#f2495c', '#5794f2', '#b877d9', '#705da0', '#37872d', '#fade2a'];

const color = (name) => NAMED[name] ?? name;

function scaled(value, step, units, decimals) {
  let at = 0;
  while (Math.abs(value) >= step && at < units.length - 1) {
    value /= step;
    at += 1;
  }
  return rounded(value, decimals) + units[at];
}

function rounded(value, decimals) {
  if (decimals === undefined) {
    const size = Math.abs(value);
    decimals = size === 0 || Number.isInteger(value) || size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.01 ? 2 : 4;
  }
  return value.toFixed(decimals);
}

function seconds(value, decimals) {
  const size = Math.abs(value);
  if (size === 0) return '0 s';
  if (size < 1e-6) return rounded(value * 1e9, decimals) + ' ns';
  if (size < 1e-3) return rounded(value * 1e6, decimals) + ' µs';
  if (size < 1) return rounded(value * 1e3, decimals) + ' ms';
  if (size < 60) return rounded(value, decimals) + ' s';
  return size < 3600 ? rounded(value / 60, decimals) + ' mins' : rounded(value / 3600, decimals) + ' hours';
}

function written(value, unit, decimals) {
  if (value === null || value === undefined || Number.isNaN(value)) return '';
  switch (unit) {
    case 'percentunit': return rounded(value * 100, decimals) + '%';
    case 's': return seconds(value, decimals);
    case 'bps': return scaled(value, 1000, [' b/s', ' kb/s', ' Mb/s', ' Gb/s', ' Tb/s'], decimals);
    case 'bytes': return scaled(value, 1024, [' B', ' KiB', ' MiB', ' GiB'], decimals);
    case 'cps': return scaled(value, 1000, [' c/s', 'k c/s', 'M c/s'], decimals);
    case 'suffix:x': return rounded(value, decimals) + 'x';
    default: return scaled(value, 1000, ['', ' K', ' Mil', ' Bil'], decimals);
  }
}

/** A word in place of a value, with its colour. */
function mapped(value, mappings) {
  for (const mapping of mappings ?? []) {
    const found = mapping.options[String(value)];
    if (found) return found;
  }
  return undefined;
}

function colored(value, thresholds) {
  let found = 'green';
  for (const step of thresholds?.steps ?? []) {
    if (step.value === null || value >= step.value) found = step.color;
  }
  return color(found);
}

/** The settings of a field by its name: defaults with what overrides say. */
function settings(config, name) {
  const merged = structuredClone(config.defaults);
  merged.custom ??= {};
  for (const { matcher, properties } of config.overrides ?? []) {
    const pattern = matcher.options.replace(/^\/(.*)\/$/, '$1');
    const fits = matcher.id === 'byName' ? matcher.options === name : new RegExp(pattern).test(name);
    if (!fits) continue;
    for (const { id, value } of properties) {
      if (id.startsWith('custom.')) merged.custom[id.slice(7)] = value;
      else merged[id] = value;
    }
  }
  return merged;
}

function legend(format, labels) {
  if (!format) {
    const pairs = Object.entries(labels).filter(([label]) => label !== '__name__');
    return pairs.map(([label, value]) => `${label}="${value}"`).join(' ') || labels.__name__ || 'Value';
  }
  return format.replace(/{{\s*(\w+)\s*}}/g, (_, label) => labels[label] ?? '');
}

/** All series of a panel: names, times and values. */
function series(panel) {
  const found = [];
  for (const target of panel.targets) {
    for (const one of answers.panels?.[panel.id]?.[target.refId] ?? []) {
      const samples = (one.values ?? [one.value])
        .map(([time, value]) => [time, Number(value)])
        .filter(([time, value]) => Number.isFinite(value) && time <= answers.end + 1);
      if (samples.length === 0) continue;
      found.push({
        name: legend(target.legendFormat, one.metric),
        times: samples.map(([time]) => time),
        values: samples.map(([, value]) => value),
      });
    }
  }
  return found;
}

const last = (all) => all[all.length - 1];
const clock = (time) => new Date(time * 1000).toISOString().slice(11, 19);

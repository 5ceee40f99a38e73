// The page: its head, and panels on Grafana's grid of 24 columns.

const PLUGINS = { stat, timeseries, bargauge, heatmap, table, 'state-timeline': stateTimeline };
const [COLUMN, ROW, GAP, TOP] = [(1920 - 8) / 24, 38, 8, 56];

const head = element(document.body, 'header');
element(head, 'b', '', board.title);
for (const variable of board.templating.list.filter(({ hide }) => hide !== 2)) {
  const chosen = { datasource: 'Prometheus', node: answers.node }[variable.name] ?? 'All';
  element(head, 'span', '', `${variable.label}: ${chosen}`);
}
for (const panel of board.panels) {
  const { x, y, w, h } = panel.gridPos;
  const box = element(document.body, 'div', panel.type === 'row' ? 'row' : 'panel');
  box.style.left = `${GAP + x * COLUMN}px`;
  box.style.top = `${TOP + y * ROW}px`;
  box.style.width = `${w * COLUMN - GAP}px`;
  box.style.height = `${h * ROW - GAP}px`;
  if (panel.type === 'row') {
    box.textContent = panel.title;
    continue;
  }
  element(box, 'h6', '', panel.title);
  PLUGINS[panel.type](panel, box);
}

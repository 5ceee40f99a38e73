// What a script adds to a page that is complete without it: theme, figures where one points, zoom,
// sorting, filtering. It loads nothing and keeps nothing.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, text, parent) => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };

  // Theme.
  const toggle = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const label = () => { toggle.textContent = isDark() ? "Light" : "Dark"; };
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  dark.addEventListener("change", label);
  label();

  // Figures where one points: the titles that browsers would show late and small.
  const tip = make("div", "", document.body);
  tip.id = "tip";
  tip.hidden = true;
  const live = make("p", "", document.body);
  live.className = "heard";
  live.setAttribute("aria-live", "polite");
  const lines = new Map();
  for (const title of all("svg title")) {
    const owner = title.parentElement;
    lines.set(owner, title.textContent.split(" · ").join("\n"));
    if (owner.matches(".bar, .median, .phase, g")) title.remove();
  }
  const told = (node) => { while (node && !lines.has(node)) node = node.parentElement; return node; };
  const show = (owner, x, y) => {
    if (!owner) { tip.hidden = true; return; }
    tip.textContent = lines.get(owner);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(6, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
    tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(6, y - box.height - 10) : y + 18) + "px";
  };
  document.addEventListener("pointermove", (event) => {
    show(event.target.closest && event.target.closest("svg") ? told(event.target) : null, event.clientX, event.clientY);
  });
  document.addEventListener("pointerleave", () => show(null));
  addEventListener("scroll", () => show(null), { passive: true });

  // A chart is one stop of the keyboard; arrows walk along its bars.
  for (const chart of all(".plot, .ring")) {
    const bars = all(".bar", chart).filter((bar) => lines.has(bar));
    if (!bars.length) continue;
    let at = -1;
    chart.setAttribute("tabindex", "0");
    const leave = () => { if (at >= 0) bars[at].classList.remove("at"); };
    chart.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, Home: -bars.length, End: bars.length }[event.key];
      if (event.key === "Escape") { leave(); at = -1; show(null); return; }
      if (!by) return;
      event.preventDefault();
      leave();
      at = Math.max(0, Math.min(bars.length - 1, at + by));
      bars[at].classList.add("at");
      const box = bars[at].getBoundingClientRect();
      show(bars[at], box.left, box.bottom);
      live.textContent = lines.get(bars[at]);
    });
    chart.addEventListener("blur", () => { leave(); show(null); });
  }

  // Zoom: all charts on the axis of time together.
  const charts = all(".time");
  const span = charts.length && { start: Number(charts[0].dataset.start), end: Number(charts[0].dataset.end) };
  let shown = { ...span };
  const time = (ns, apart) => {
    const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]].find(([size]) => Math.max(Math.abs(ns), apart) >= size) || [1, "ns"];
    return (ns / size).toFixed(Math.min(9, Math.max(0, -Math.floor(Math.log10(apart / size))))) + " " + unit;
  };
  const mark = (svg) => {
    const length = shown.end - shown.start;
    const power = 10 ** Math.floor(Math.log10(length / 5));
    const apart = power * [1, 2, 5, 10].find((times) => power * times >= length / 5);
    const view = svg.firstElementChild;
    view.replaceChildren();
    for (let at = Math.ceil(shown.start / apart) * apart; at <= shown.end; at += apart) {
      const share = (at - shown.start) / length;
      const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      text.setAttribute("x", share * 100 + "%");
      text.setAttribute("y", 14);
      text.setAttribute("text-anchor", share < 0.04 ? "start" : share > 0.96 ? "end" : "middle");
      text.textContent = time(at, apart);
      view.append(text);
    }
  };
  const zoom = (start, end) => {
    const least = Math.max(1, (span.end - span.start) / 1e5);
    const length = Math.min(span.end - span.start, Math.max(least, end - start));
    start = Math.max(span.start, Math.min(start, span.end - length));
    shown = { start, end: start + length };
    const times = (span.end - span.start) / length;
    for (const chart of charts) {
      for (const view of all(".view", chart)) {
        if (view.parentElement.classList.contains("marks")) continue;
        view.setAttribute("x", -((start - span.start) / length) * 100 + "%");
        view.setAttribute("width", times * 100 + "%");
      }
      all(".marks", chart).forEach(mark);
    }
    for (const reset of all(".zoom button.all")) reset.disabled = times < 1.001;
    show(null);
  };
  const around = (share, factor) => {
    const [length, center] = [shown.end - shown.start, shown.start + (shown.end - shown.start) * share];
    zoom(center - length * factor * share, center + length * factor * (1 - share));
  };
  for (const chart of charts) {
    const bar = document.createElement("p");
    bar.className = "zoom";
    const button = (text, name, act) => {
      const element = make("button", text, bar);
      element.type = "button";
      element.setAttribute("aria-label", name);
      element.addEventListener("click", act);
      return element;
    };
    button("+", "Zoom in", () => around(0.5, 0.5));
    button("−", "Zoom out", () => around(0.5, 2));
    button("←", "Earlier", () => { const by = (shown.end - shown.start) / 4; zoom(shown.start - by, shown.end - by); });
    button("→", "Later", () => { const by = (shown.end - shown.start) / 4; zoom(shown.start + by, shown.end + by); });
    const reset = button("All", "Show all of the time", () => zoom(span.start, span.end));
    reset.className = "all";
    reset.disabled = true;
    make("span", "drag across a chart to zoom", bar);
    chart.prepend(bar);
    for (const plot of all(".plot", chart)) {
      const share = (event) => {
        const box = plot.getBoundingClientRect();
        return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
      };
      let from = null;
      plot.addEventListener("pointerdown", (event) => { if (event.button === 0) from = share(event); });
      plot.addEventListener("pointerup", (event) => {
        const to = share(event);
        if (from !== null && Math.abs(to - from) > 0.01) {
          const [length, low] = [shown.end - shown.start, Math.min(from, to)];
          zoom(shown.start + length * low, shown.start + length * Math.max(from, to));
        }
        from = null;
      });
      plot.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        around(share(event), event.deltaY < 0 ? 0.7 : 1.4);
      }, { passive: false });
      plot.addEventListener("dblclick", () => zoom(span.start, span.end));
    }
  }

  // Tables: sort and filter.
  for (const table of all("table")) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    if (rows.length > 1) {
      all("thead th", table).forEach((head, column) => {
        const button = make("button", head.textContent);
        button.type = "button";
        head.replaceChildren(button);
        const key = (row) => {
          const cell = row.cells[column];
          return cell.dataset.key === undefined ? cell.textContent : Number(cell.dataset.key);
        };
        const compare = (a, b) => {
          const [x, y] = [key(a), key(b)];
          if (typeof x === "number" && typeof y === "number") return x - y;
          return String(x).localeCompare(String(y), undefined, { numeric: true });
        };
        button.addEventListener("click", () => {
          const first = head.classList.contains("number") ? "descending" : "ascending";
          const other = first === "ascending" ? "descending" : "ascending";
          const order = head.getAttribute("aria-sort") === first ? other : first;
          for (const one of head.parentElement.cells) one.removeAttribute("aria-sort");
          head.setAttribute("aria-sort", order);
          const sorted = [...rows].sort(compare);
          if (order === "descending") sorted.reverse();
          body.append(...sorted);
        });
      });
    }
    const filter = table.parentElement.previousElementSibling;
    if (!filter || !filter.matches(".filter")) continue;
    filter.hidden = false;
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const [field, said] = [filter.querySelector("input"), filter.querySelector("output")];
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      rows.forEach((row, at) => {
        row.hidden = !words.every((word) => texts[at].includes(word));
        count += !row.hidden;
      });
      said.textContent = words.length ? `${count} of ${rows.length}` : "";
    });
  }

  // Paper has no folds, but a folded table is in a chart already.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])").filter((one) => !one.querySelector("table"));
    folded.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));
})();

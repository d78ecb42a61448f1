"use strict";
(() => {
// Everything that comes from outside is set as text, never as HTML.
const $ = id => document.getElementById(id);
const make = (name, text, look) => {
  const out = document.createElement(name);
  if (text !== undefined) out.textContent = text;
  if (look) out.className = look;
  return out;
};
const number = (value, digits = 3) =>
  typeof value === "number" && isFinite(value) ? value.toLocaleString("en", { maximumFractionDigits: digits }) : "";
const percent = value => number(100 * value, 1) + " %";

const uptime = seconds => {
  const minutes = Math.round(seconds / 60);
  return minutes === 1 ? "1 minute" : `${number(minutes, 0)} minutes`;
};

function table(place, columns, rows) {
  const head = make("thead"), line = make("tr"), body = make("tbody");
  for (const [name, look] of columns) line.append(make("th", name, look));
  head.append(line);
  for (const row of rows) {
    const out = make("tr");
    row.forEach((cell, i) => {
      const [text, look] = Array.isArray(cell) ? cell : [cell, columns[i][1]];
      const td = make("td", text, look);
      td.dataset.column = columns[i][0];
      out.append(td);
    });
    body.append(out);
  }
  if (!rows.length) {
    const out = make("tr"), none = make("td", "none yet");
    none.colSpan = columns.length;
    out.append(none);
    body.append(out);
  }
  $(place).replaceChildren(head, body);
}

// At most six round numbers over the range: 0, 0.5, 1.
function ticks(least, most) {
  const raw = (most - least) / 4, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= raw);
  const out = [];
  for (let at = Math.ceil(least / step) * step; at <= most + step / 1e6; at += step) out.push(at);
  return out;
}

function draw(points) {
  const svg = $("curve"), space = "http://www.w3.org/2000/svg";
  // Drawn in pixels, so that its words are as large as the page's.
  const width = Math.max(svg.clientWidth, 200), height = 190, left = 44, right = 12, top = 8, bottom = 36;
  const most = Math.max(1, ...points.map(point => point.reward ?? 0));
  const least = Math.min(0, ...points.map(point => point.reward ?? 0));
  const verdicts = points.reduce((sum, point) => [...sum, (sum[sum.length - 1] ?? 0) + point.answers], []);
  const all = verdicts[verdicts.length - 1] ?? 1;
  const at = value => left + (value / all) * (width - left - right);
  const x = i => at(verdicts[i]);
  const y = value => height - bottom - ((value - least) / (most - least)) * (height - top - bottom);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  const put = (name, attributes, words) => {
    const out = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
    if (words !== undefined) out.textContent = words;
    svg.append(out);
  };
  for (const value of ticks(least, most)) {
    put("path", { d: `M${left} ${y(value)}H${width - right}`, class: "grid" });
    put("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, number(value));
  }
  if (points.length) {
    const counts = ticks(0, all).filter(Number.isInteger);
    for (const value of counts)
      put("text", { x: at(value), y: height - bottom + 16, "text-anchor": value === 0 ? "start" : value === all ? "end" : "middle" }, number(value, 0));
    put("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, "verdicts");
  }
  for (const name of ["reward", "correct", "hacks"]) {
    let line = "";
    points.forEach((point, i) => {
      if (typeof point[name] !== "number") return;
      line += `${line ? "L" : "M"}${x(i).toFixed(1)} ${y(point[name]).toFixed(1)}`;
    });
    if (points.length === 1 && line) line = line.replace(/^M\S+/, `M${left}`) + `H${x(0)}`;  // one mean over all
    put("path", { d: line || "M0 0", class: name });
  }
  const last = points[points.length - 1];
  const said = last
    ? [["mean reward " + number(last.reward), "accent"], ["correct " + percent(last.correct), "good"], ["hacks " + percent(last.hacks), "bad"]]
    : [["no verdicts yet", ""]];
  svg.setAttribute("aria-label", said.map(each => each[0]).join(", "));
  const legend = said.map(([text, colour]) => {
    const out = make("span"), mark = make("i");
    if (colour) { mark.style.background = `var(--${colour})`; out.append(mark); }
    out.append(text);
    return out;
  });
  if (last) legend.push(make("span", `means over ${number(points[0].answers, 0)} ${points[0].answers === 1 ? "verdict" : "verdicts"} a point`));
  $("legend").replaceChildren(...legend);
}

const looks = { hack: "bad", wrong: "warning", crashed: "warning", misbehaved: "warning", "not built": "warning" };
const look = label => (label.startsWith("correct") ? "good" : looks[label] || "");

let curve = [];
addEventListener("resize", () => draw(curve));

function show(status) {
  const judging = status.judging;
  $("about").textContent = `stitchcuda ${judging.version}, device ${judging.device}, numerics class ${judging.numerics}, reward ${judging.reward}, ${status.tasks} ${status.tasks === 1 ? "task" : "tasks"}; up for ${uptime(status.uptime)}`;
  const facts = [
    [number(status.queue.waiting, 0), "waiting"],
    [number(status.queue.judging, 0), "being judged"],
    [number(status.verdicts_a_minute, 1), "verdicts per minute"],
    [number(status.answers_kept, 0), "answers stored"],
    [number(status.from_store, 0), "answered from the store"],
    [number(status.workers.length, 0), "remote workers"],
  ];
  $("facts").replaceChildren(...facts.map(([value, what]) => {
    const out = make("div");
    out.append(make("b", value), make("span", what));
    return out;
  }));
  curve = status.curve;
  draw(curve);
  const all = Object.values(status.labels).reduce((sum, count) => sum + count, 0);
  table("labels", [["label"], ["verdicts", "n"], ["share", "n"]],
    Object.entries(status.labels).sort((a, b) => b[1] - a[1]).map(([label, count]) => [[label, look(label)], number(count, 0), percent(count / all)]));
  table("latest", [["task"], ["label"], ["reward", "n"], ["why"], ["seconds", "n"], ["machine"], ["time", "n"]],
    status.latest.map(each => [each.task, [each.label, look(each.label)], each.counted ? number(each.reward) : "none", each.reason, number(each.seconds, 1), each.machine, each.date.replace("T", " ").replace("Z", "")]));
  table("workers", [["worker"], ["last seen", "n"]],
    status.workers.map(each => [each.name, number(each.seconds_ago, 0) + " s ago"]));
}

show(JSON.parse($("status").textContent));
async function refresh() {
  try {
    const answer = await fetch("status" + location.search);
    if (!answer.ok) throw new Error(answer.status);
    show(await answer.json());
    $("trouble").textContent = "";
  } catch (error) {
    $("trouble").textContent = "The service does not respond; this is its last known state.";
  }
}
if (location.protocol !== "file:") setInterval(refresh, 2000);
})();

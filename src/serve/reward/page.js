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

function draw(points) {
  const svg = $("curve"), width = 600, height = 160, space = "http://www.w3.org/2000/svg";
  const most = Math.max(1, ...points.map(point => point.reward ?? 0));
  const least = Math.min(0, ...points.map(point => point.reward ?? 0));
  const x = i => (points.length < 2 ? width / 2 : (i * width) / (points.length - 1));
  const y = value => height - 4 - ((value - least) / (most - least)) * (height - 8);
  svg.replaceChildren();
  for (const name of ["reward", "correct", "hacks"]) {
    let line = "";
    points.forEach((point, i) => {
      if (typeof point[name] !== "number") return;
      line += `${line ? "L" : "M"}${x(i).toFixed(1)} ${y(point[name]).toFixed(1)}`;
    });
    if (points.length === 1) line += "h1";
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", line || "M0 0");
    path.setAttribute("class", name);
    svg.append(path);
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
  if (last) legend.push(make("span", `vertical: ${number(least)} to ${number(most)}; ${number(last.answers, 0)} verdicts at the last point`));
  $("legend").replaceChildren(...legend);
}

const looks = { hack: "bad", wrong: "warning", crashed: "warning", misbehaved: "warning", "not built": "warning" };
const look = label => (label.startsWith("correct") ? "good" : looks[label] || "");

function show(status) {
  const judging = status.judging;
  $("about").textContent = `stitchcuda ${judging.version}, device ${judging.device}, numerics class ${judging.numerics}, reward ${judging.reward}, ${status.tasks} tasks; up for ${number(status.uptime / 60, 0)} minutes`;
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
  draw(status.curve);
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

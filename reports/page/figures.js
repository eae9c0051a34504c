// ---- figures, as package units writes them, and the ticks of axes, as package chart places them. A test holds both against Go.
const thousands = (v) => { // not toLocaleString, which differs between readers
  const sign = v < 0 ? "-" : "";
  return sign + String(Math.abs(Math.round(v))).replace(/\B(?=(\d{3})+$)/g, ",");
};
const number = (v) => {
  const size = Math.abs(v);
  if (v === 0) return "0";
  if (size >= 999.5) return thousands(v);
  if (size < 0.0001) {
    const [digits, exponent] = v.toExponential(2).split("e-");
    return `${Number(digits)}e-${exponent.padStart(2, "0")}`;
  }
  const digits = 2 - Math.floor(Math.log10(size)), text = v.toFixed(Math.max(digits, 0));
  return digits > 0 && Math.abs(Number(text)) >= 10 ** (3 - digits) ? v.toFixed(digits - 1) : text; // 9.999 was rounded to 10.00
};
const times = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
const byteSizes = [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9]];
const unitOf = (v, units, least) => units.reduce((found, u) => (u[1] === 1 || Math.abs(v) >= least * u[1] ? u : found));
const inUnits = (v, units) => {
  const [name, size] = unitOf(v, units, 0.9995);
  return `${size === 1 && Number.isInteger(v) ? v : number(v / size)} ${name}`;
};
const percentile = (v) => "p" + (100 * (1 - 1 / v)).toFixed(Math.max(0, Math.ceil(Math.log10(v) - 1e-9) - 2));
const formats = {
  ns: (v) => inUnits(v, times), s: (v) => number(v) + " s", bytes: (v) => inUnits(v, byteSizes),
  share: (v) => number(100 * v) + " %", "×": (v) => number(v) + "×", percentile,
};
const format = (unit, v) => (formats[unit] ?? number)(v);
const shortNumber = (v) => {
  if (Math.abs(Math.round(v) - v) <= 1e-6 * v) return thousands(v);
  for (let digits = 1; digits < 15; digits++) {
    const scale = 10 ** digits;
    if (Math.abs(Math.round(v * scale) / scale - v) <= 1e-6 * v) return v.toFixed(digits);
  }
  return String(+v.toPrecision(3));
};
const tickNumber = (v) => {
  for (const [least, size, letter] of [[999999999, 1e9, "G"], [999999, 1e6, "M"], [9999, 1e3, "k"]]) if (v >= least) return shortNumber(v / size) + letter;
  return shortNumber(v);
};
const tickIn = (v, units) => {
  const [name, size] = unitOf(v, units, 0.999);
  return `${shortNumber(v / size)} ${name}`;
};
const tickFormats = { ns: (v) => tickIn(v, times), bytes: (v) => tickIn(v, byteSizes), share: (v) => tickNumber(100 * v) + " %", "×": (v) => tickNumber(v) + "×", percentile };
const tick = (unit, v) => (v === 0 ? "0" : v < 0 ? "-" + tick(unit, -v) : (tickFormats[unit] ?? tickNumber)(v));

const steps = [1, 2, 5];
// stepIndex is the index of v in 1, 2, 5, 10 …: 0 for 1, 3 for 10, rounded by round.
const stepIndex = (v, round) => {
  const decade = Math.floor(Math.log10(v) + 1e-9), mantissa = v / 10 ** decade;
  let place = steps.length - 0.5;
  for (const [i, step] of steps.entries()) {
    if (Math.abs(mantissa - step) < 1e-6) { place = i; break; }
    if (mantissa < step) { place = i - 0.5; break; }
  }
  return decade * steps.length + round(place);
};
const stepValue = (index) => {
  const decade = Math.floor(index / steps.length);
  return steps[index - decade * steps.length] * 10 ** decade;
};
const logLimits = (lo, hi) => {
  if (hi / lo >= 10) return [lo / 1.12, hi * 1.12];
  let below = stepIndex(lo, Math.floor), above = stepIndex(hi, Math.ceil);
  while (above - below < steps.length) {
    above++;
    if (above - below < steps.length) below--;
  }
  return [stepValue(below), stepValue(above)];
};
const evenTicks = (unit, [lo, hi], most) => {
  const step = stepValue(stepIndex((hi - lo) / most, Math.ceil)), out = [];
  for (let i = Math.ceil(lo / step); i * step <= hi && out.length < 100; i++) out.push({ v: i * step, text: i === 0 ? "0" : tick(unit, i * step) });
  return out;
};
// ticksOf returns the ticks of an axis; those without a text are short.
const ticksOf = (axis, limits, most) => {
  if (axis.scale === "rows") return [];
  if (axis.scale !== "log") return evenTicks(axis.unit, limits, most);
  const first = stepIndex(limits[0], Math.ceil), last = stepIndex(limits[1], Math.floor), room = Math.max(most, 5), out = [];
  let every = 1;
  while (Math.floor((last - first) / every) + 1 > room) every = every === 1 ? steps.length : every + steps.length;
  for (let i = first; i <= last; i++) out.push({ v: stepValue(i), text: i % every === 0 ? tick(axis.unit, stepValue(i)) : "" });
  return out.filter((t) => t.text).length < 2 ? evenTicks(axis.unit, limits, most) : out; // zoomed in between two steps
};
const shareOf = (axis, v, [lo, hi]) => (axis.scale === "log" ? Math.log(v / lo) / Math.log(hi / lo) : (v - lo) / (hi - lo));
const valueAt = (axis, s, [lo, hi]) => (axis.scale === "log" ? lo * (hi / lo) ** s : lo + s * (hi - lo));

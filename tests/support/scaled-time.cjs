// Loaded before a process's own code (`node --require`): its clocks run TIME_SCALE times as fast, so that hours of waiting
// for a rate limit pass in minutes.
const timers = require("node:timers/promises");

const scale = Number(process.env.TIME_SCALE);
const [wait, now, date] = [timers.setTimeout, performance.now.bind(performance), Date.now.bind(Date)];
const began = date();
timers.setTimeout = (ms, ...rest) => wait(ms / scale, ...rest);
performance.now = () => now() * scale;
Date.now = () => began + (date() - began) * scale;

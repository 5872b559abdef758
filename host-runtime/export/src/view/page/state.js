// The state that views share: the selected function, the search, the shown view.
import { Accuracy } from "./accuracy.js";

/** A value with watchers of its changes. */
export class Value {
  constructor(value) {
    this.value = value;
    this.listeners = [];
  }

  set(value) {
    if (value === this.value) return;
    this.value = value;
    this.listeners.forEach((listener) => listener(value));
  }

  /** Calls `listener` now and whenever the value changes. */
  watch(listener) {
    this.listeners.push(listener);
    listener(this.value);
  }
}

/** No more of a name is searched: a pattern may take long for a long name. */
const SEARCHED = 4096;

export class State {
  constructor(pageData) {
    this.pageData = pageData;
    /** The selected function's number, or null. */
    this.selected = new Value(null);
    /** What is searched for, as it was typed. */
    this.query = new Value("");
    /** A byte per function, 1 where its name matches the search; null without a search. */
    this.matches = new Value(null);
    /** The names of the views. A page of sums has no timeline. */
    this.tabs = [...(pageData.levels.length > 0 ? ["timeline"] : []), "flame", "table", "graph"];
    /** The view that is shown at first: the first one, but no empty timeline. */
    this.firstView = this.tabs.find((tab) => tab !== "timeline" || pageData.levels.some((level) => level.spans > 0));
    /** The name of the view that is shown. */
    this.view = new Value(this.firstView);
    /** "light" or "dark". */
    this.theme = new Value("light");
    /** The selected part of the run, {start, end} in ticks since its beginning; null for all of it. */
    this.selection = new Value(null);
    /** Which way the flame graph goes: "down", "up", or "around" the selected function. */
    this.tree = new Value("down");
    /** The figures of that part: see `figures.js`. */
    this.figures = new Value({ functions: pageData.functions, edges: pageData.edges, self: pageData.selfNanos, accuracy: new Accuracy(pageData.precision), whole: true });
  }

  /**
   * Looks for a text, or for a regular expression between slashes; upper and lower case are the same. Answers how many functions
   * match; null if the pattern can't be read.
   */
  search(text) {
    this.query.set(text);
    const test = tester(text.trim());
    if (!test) {
      this.matches.set(null);
      return test === null ? null : 0;
    }
    const { functions } = this.pageData;
    const matches = new Uint8Array(functions.length + 1);
    let count = 0;
    for (const { name, index } of functions) {
      if (test(name.length > SEARCHED ? name.slice(0, SEARCHED) : name)) {
        matches[index] = 1;
        count++;
      }
    }
    this.matches.set(matches);
    return count;
  }
}

/** Whether a name matches what was typed; undefined if that is nothing, null if it is no pattern. */
export function tester(typed) {
  if (typed === "") return undefined;
  const [, pattern] = /^\/(.+)\/$/s.exec(typed) ?? [];
  if (pattern === undefined) {
    const wanted = typed.toLowerCase();
    return (name) => name.toLowerCase().includes(wanted);
  }
  try {
    const expression = new RegExp(pattern, "iu");
    return (name) => expression.test(name);
  } catch {
    return null;
  }
}

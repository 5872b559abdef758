// What the views have in common: which function is selected, what is searched for, which view is shown.

/** A value and who wants to know of its changes. */
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

export class State {
  constructor(sheet) {
    this.sheet = sheet;
    /** The selected function's number, or null. */
    this.selected = new Value(null);
    /** A byte per function, 1 where its name matches the search; null without a search. */
    this.matches = new Value(null);
    /** The name of the view that is shown. */
    this.view = new Value("timeline");
    /** "light" or "dark". */
    this.theme = new Value("light");
  }

  /** Looks for a name; upper and lower case are the same. Answers how many functions match. */
  search(text) {
    const wanted = text.trim().toLowerCase();
    if (wanted === "") {
      this.matches.set(null);
      return 0;
    }
    const { functions } = this.sheet;
    const matches = new Uint8Array(functions.length + 1);
    let count = 0;
    for (const { name, index } of functions) {
      if (name.toLowerCase().includes(wanted)) {
        matches[index] = 1;
        count++;
      }
    }
    this.matches.set(matches);
    return count;
  }
}

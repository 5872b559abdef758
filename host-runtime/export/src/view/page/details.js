// The selected function: its figures, callers and callees.
import { h } from "./dom.js";
import { countText, percentText, plural } from "./format.js";

/** How many callers and callees are listed before the rest is only counted. */
const LISTED = 40;

export class Details {
  constructor(state, colors, element) {
    Object.assign(this, { state, colors, element });
    state.selected.watch(() => this.draw());
    state.figures.watch(() => this.draw());
    state.theme.watch(() => this.draw());
  }

  draw() {
    const index = this.state.selected.value;
    this.element.hidden = index === null;
    if (index === null) return;
    const { functions, accuracy } = this.state.figures.value;
    const func = functions[index];
    const figure = (name, value, more) => h("div", {}, h("dt", {}, name), h("dd", {}, value, more ? h("small", {}, more) : null));
    const place = [func.module, func.place, func.imported ? "a function of the host" : "", func.counted ? "counted only: its time is in its callers'" : ""].filter((text) => text !== "").join(" · ");
    this.element.replaceChildren(
      h("header", {},
        h("i", { class: "swatch", style: `background:${this.colors.fill(index)}` }),
        h("h2", {}, func.name),
        h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => this.state.selected.set(null) }, "×")),
      h("p", { class: "place" }, place),
      h("dl", {},
        figure("Calls", countText(func.calls), func.cutShort ? `${countText(func.cutShort)} cut short` : null),
        ...(func.counted ? [] : [
          figure("Self", accuracy.timeText(func.self), Number.isNaN(func.share) ? null : percentText(func.share, func.shareError)),
          figure("Total", accuracy.timeText(func.total)),
          ...(Number.isNaN(func.average) ? [] : [figure("Average", accuracy.meanText(func.average, func.total, func.calls))]),
          ...(Number.isNaN(func.min) ? [] : [figure("Shortest", accuracy.callText(func.min)), figure("Longest", accuracy.callText(func.max))])])),
      h("p", {}, h("button", { type: "button", class: "plain", onclick: () => this.showAround() }, "Callers and callees")),
      this.list("Called by", func.callers, "from"),
      this.list("Calls", func.callees, "to"));
  }

  showAround() {
    this.state.tree.set("around");
    this.state.view.set("flame");
  }

  list(title, edges, end) {
    const { pageData } = this.state;
    const { accuracy } = this.state.figures.value;
    const whole = Math.max(1, edges.reduce((sum, edge) => sum + edge.total, 0));
    const items = edges.slice(0, LISTED).map((edge) => {
      const known = edge[end] < pageData.functions.length;
      // The line of the caller, wherever it stands in the list, without the folders of its first file.
      const place = pageData.placeOf(edge.from, edge.to);
      const name = h("span", { class: "name" }, pageData.nameOf(edge[end]));
      const at = place ? h("span", { class: "at", title: place }, place.replace(/^[^|,]*[/\\]/, "")) : null;
      const figures = h("span", { class: "figures" }, `${plural(edge.calls, "call")} · ${accuracy.timeText(edge.total)}`);
      const style = `--share:${((edge.total / whole) * 100).toFixed(2)}%`;
      const choose = () => this.state.selected.set(edge[end]);
      return h("li", {}, known ? h("button", { type: "button", style, onclick: choose }, name, figures, at) : h("div", { class: "outside", style }, name, figures, at));
    });
    const more = edges.length > LISTED ? h("li", { class: "none" }, `and ${countText(edges.length - LISTED)} more`) : null;
    const none = edges.length === 0 ? h("li", { class: "none" }, "nothing") : null;
    return h("section", {}, h("h3", {}, title), h("ul", {}, ...items, more, none));
  }
}

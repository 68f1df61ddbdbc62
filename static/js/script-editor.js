// <script-editor>: CodeMirror over the script's textarea, loaded only here. The textarea stays the form's field, and
// stays in sight where the editor cannot be had. The editor lives in a shadow root: its style sheets are constructed
// there, which needs no exception in the Content-Security-Policy.

const PAGE = `:host { display: block; }`;

class ScriptEditor extends HTMLElement {
  async connectedCallback() {
    this.field = this.querySelector("textarea");
    try {
      this.cm = await import("../vendor/codemirror.js");
    } catch { return; }
    if (!this.view) this.build();
  }

  build() {
    const { EditorView } = this.cm;
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(PAGE);
    root.adoptedStyleSheets = [sheet];
    this.view = new EditorView({ doc: this.field.value, extensions: this.extensions(), parent: root, root });
    // "Script" labels the textarea; a click on it and a link from the error summary come to the editor.
    this.field.addEventListener("focus", () => this.view.focus());
    this.view.contentDOM.addEventListener("drop", (event) => this.dropped(event), true);
    this.mark();
    this.classList.add("is-ready");
  }

  extensions() {
    const cm = this.cm;
    const label = this.field.labels[0]?.textContent.trim() ?? this.field.name;
    return [
      cm.lineNumbers(), cm.history(), cm.drawSelection(), cm.highlightActiveLine(), cm.highlightActiveLineGutter(),
      cm.bracketMatching(), cm.lintGutter(), cm.StreamLanguage.define(cm.shell), cm.syntaxHighlighting(this.colours()),
      cm.indentUnit.of("  "),
      cm.keymap.of([...cm.defaultKeymap.filter(({ key }) => key !== "Mod-Enter"), ...cm.historyKeymap]),
      cm.EditorView.contentAttributes.of({
        "aria-label": label, spellcheck: "false", autocapitalize: "off", tabindex: "0",
      }),
      cm.EditorView.updateListener.of((update) => { this.updated(update); }),
      cm.EditorView.editable.of(!("fixed" in this.dataset)),
      this.look(),
    ];
  }

  // A file dropped here is the script; one that speaks to Slurm is read into the fields at once.
  dropped(event) {
    const [file] = event.dataTransfer?.files ?? [];
    if (!file || "fixed" in this.dataset) return;
    event.preventDefault();
    event.stopPropagation();
    this.bring(file);
  }

  async bring(file) {
    const text = await file.text();
    this.field.form.elements.file.value = file.name;
    if (this.view) this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
    else this.field.value = text;
    this.read(text);
  }

  read(text) {
    if (/^#(SBATCH|SLURM)\b/m.test(text)) document.getElementById(this.dataset.reads)?.click();
  }

  updated(update) {
    if (!update.docChanged) return;
    this.changed(update.state);
    if (update.transactions.some((one) => one.isUserEvent("input.paste"))) this.read(update.state.doc.toString());
  }

  changed(state) {
    this.field.value = state.doc.toString();
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
    this.mark();
  }

  // What the server will refuse or pass over is marked while one writes: the first line, and #SBATCH lines.
  mark() {
    const { state } = this.view;
    const found = [];
    const first = state.doc.line(1);
    if (!first.text.startsWith("#!")) found.push(note(first, "error", this.dataset.noShebang));
    for (let n = 1; n <= Math.min(state.doc.lines, 500); n += 1) {
      const line = state.doc.line(n);
      if (/^#SBATCH\b/.test(line.text)) found.push(note(line, "info", this.dataset.sbatch));
    }
    this.view.dispatch(this.cm.setDiagnostics(state, found.filter(({ message }) => message)));
  }

  colours() {
    const { HighlightStyle, tags } = this.cm;
    return HighlightStyle.define([
      { tag: tags.comment, color: "var(--b-text-3)" },
      { tag: [tags.keyword, tags.standard(tags.name)], color: "var(--b-ansi-magenta)" },
      { tag: tags.string, color: "var(--b-ansi-green)" },
      { tag: [tags.variableName, tags.definition(tags.variableName)], color: "var(--b-ansi-blue)" },
      { tag: tags.number, color: "var(--b-ansi-yellow)" },
      { tag: [tags.meta, tags.attributeName], color: "var(--b-ansi-cyan)" },
    ]);
  }

  look() {
    return this.cm.EditorView.theme({
      "&": { height: "100%", minHeight: "22rem", color: "var(--b-text)", backgroundColor: "var(--b-sunken)",
        fontSize: "var(--b-t-mono)" },
      "&.cm-focused": { outline: "2px solid var(--b-focus)", outlineOffset: "-2px" },
      ".cm-scroller": { fontFamily: "var(--b-mono)", lineHeight: "1.3125rem" },
      ".cm-gutters": { color: "var(--b-text-3)", backgroundColor: "var(--b-sunken)", border: "0" },
      ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--b-hover)" },
      ".cm-cursor": { borderLeftColor: "var(--b-text)" },
      "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
        { backgroundColor: "var(--b-accent-mid)" },
      ".cm-tooltip": { color: "var(--b-text)", backgroundColor: "var(--b-surface)", border: "1px solid var(--b-line)" },
    });
  }
}

function note(line, severity, message) {
  return { from: line.from, to: Math.max(line.from, line.to), severity, message: message ?? "" };
}

customElements.define("script-editor", ScriptEditor);

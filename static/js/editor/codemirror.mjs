// What the script editor needs of CodeMirror 6, and no more; static/build.mjs bundles it into vendor/codemirror.js.
export { EditorState, Compartment } from "@codemirror/state";
export {
  EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter, drawSelection,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { StreamLanguage, HighlightStyle, syntaxHighlighting, indentUnit, bracketMatching } from "@codemirror/language";
export { shell } from "@codemirror/legacy-modes/mode/shell";
export { lintGutter, setDiagnostics } from "@codemirror/lint";
export { tags } from "@lezer/highlight";

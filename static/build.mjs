// Fills static/vendor/ from node_modules: plain copies, one bundle (CodeMirror, for the submit page) and the licences.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, "..", "node_modules");
const vendor = join(here, "vendor");

const COPIES = {
  "bootstrap.min.css": "bootstrap/dist/css/bootstrap.min.css",
  "htmx.min.js": "htmx.org/dist/htmx.min.js",
  "uplot.css": "uplot/dist/uPlot.min.css",
  "fonts/ibm-plex-sans-latin-wght-normal.woff2":
    "@fontsource-variable/ibm-plex-sans/files/ibm-plex-sans-latin-wght-normal.woff2",
  "fonts/ibm-plex-mono-latin-400-normal.woff2": "@fontsource/ibm-plex-mono/files/ibm-plex-mono-latin-400-normal.woff2",
};

async function copyParts() {
  await rm(vendor, { recursive: true, force: true });
  await mkdir(join(vendor, "fonts"), { recursive: true });
  for (const [to, from] of Object.entries(COPIES)) await copyFile(join(modules, from), join(vendor, to));
  // Source maps are not shipped: a browser's tools would ask for a file that is not there.
  const sheet = join(vendor, "bootstrap.min.css");
  await writeFile(sheet, (await readFile(sheet, "utf8")).replace(/\n?\/\*# sourceMappingURL=.*?\*\/\s*$/, "\n"));
}

// the charts of GPUs, as a module, loaded on the pages that draw some
async function bundleCharts() {
  const result = await build({
    entryPoints: [join(modules, "uplot", "dist", "uPlot.esm.js")],
    outfile: join(vendor, "uplot.js"),
    bundle: true, format: "esm", minify: true, target: "es2022", metafile: true, legalComments: "none",
  });
  return Object.keys(result.metafile.inputs);
}

async function bundleEditor() {
  const result = await build({
    entryPoints: [join(here, "js", "editor", "codemirror.mjs")],
    outfile: join(vendor, "codemirror.js"),
    bundle: true, format: "esm", minify: true, target: "es2022", metafile: true, legalComments: "none",
  });
  return Object.keys(result.metafile.inputs);
}

// "node_modules/@codemirror/view/dist/index.js" -> "@codemirror/view"
function packageOf(path) {
  const parts = path.split("node_modules/").pop().split("/");
  return parts[0].startsWith("@") ? `${parts[0]}/${parts[1]}` : parts[0];
}

async function licenceOf(name) {
  const folder = join(modules, name);
  const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? await readFile(join(folder, file), "utf8") : "";
  return `${name} ${version} (${license})\n\n${text.trim()}\n`;
}

async function writeLicences(inputs) {
  const bundled = inputs.filter((path) => path.includes("node_modules/"));
  const names = [...new Set([...Object.values(COPIES), ...bundled].map(packageOf))].sort();
  const texts = await Promise.all(names.map(licenceOf));
  await writeFile(join(vendor, "licenses.txt"), texts.join(`\n${"=".repeat(80)}\n\n`));
}

await copyParts();
await writeLicences([...await bundleEditor(), ...await bundleCharts()]);

// What was dropped on a page: all files of it, with their path from the dropped folder on.

/** [[path, File], ...] of one entry, a folder with all beneath it. */
async function filesOf(entry, before = "") {
  if (entry.isFile) return [[before + entry.name, await new Promise((good, bad) => entry.file(good, bad))]];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((good, bad) => reader.readEntries(good, bad));
    if (!some.length) return found;
    for (const one of some) found.push(...await filesOf(one, `${before}${entry.name}/`));
  }
}

/** [[path, File], ...] of a drop; what the event holds is gone once it is over, so it is taken at once. */
export async function dropped({ dataTransfer }) {
  const entries = [...dataTransfer.items].map((one) => one.webkitGetAsEntry?.()).filter(Boolean);
  const plain = [...dataTransfer.files].map((file) => [file.name, file]);
  return entries.length ? (await Promise.all(entries.map((one) => filesOf(one)))).flat() : plain;
}

// Reads an archive under Pyodide, and compares with what Python elsewhere has found: see .ci/pyodide.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadPyodide } from "pyodide";

const folder = process.argv[2];
const expected = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8"));
const archive = readFileSync(join(folder, "net.kellet"));
const read = readFileSync(join(folder, "read.py"), "utf8");

async function boot(prepare) {
    const python = await loadPyodide();
    python.FS.writeFile("/net.kellet", archive);
    python.FS.writeFile("/damaged.kellet", readFileSync(join(folder, "damaged.kellet")));
    prepare(python);
    python.FS.writeFile("/read.py", read);
    python.runPython("import sys; sys.path.insert(0, '/'); from read import read, refused");
    return python;
}

async function check(what, prepare) {
    const began = performance.now();
    const python = await boot(prepare);
    const booted = performance.now();
    const found = JSON.parse(python.runPython("read('/net.kellet')"));
    assert.deepEqual(found, expected);
    assert.equal(python.runPython("refused('/damaged.kellet')"), "IntegrityError");
    const view = python.runPython(`
from packager._archive import ArchiveReader, TensorReader
archive = ArchiveReader("/net.kellet")
tensors = TensorReader(archive, "net/weights")
tensors.storage(tensors["weight"].storage)
`);
    const buffer = view.getBuffer("u8");
    const bytes = buffer.data.slice();
    buffer.release();
    assert.deepEqual(Array.from(new Float32Array(bytes.buffer)), expected.values);
    const where = python.runPython("import packager; packager.__file__");
    const version = python.runPython("sys.version.split()[0]");
    console.log(
        `${what}: ${found.names.length} entries listed and verified, ${expected.values.length} floats read, a changed ` +
        `bit refused (Python ${version}, ${where}; start ${Math.round(booted - began)} ms, ` +
        `reading ${Math.round(performance.now() - booted)} ms)`,
    );
}

try {
    await check("the reader alone", (python) => {
        const reader = new Uint8Array(readFileSync(join(folder, "reader.zip")));
        python.unpackArchive(reader, "zip", { extractDir: "/reader" });
        python.runPython("import sys; sys.path.insert(0, '/reader')");
    });
    await check("the loader in the archive", (python) => {
        python.runPython("import sys; sys.path.insert(0, '/net.kellet')");
    });
} catch (error) {
    // The message alone: Node would print the line of Pyodide's source too, which has a million characters.
    console.error(error.message);
    process.exit(1);
}

// What the page was given: short things as JSON, long columns as deflated bytes that are unpacked when first needed.

const PAGE = JSON.parse(document.getElementById('data').textContent);

/** Bytes of a base64 string. */
function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** A reader of a section's long columns: `await opened('words')`, then `column(reference)`. */
async function opened(section) {
  const element = document.getElementById('pack-' + section);
  if (!element) return () => [];
  const stream = new Blob([bytesOf(element.textContent)]).stream().pipeThrough(new DecompressionStream('deflate'));
  const buffer = await new Response(stream).arrayBuffer();
  element.remove(); // it is unpacked once
  return reference => columnOf(buffer, reference);
}

const ARRAYS = { Float32Array, Int32Array, Int16Array };

function columnOf(buffer, { at, length, type, scale, undefined: hole }) {
  if (type === 'strings') return JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, at, length)));
  const column = new ARRAYS[type](buffer, at, length);
  if (scale === undefined) return column;
  const numbers = new Float32Array(length);
  for (let i = 0; i < length; i++) numbers[i] = column[i] === hole ? NaN : column[i] * scale;
  return numbers;
}
